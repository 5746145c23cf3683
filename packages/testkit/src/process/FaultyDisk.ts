/** A process's disk that can be full, fail to sync or hang, for tests of the embedded database. */
import { Effect } from "effect"
import { rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

export type DiskFault =
  /** Accepts that many more writes, then is full. */
  | { readonly kind: "full"; readonly roomFor: number }
  | { readonly kind: "unsyncable" }
  /** The next thread to write hangs for good. */
  | { readonly kind: "silent" }

export interface FaultyDisk {
  /** Variables of the process. */
  readonly variables: Readonly<Record<string, string>>
  readonly fail: (fault: DiskFault) => Effect.Effect<void>
  readonly repair: Effect.Effect<void>
}

const preload = pathToFileURL(join(import.meta.dirname, "faultyFiles.ts")).href

/**
 * Of the files below `directory`; `control` is the path of a separate file. All threads but the
 * main one use it.
 */
export const faultyDisk = (directory: string, control: string): FaultyDisk => ({
  variables: {
    NODE_OPTIONS: `--import=${preload}`,
    FAULTY_DIRECTORY: directory,
    FAULTY_CONTROL: control,
  },
  fail: (fault) =>
    Effect.promise(async () => {
      // Renamed, so it appears complete.
      await writeFile(`${control}.new`, JSON.stringify(fault))
      await rename(`${control}.new`, control)
    }),
  repair: Effect.promise(() => rm(control, { force: true })),
})
