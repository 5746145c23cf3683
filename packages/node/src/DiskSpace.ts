/**
 * Whether the disk takes more (`DISK_RESERVE`, `/health/ready`; contract: Configuration): media
 * leave a reserve of it to everything else, and below a small floor the service itself cannot go
 * on.
 */
import { MediaFilesError, sharedResources } from "@messaging-service/core"
import { Effect } from "effect"
import { rm, statfs, writeFile } from "node:fs/promises"
import { join } from "node:path"

/** Bytes. */
export interface DiskSpace {
  readonly free: number
  readonly whole: number
}

export type LookAtDisk = (directory: string) => Promise<DiskSpace>

export const lookAtDisk: LookAtDisk = async (directory) => {
  const { bavail, blocks, bsize } = await statfs(directory)
  return { free: bavail * bsize, whole: blocks * bsize }
}

/** A disk with less than that is full: the database writes its log in pieces of 16 MiB. */
const floorBytes = 32 * 1024 * 1024

/** Part of a small disk that is left free unless the reserve is given. */
const reserveShare = 0.05

const full = (cause: string) => new MediaFilesError({ reason: "full", cause })

/** What is kept free of a disk: what is given, else 1 GiB or 5 % of the disk, whichever is smaller. */
const reserveOf = (given: number | null, { whole }: DiskSpace): number =>
  given ?? Math.min(sharedResources.diskReserve.whole, whole * reserveShare)

/** Some file systems do not tell what they hold; they say so by their own errors. */
const hasLess = ({ free, whole }: DiskSpace, bytes: number): boolean => whole > 0 && free < bytes

/** Fails with `full` when the disk has less free than the reserve. */
export const requireReserve = (look: LookAtDisk, directory: string, given: number | null) =>
  Effect.tryPromise({
    try: () => look(directory),
    catch: (cause) => new MediaFilesError({ reason: "io", cause }),
  }).pipe(
    Effect.flatMap((space) =>
      hasLess(space, reserveOf(given, space))
        ? Effect.fail(full("the disk has less free than the reserve"))
        : Effect.void,
    ),
  )

/**
 * Writes a small file into each directory and takes it away again; fails when one does not take it,
 * or when its disk is full.
 */
export const tryWriting = (look: LookAtDisk, directories: ReadonlyArray<string>, name: string) =>
  Effect.tryPromise({
    try: async () => {
      for (const directory of directories) {
        if (hasLess(await look(directory), floorBytes)) throw full("the disk is full")
        const path = join(directory, name)
        await writeFile(path, name, { mode: 0o600 })
        await rm(path)
      }
    },
    catch: (cause) =>
      cause instanceof MediaFilesError ? cause : new MediaFilesError({ reason: "io", cause }),
  })
