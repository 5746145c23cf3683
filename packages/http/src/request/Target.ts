/** The request target: its path, as routes know it, and its query, decoded strictly. */
import { Result } from "effect"
import { refuse, refuseParameters, sharedResources } from "@messaging-service/core"
import type { Refusal } from "@messaging-service/core"

export interface Target {
  /** Without query; one trailing slash is tolerated and taken off. */
  readonly path: string
  /** As it was sent, without the question mark. */
  readonly query: string
}

export const parseTarget = (url: string): Target => {
  const mark = url.indexOf("?")
  const path = mark === -1 ? url : url.slice(0, mark)
  return {
    path: path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path,
    query: mark === -1 ? "" : url.slice(mark + 1),
  }
}

/** The parameters of a query string, decoded, in their order. */
export type QueryEntries = ReadonlyArray<readonly [string, string]>

/** Why parameters could not be read. */
export type EntriesProblem = "malformed" | "too_many"

const Plus = 0x2b
const Space = 0x20
const Ampersand = 0x26
const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/** As in forms: clients write an offset's plus sign as %2B. */
const withSpaces = (text: string): string => {
  if (!text.includes("+")) return text
  // Byte by byte: replacing in a text of many pluses takes a hundred times as long.
  const bytes = encoder.encode(text)
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === Plus) bytes[at] = Space
  return decoder.decode(bytes)
}

const decode = (text: string): Result.Result<string, EntriesProblem> =>
  Result.try({ try: () => decodeURIComponent(withSpaces(text)), catch: () => "malformed" })

/** The parameters of a query or a form in their order; no more are read than there may be. */
export const parseEntries = (text: string): Result.Result<QueryEntries, EntriesProblem> => {
  const entries: Array<readonly [string, string]> = []
  for (let at = 0; at < text.length;) {
    if (text.charCodeAt(at) === Ampersand) {
      at++
      continue
    }
    const ampersand = text.indexOf("&", at)
    const part = text.slice(at, ampersand === -1 ? text.length : ampersand)
    at += part.length + 1
    if (entries.length === sharedResources.formEntries.whole) return Result.fail("too_many")
    const equals = part.indexOf("=")
    const name = decode(equals === -1 ? part : part.slice(0, equals))
    const value = decode(equals === -1 ? "" : part.slice(equals + 1))
    if (Result.isFailure(name)) return Result.fail(name.failure)
    if (Result.isFailure(value)) return Result.fail(value.failure)
    entries.push([name.success, value.success])
  }
  return Result.succeed(entries)
}

const tooMany = refuse("validation_failed", {
  message: `The query string has more than ${sharedResources.formEntries.whole} parameters.`,
})

/** Names the parameter, as it was sent where its name cannot be read either. */
const malformed = (query: string): Refusal => {
  const part = query.split("&").find((each) => Result.isFailure(decode(each))) ?? ""
  const [sent = ""] = part.split("=")
  const name = Result.getOrElse(decode(sent), () => sent)
  return refuse("validation_failed", {
    field: name,
    message: `${name}: is not percent-encoded UTF-8`,
  })
}

/** The parameters of a query. Fails with `validation_failed`. */
export const parseQuery = (query: string): Result.Result<QueryEntries, Refusal> =>
  Result.mapError(parseEntries(query), (problem) =>
    problem === "too_many" ? tooMany : malformed(query),
  )

const wrong = (field: string, message: string) => ({
  code: "validation_failed" as const,
  field,
  message,
})

export type QueryRecord = Readonly<Record<string, string>>

/** The parameters by their names, each given once. Fails with `validation_failed`. */
export const queryRecord = (entries: QueryEntries): Result.Result<QueryRecord, Refusal> => {
  const record: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [name, value] of entries) {
    if (name in record) {
      return Result.fail(refuseParameters([wrong(name, "must be given only once")]))
    }
    record[name] = value
  }
  return Result.succeed(record)
}

/** The query of an operation that takes none: any parameter in it is unknown, on every path. */
export const refuseQuery = (entries: QueryEntries): Result.Result<void, Refusal> =>
  entries.length === 0
    ? Result.void
    : Result.fail(refuseParameters(entries.map(([name]) => wrong(name, "is not a known field"))))
