/**
 * Encrypted copies of media that a process left behind when it was killed in the midst of an upload. The
 * library makes them in the system's temporary directory, and deletes each after its upload.
 */
import { sleepInRealTime } from "@messaging-service/core"
import { Effect } from "effect"
import { readdir, stat, unlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** What the library calls them. */
const isCopy = (name: string): boolean => /^(?:image|document)3EB0[0-9A-F]+-enc$/.test(name)

/** No upload takes so long. */
const leftMillis = 60 * 60_000

/** Files are dated by the system's clock. Another process may delete one at the same time, or own it. */
const deleteOld = async (file: string): Promise<void> => {
  const { mtimeMs } = await stat(file)
  if (Date.now() - mtimeMs > leftMillis) await unlink(file)
}

const sweep = async (): Promise<void> => {
  const directory = tmpdir()
  const copies = (await readdir(directory)).filter(isCopy)
  await Promise.allSettled(copies.map((name) => deleteOld(join(directory, name))))
}

/** Deletes what was left behind, now and every hour. */
export const sweepLeftFiles: Effect.Effect<never> = Effect.gen(function* () {
  yield* Effect.ignore(Effect.tryPromise(sweep))
  yield* sleepInRealTime(leftMillis)
}).pipe(Effect.forever)
