/**
 * Writes `src/openapi.ts`, the types of version 2 and of the operator API. Does nothing when it is newer than all
 * that it is made from, so that every check can call it.
 */
import { globSync, statSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

/** Path of the types. */
export const typesFile = resolve(import.meta.dirname, "src/openapi.ts")

/** What the types are made from. */
const sources = ["packages/{core,emulator,http}/src/**/*.ts", "packages/client/*.ts"]

const writtenAt = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

export const writeTypes = async (): Promise<void> => {
  const root = resolve(import.meta.dirname, "../..")
  const made = writtenAt(typesFile)
  const isOld = globSync(sources, { cwd: root }).some((file) => writtenAt(join(root, file)) >= made)
  if (!isOld) return
  // Takes some seconds to load.
  const { apiTypes } = await import("./apiTypes.ts")
  writeFileSync(typesFile, await apiTypes())
}

if (import.meta.main) await writeTypes()
