/** A fault planted in the service. */
import { readFileSync } from "node:fs"

/** Replaces the first occurrence of a text in a file of `packages`. */
export interface Edit {
  readonly file: string
  readonly from: string
  readonly to: string
}

export interface PlantedFault {
  readonly name: string
  readonly edits: ReadonlyArray<Edit>
  /** It is found within so many seeds. */
  readonly within: number
  /** Runs must last until webhooks have used up their attempts. */
  readonly isLong?: boolean
  /** Why the simulation does not find it. */
  readonly unfound?: string
}

export const edit = (file: string, from: string, to: string): Edit => ({ file, from, to })

const packages = new URL("../../../../packages/", import.meta.url)

/** The file with all edits that the fault makes to it. Throws where one does not apply. */
export const planted = (file: string, edits: ReadonlyArray<Edit>): string => {
  let source = readFileSync(new URL(file, packages), "utf8")
  for (const { from, to } of edits) {
    if (!source.includes(from)) throw new Error(`${file} has no ${JSON.stringify(from)}`)
    source = source.replace(from, () => to)
  }
  return source
}

/** Why a fault can no longer be planted; null where it can. */
export const unplantable = ({ edits }: PlantedFault): string | null => {
  try {
    for (const [file, own] of Map.groupBy(edits, (each) => each.file)) planted(file, own)
    return null
  } catch (error) {
    return String(error)
  }
}
