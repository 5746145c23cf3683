/**
 * One process at a time: an embedded database that two processes write to is lost. The holder's
 * process id stands in a file beside the directory; a file whose process is gone means nothing.
 */
import { StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type { Scope } from "effect"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"

/** Those of this very process, which its id cannot tell apart. */
const held = new Set<string>()

/** Holds the directory for as long as the scope is open; fails when it is in use. */
export const lockDirectory = (
  directory: string,
): Effect.Effect<void, StoreUnavailable, Scope.Scope> => {
  const file = `${resolve(directory)}.lock`
  return Effect.asVoid(
    Effect.acquireRelease(
      Effect.tryPromise({
        try: () => take(file),
        catch: (cause) => new StoreUnavailable({ operation: "open PGlite", cause }),
      }),
      () => Effect.promise(() => release(file)),
    ),
  )
}

const take = async (file: string): Promise<void> => {
  const inUse = (by: string) =>
    new Error(`the directory is in use by process ${by}; if that is not so, remove ${file}`)
  if (held.has(file)) throw inUse(String(process.pid))
  held.add(file)
  try {
    await mkdir(dirname(file), { recursive: true })
    const other = await readFile(file, "utf8").catch(() => "")
    if (isRunning(Number(other))) throw inUse(other)
    await rm(file, { force: true })
    // Of two processes that start at once and both find no holder, one makes the file.
    await writeFile(file, String(process.pid), { flag: "wx" })
  } catch (cause) {
    held.delete(file)
    throw cause
  }
}

const release = async (file: string): Promise<void> => {
  await rm(file, { force: true })
  held.delete(file)
}

/** In a container every start has the same id: one's own says nothing. */
const isRunning = (pid: number): boolean => {
  if (!(pid > 0) || pid === process.pid) return false
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    // The process is there, and belongs to another user.
    return cause instanceof Error && "code" in cause && cause.code === "EPERM"
  }
}
