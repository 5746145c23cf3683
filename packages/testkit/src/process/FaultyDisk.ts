/** A disk of a process that can be full, fail to sync or stop answering, for tests of what the embedded database does then. */
import { Effect } from "effect"
import { rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

export type DiskFault =
  /** Once that many more writes have found room, none does. */
  | { readonly kind: "full"; readonly roomFor: number }
  | { readonly kind: "unsyncable" }
  /** The thread that writes next hangs for good. */
  | { readonly kind: "silent" }

export interface FaultyDisk {
  /** Variables of the process. */
  readonly variables: Readonly<Record<string, string>>
  readonly fail: (fault: DiskFault) => Effect.Effect<void>
  readonly repair: Effect.Effect<void>
}

const preload = pathToFileURL(join(import.meta.dirname, "faultyFiles.ts")).href

/** Of the files below `directory`; `control` is a path for a file of its own. Threads beside the main one have it. */
export const faultyDisk = (directory: string, control: string): FaultyDisk => ({
  variables: {
    NODE_OPTIONS: `--import=${preload}`,
    FAULTY_DIRECTORY: directory,
    FAULTY_CONTROL: control,
  },
  fail: (fault) =>
    Effect.promise(async () => {
      // Renamed, so that it is there whole.
      await writeFile(`${control}.new`, JSON.stringify(fault))
      await rename(`${control}.new`, control)
    }),
  repair: Effect.promise(() => rm(control, { force: true })),
})
