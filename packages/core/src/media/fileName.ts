/** The name of an uploaded file: what clients write into a form is not yet a name. */
import { codePointLength } from "../text/CodePoints.ts"

/** Code points. */
export const maximumFileNameLength = 255

/**
 * The name in what a client gave as one: the last step of a path, without control characters. Some
 * clients put a backslash before a quotation mark, old ones send whole Windows paths. Undefined when
 * nothing is left or too much.
 */
export const uploadedFileName = (given: string): string | undefined => {
  const path = given.toWellFormed().replaceAll('\\"', '"')
  const last = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1)
  const name = last.replaceAll(/\p{Cc}/gu, "").trim()
  return name !== "" && codePointLength(name) <= maximumFileNameLength ? name : undefined
}
