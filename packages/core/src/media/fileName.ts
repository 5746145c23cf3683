/** The names of files: what clients write into a form, or servers into an answer, is not yet a name. */
import { codePointLength } from "../text/CodePoints.ts"
import { endingOf } from "./contentType.ts"

/** Code points. */
export const maximumFileNameLength = 255

/** The last step of a path, without control characters and white space around it; may be empty. */
export const fileNameIn = (given: string): string => {
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
