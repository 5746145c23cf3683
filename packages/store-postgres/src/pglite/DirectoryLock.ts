/**
 * One process at a time: an embedded database that two processes write to is lost. The lock is one of the
 * operating system: it ends with its process, however that ends, and a process id that is used again, as
 * containers do, is never taken for its holder.
 */
import { StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type { Scope } from "effect"
import { mkdir } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import type { DatabaseSync } from "node:sqlite"

/** SQLite's code for a lock that another connection holds. */
const busyCode = 5

const isBusy = (cause: unknown): boolean =>
  cause instanceof Error && "errcode" in cause && cause.errcode === busyCode

/** Those of this very process. */
const ownedHere = new Set<string>()

/**
 * Locks the directory for as long as the scope is open; fails when it is in use. The lock is a file next
 * to it. It stays: removing a file that others are about to lock would let in two.
 */
export const lockDirectory = (
  directory: string,
): Effect.Effect<void, StoreUnavailable, Scope.Scope> => {
  const path = resolve(directory)
  return Effect.asVoid(
    Effect.acquireRelease(
      Effect.tryPromise({
        try: () => acquire(path),
        catch: (cause) => new StoreUnavailable({ operation: "open PGlite", cause }),
      }),
      (lock) =>
        Effect.sync(() => {
          ownedHere.delete(path)
          lock.close()
        }),
    ),
  )
}

const acquire = async (path: string): Promise<DatabaseSync> => {
  await mkdir(dirname(path), { recursive: true })
  // SQLite serves only for its lock. Loaded here alone: Node 22 calls it experimental each time that it is loaded.
  const { DatabaseSync } = await import("node:sqlite")
  const lock = new DatabaseSync(`${path}.exclusive`)
  try {
    lock.exec("pragma locking_mode = exclusive; begin exclusive")
  } catch (cause) {
    lock.close()
    const holder = ownedHere.has(path) ? "this process" : "another process"
    throw isBusy(cause) ? new Error(`the directory is in use by ${holder}: ${path}`) : cause
  }
  ownedHere.add(path)
  return lock
}
