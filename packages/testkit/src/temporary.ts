/**
 * Directories that go with a scope. They are in memory where there is plenty of it: creating and
 * removing the thousands of small files of a database takes a file system longer than a test takes.
 */
import { Effect } from "effect"
import { accessSync, constants, statfsSync } from "node:fs"
import { mkdtemp, readdir, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Where Linux keeps files in memory, and its file system. */
const memory = "/dev/shm"
const tmpfs = 0x01_02_19_94

/** Bytes: many times what all tests use at once. */
const plenty = 4 * 1024 ** 3

const hasPlenty = (): boolean => {
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize, type } = statfsSync(memory)
    return type === tmpfs && bavail * bsize > plenty && process.availableMemory() > plenty
  } catch {
    return false
  }
}

const name = "messaging-test"
const pidOf = new RegExp(`^${name}-(\\d+)-`)

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** Long after a process ended its id may be another's, and in another container any id is. */
const leftAloneMillis = 3_600_000

/** Removes directories of killed processes: they would take memory until the machine restarts. */
export const removeLeft = async (parent: string): Promise<void> => {
  for (const left of await readdir(parent)) {
    const pid = pidOf.exec(left)?.[1]
    if (pid === undefined || isRunning(Number(pid))) continue
    const path = join(parent, left)
    const { mtimeMs } = await stat(path)
    // By the clock that dated it.
    if (Date.now() - mtimeMs > leftAloneMillis) await rm(path, { recursive: true, force: true })
  }
}

/** Decided once for a process. */
let chosen: Promise<string> | undefined

const choose = async (): Promise<string> => {
  if (!hasPlenty()) return tmpdir()
  // Another user's cannot be removed, another process may be faster.
  await removeLeft(memory).catch(() => undefined)
  return memory
}

/** An empty directory. `onDisk` is for tests that measure a disk or wait for one. */
export const getTemporaryDirectory = ({ onDisk = false }: { readonly onDisk?: boolean } = {}) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const parent = onDisk ? tmpdir() : await (chosen ??= choose())
      return mkdtemp(join(parent, `${name}-${process.pid}-`))
    }),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true })),
  )
