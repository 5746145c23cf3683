/** The request target: its path, as routes know it, and its query, decoded strictly. */
import { Result } from "effect"
import { refuse } from "@messaging-service/core"
import type { QueryEntries, Refusal } from "@messaging-service/core"

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

const malformed = refuse("validation_failed", {
  message: "The query string is not percent-encoded UTF-8.",
})

const decode = (text: string): Result.Result<string, Refusal> =>
  Result.try({
    // As in forms: clients write an offset's plus sign as %2B.
    try: () => decodeURIComponent(text.replaceAll("+", " ")),
    catch: () => malformed,
  })

/** The parameters in their order. Fails with `validation_failed`. */
export const parseQuery = (query: string): Result.Result<QueryEntries, Refusal> => {
  const entries: Array<readonly [string, string]> = []
  for (const part of query.split("&")) {
    if (part === "") continue
    const equals = part.indexOf("=")
    const name = decode(equals === -1 ? part : part.slice(0, equals))
    const value = decode(equals === -1 ? "" : part.slice(equals + 1))
    if (Result.isFailure(name)) return Result.fail(name.failure)
    if (Result.isFailure(value)) return Result.fail(value.failure)
    entries.push([name.success, value.success])
  }
  return Result.succeed(entries)
}
