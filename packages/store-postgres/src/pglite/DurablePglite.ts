/**
 * A PGlite that syncs its commits to the disk and reports its death. As it comes, PGlite runs without any sync, and
 * when its backend ends (PANIC, FATAL) it asks the dead backend again without end.
 */
import { PGlite } from "@electric-sql/pglite"
import { NodeFS } from "@electric-sql/pglite/nodefs"
import { fdatasyncSync, fsyncSync } from "node:fs"

type EmscriptenOptions = Parameters<NodeFS["init"]>[1]

type EmscriptenModule = PGlite["Module"]

/** A file that is open inside PGlite; `nfd` is its descriptor here, which files in memory lack. */
interface OpenFile {
  readonly nfd?: number
}

/** What the types of Emscripten leave out. */
interface NodeFiles {
  readonly stream_ops: { fsync?: (file: OpenFile) => number }
  readonly tryFSOperation: <A>(operation: () => A) => A
}

interface FilesByDescriptor {
  readonly getStreamChecked: (descriptor: number) => OpenFile
}

type InstantiateWasm = (imports: { readonly env: object }, done: unknown) => object

const findErrno = (cause: unknown): number | undefined =>
  typeof cause === "object" && cause !== null && "name" in cause && cause.name === "ErrnoError"
    ? Number((cause as { readonly errno?: unknown }).errno)
    : undefined

/** ENOSPC, as the errors of Emscripten's file system number it. */
const noSpace = 51

/** What a failure says; an error of Emscripten's file system has only a number. */
export const describe = (cause: unknown): string => {
  const errno = findErrno(cause)
  if (errno === noSpace) return "No space left on device"
  return errno === undefined ? String(cause) : `the file system failed with error ${errno}`
}

/**
 * The directory of a cluster, in which what PostgreSQL syncs reaches the disk. PGlite's own file system
 * has no `fsync`, and its `fdatasync` does nothing.
 */
export class DurableNodeFS extends NodeFS {
  override async init(
    database: PGlite,
    options: EmscriptenOptions,
  ): Promise<{ emscriptenOpts: EmscriptenOptions }> {
    const { emscriptenOpts } = await super.init(database, options)
    const { preRun = [] } = emscriptenOpts
    const instantiate = emscriptenOpts.instantiateWasm as InstantiateWasm
    let started: EmscriptenModule | undefined
    const sync = (files: NodeFiles, { nfd }: OpenFile, how: (descriptor: number) => void) => {
      if (nfd !== undefined) files.tryFSOperation(() => this.sync(nfd, how))
      return 0
    }
    const install = (module: EmscriptenModule) => {
      started = module
      const files = module.NODEFS as unknown as NodeFiles
      // Files and directories alike.
      files.stream_ops.fsync = (file) => sync(files, file, fsyncSync)
    }
    const fdatasync = (descriptor: number): number => {
      if (started === undefined) return 0
      try {
        const files = started.FS as unknown as FilesByDescriptor
        const file = files.getStreamChecked(descriptor)
        return sync(started.NODEFS as unknown as NodeFiles, file, fdatasyncSync)
      } catch (cause) {
        const errno = findErrno(cause)
        if (errno === undefined) throw cause
        return -errno
      }
    }
    const instantiateWasm: InstantiateWasm = (imports, done) => {
      Object.assign(imports.env, { __syscall_fdatasync: fdatasync })
      return instantiate(imports, done)
    }
    return {
      emscriptenOpts: { ...emscriptenOpts, preRun: [install, ...preRun], instantiateWasm },
    }
  }

  /** Tests look on here, and fail what a disk would. */
  protected sync(descriptor: number, how: (descriptor: number) => void): void {
    how(descriptor)
  }
}

/** Exit status of PGlite's backend for the long jump of an ordinary SQL error. */
const longJump = 100

const isSqlError = (cause: unknown): boolean =>
  typeof cause === "object" && cause !== null && "status" in cause && cause.status === longJump

/** Whatever PGlite calls between two attempts of its loop: an error thrown there ends the loop. */
const betweenAttempts = [
  "stackRestore",
  "_PostgresSendReadyForQueryIfNecessary",
  "_pgl_pq_flush",
] as const

/**
 * Calls `onDeath` once, in the turn in which the backend ended (PANIC, FATAL, a fault of the program). From then on
 * every call fails, and nothing runs inside any more: what is in its memory must not reach the disk.
 */
const endAtDeath = (database: PGlite, onDeath: (cause: unknown) => void): void => {
  const module = database.Module
  let death: { readonly cause: unknown } | undefined
  const run = module._PostgresMainLoopOnce
  module._PostgresMainLoopOnce = () => {
    if (death !== undefined) throw death.cause
    try {
      run()
    } catch (cause) {
      if (!isSqlError(cause)) {
        death = { cause }
        onDeath(cause)
      }
      throw cause
    }
  }
  const functions = module as unknown as Record<string, (...args: Array<number>) => unknown>
  for (const name of betweenAttempts) {
    const real = functions[name]
    functions[name] = (...args) => {
      if (death !== undefined) throw death.cause
      return real?.(...args)
    }
  }
}

/**
 * Settings of PostgreSQL on one small machine. Buffers of 128 MB, as it comes, are memory that the program
 * misses; the kernel keeps the same pages. WAL is bounded by our own checkpoints (`PgliteHousekeeping.ts`);
 * this much of its files is kept to be used again.
 */
const settings: Readonly<Record<string, string>> = {
  shared_buffers: "16MB",
  min_wal_size: "32MB",
  max_wal_size: "32MB",
}

/** All but the switch that turns syncing off. */
const startParams = [
  ...PGlite.defaultStartParams.filter((param) => param !== "-F"),
  ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
]

export interface DurableOptions {
  /** Where the cluster lies; in memory without one. */
  readonly files?: NodeFS | undefined
  /** A cluster to unpack there, where there is none yet. */
  readonly packed?: Blob | undefined
  /** The backend has ended: nothing may be asked of it any more, not even to close. */
  readonly onDeath: (cause: unknown) => void
  /** A line that PostgreSQL writes to its log. */
  readonly onLog?: (line: string) => void
}

export const openDurable = async ({
  files,
  onDeath,
  onLog,
  packed,
}: DurableOptions): Promise<PGlite> => {
  const database = await PGlite.create({
    ...(files === undefined ? { dataDir: "memory://" } : { fs: files }),
    ...(packed === undefined ? {} : { loadDataDir: packed }),
    startParams,
    // The answer says whether PGlite should print it too.
    onStderr: (line) => {
      onLog?.(line)
      return false
    },
  })
  endAtDeath(database, onDeath)
  return database
}
