/** Opens the file that a user chose. */
import { sha256 } from "./sha256.ts"
import { bytesMax, openSheet } from "./sheet.ts"
import type { Sheet, SheetProblem } from "./sheet.ts"
import { workInTurns } from "./turns.ts"

export interface ChosenFile {
  readonly name: string
  readonly digest: string
  readonly sheet: Sheet
}

export type OpenedFile =
  | ChosenFile
  | { readonly name: string; readonly problems: ReadonlyArray<SheetProblem> }

export const openFile = async (file: File): Promise<OpenedFile> => {
  // A huge file is not even read.
  const bytes = new Uint8Array(await file.slice(0, bytesMax + 1).arrayBuffer())
  const sheet = await workInTurns(openSheet(bytes))
  const { name } = file
  return "problems" in sheet
    ? { name, problems: sheet.problems }
    : { name, digest: await workInTurns(sha256(bytes)), sheet }
}
