/** The names of files: what clients write into a form, or servers into an answer, is not yet a name. */
import { Result } from "effect"
import type { EgressAnswer } from "../egress/Egress.ts"
import { codePointLength } from "../request/text.ts"
import { endingOf } from "./contentType.ts"

/** Code points. */
const maximumFileNameLength = 255

/** The last step of a path, without control characters and white space around it; may be empty. */
const fileNameIn = (given: string): string => {
  const path = given.toWellFormed()
  const last = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1)
  return last.replaceAll(/\p{Cc}/gu, "").trim()
}

/** A name that is too long loses what stands before its ending. */
export const shortenedFileName = (name: string): string => {
  if (codePointLength(name) <= maximumFileNameLength) return name
  const characters = Array.from(name)
  const ending = endingOf(name)
  const kept = ending === "" ? [] : characters.slice(-(ending.length + 1))
  return [...characters.slice(0, maximumFileNameLength - kept.length), ...kept].join("")
}

/**
 * The name in what a client gave as one. Some clients put a backslash before a quotation mark, old
 * ones send whole Windows paths. Undefined when nothing is left or too much.
 */
export const uploadedFileName = (given: string): string | undefined => {
  const name = fileNameIn(given.replaceAll('\\"', '"'))
  return name !== "" && codePointLength(name) <= maximumFileNameLength ? name : undefined
}

/**
 * The name of a fetched file, when the send gives none: what the answer's `Content-Disposition`
 * says, else the end of the path that answered, else the end of the link's own (contract: Media
 * links). Servers write both in many ways, and none of them is trusted to be a name. Empty when
 * nothing names it.
 */
export const fetchedFileName = (
  { headers, url }: Pick<EgressAnswer, "headers" | "url">,
  link: string,
): string => {
  const disposition = headers["content-disposition"]
  return (
    (disposition === undefined ? "" : named(fileNameOfDisposition(disposition))) ||
    fileNameOfUrl(url) ||
    fileNameOfUrl(link)
  )
}

/** The last segment of a URL's path, as a file name; empty when it has none. */
const fileNameOfUrl = (text: string): string => {
  const path = URL.parse(text)?.pathname ?? ""
  return named(percentDecoded(path.slice(path.lastIndexOf("/") + 1)))
}

/** A text as the name of a file: one step of a path, as long as a name may be. */
const named = (text: string): string => {
  const name = fileNameIn(text)
  return /^\.{0,2}$/.test(name) ? "" : shortenedFileName(name)
}

/** Parameters, the value quoted or up to the next semicolon. */
const parameterForm = /(?:^|;)\s*([\w!#$&'*+.^`|~-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)/gs

/** `filename*` (RFC 8187) wins over `filename`; the first of each counts. Empty when there is none. */
const fileNameOfDisposition = (header: string): string => {
  const values = new Map<string, string>()
  for (const [, name = "", value = ""] of header.matchAll(parameterForm)) {
    const known = name.toLowerCase()
    if (!values.has(known)) values.set(known, unquoted(value))
  }
  const plain = values.get("filename") ?? ""
  return extendedValue(values.get("filename*") ?? "") || percentDecoded(asUtf8(plain))
}

const unquoted = (value: string): string =>
  value
    .trim()
    .replace(/^"/, "")
    .replace(/"$/, "")
    .replaceAll(/\\(["\\])/g, "$1")

/** `UTF-8'en'a%20name`; empty when it cannot be read. */
const extendedValue = (value: string): string => {
  const [, charset = "", encoded = ""] = /^([\w-]+)'[\w-]*'(.*)$/s.exec(value) ?? []
  switch (charset.toLowerCase()) {
    case "utf-8":
      return Result.getOrElse(
        Result.try(() => decodeURIComponent(encoded)),
        () => "",
      )
    case "iso-8859-1":
      return encoded.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 16)),
      )
    default:
      return ""
  }
}

/** What is percent-encoded as a whole is decoded; a lone `%` leaves a text as it is. */
const percentDecoded = (text: string): string =>
  Result.getOrElse(
    Result.try(() => decodeURIComponent(text)),
    () => text,
  )

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Header bytes come as Latin-1; servers that do not escape them mostly mean UTF-8. */
const asUtf8 = (text: string): string => {
  if (/[^\0-\xff]/.test(text)) return text
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0))
  return Result.getOrElse(
    Result.try(() => utf8.decode(bytes)),
    () => text,
  )
}
