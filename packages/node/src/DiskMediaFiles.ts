/**
 * `MediaFiles` in a directory. A content is written to a temporary file first, hashed and counted on
 * the way, and gets its name only when all of it is safely on the disk; so a name is that of a whole
 * content or does not exist. The storage key is that name: 32 random digits, and the hash, so that a
 * file needs no second one that describes it.
 *
 * Media leave a reserve of the disk to everything else (`DISK_RESERVE`), and below a small floor the
 * service is not ready (`/health/ready`; contract: Configuration).
 */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { mkdir, open, readdir, rename, rm, stat, statfs, writeFile } from "node:fs/promises"
import type { FileHandle } from "node:fs/promises"
import { join } from "node:path"
import {
  Ids,
  MediaFiles,
  MediaFilesError,
  sharedLimits,
  unknownMimeType,
} from "@messaging-service/core"
import type { StoredContent } from "@messaging-service/core"
import { Deferred, Effect, Layer, Stream } from "effect"
import type { Scope } from "effect"
import { fileTypeFromBuffer } from "file-type"
import { systemClock } from "./NodeServices.ts"

/** Bytes. */
interface DiskSpace {
  readonly free: number
  readonly whole: number
}

type LookAtDisk = (directory: string) => Promise<DiskSpace>

const lookAtDisk: LookAtDisk = async (directory) => {
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
  given ?? Math.min(sharedLimits.diskReserve.whole, whole * reserveShare)

/** Some file systems do not tell what they hold; they say so by their own errors. */
const hasLess = ({ free, whole }: DiskSpace, bytes: number): boolean => whole > 0 && free < bytes

/** Fails with `full` when the disk has less free than the reserve. */
const requireReserve = (look: LookAtDisk, directory: string, given: number | null) =>
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
const tryWriting = (look: LookAtDisk, directories: ReadonlyArray<string>, name: string) =>
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

/** Files are made for the service's own user alone. */
const filePermissions = 0o600
const directoryPermissions = 0o700

/** A temporary file of this age belongs to a process that was killed: nothing uploads for a day. */
const abandonedMillis = 24 * 60 * 60 * 1000

/** How many bytes of a file are written before the disk is looked at again. */
const bytesBetweenLooks = 1024 * 1024

/** How long an answer about readiness is good for, in real time. */
const readySeconds = 5

/** How many first bytes a type is found from, never from a name: enough for every such format. */
const sniffedBytes = 4100

/** Nothing else names a file, so no key leads out of the directory. */
const storageKeyForm = /^[0-9a-f]{32}-([0-9a-f]{64})$/

interface DiskMediaFilesOptions {
  readonly directory: string
  /** Whether no other process uses the directory: then nothing unfinished outlives a start. */
  readonly alone?: boolean
  /** Bytes that are left free; null or left out for 1 GiB or 5 % of the disk, the smaller of both. */
  readonly reserveBytes?: number | null
  /** Another directory that must be writable for the process to be ready. */
  readonly alsoWritable?: string
  /** In place of the disk itself, for tests. */
  readonly lookAtDisk?: LookAtDisk
}

/** Fails when the directory cannot be made. */
export const layerDiskMediaFiles = (
  options: DiskMediaFilesOptions,
): Layer.Layer<MediaFiles, MediaFilesError, Ids> =>
  Layer.effect(
    MediaFiles,
    Effect.gen(function* () {
      const ids = yield* Ids
      const kept = join(options.directory, "files")
      const temporary = join(options.directory, "temporary")
      yield* onDisk(() => mkdir(kept, { recursive: true, mode: directoryPermissions }))
      yield* onDisk(() => mkdir(temporary, { recursive: true, mode: directoryPermissions }))
      yield* options.alone === true ? removeAll(temporary) : removeAbandoned(temporary)

      const look = options.lookAtDisk ?? lookAtDisk
      const room = requireReserve(look, temporary, options.reserveBytes ?? null)
      const ready = rememberedFor(
        readySeconds,
        Effect.suspend(() =>
          tryWriting(
            look,
            [temporary, ...(options.alsoWritable === undefined ? [] : [options.alsoWritable])],
            `probe-${ids.hex(32)}`,
          ),
        ),
      )

      return MediaFiles.of({
        keeps: true,
        open: Effect.fn("MediaFiles.open")(function* (storageKey: string) {
          const sha256 = storageKeyForm.exec(storageKey)?.[1]
          if (sha256 === undefined) return yield* new MediaFilesError({ reason: "not_found" })
          const path = join(kept, storageKey)
          const { size, firstBytes } = yield* inspect(path).pipe(
            // Of a directory that is away, a lost mount, it is not known what it holds.
            Effect.tapError(({ reason }) =>
              reason === "not_found" ? onDisk(() => stat(kept)) : Effect.void,
            ),
          )
          return storedContent(path, size, sha256, yield* sniffMimeType(firstBytes))
        }),
        spool: Effect.fn("MediaFiles.spool")(function* <E>(
          content: Stream.Stream<Uint8Array, E>,
          maximumBytes: number,
        ) {
          const { mimeType, path, sha256, size } = yield* write(
            join(temporary, ids.hex(32)),
            content,
            maximumBytes,
            room,
          )
          const storageKey = `${ids.hex(32)}-${sha256}`
          const keep = Effect.uninterruptible(
            onDisk(async () => {
              await rename(path, join(kept, storageKey))
              await synchronize(kept)
            }),
          )
          return { ...storedContent(path, size, sha256, mimeType), storageKey, keep }
        }),
        room,
        remove: Effect.fn("MediaFiles.remove")(function* remove(storageKey: string) {
          if (!storageKeyForm.test(storageKey)) return
          yield* onDisk(() => rm(join(kept, storageKey), { force: true }))
        }),
        ready,
        removeAbandoned: removeAbandoned(temporary),
      })
    }),
  )

/** Asks at most once in so many seconds of real time, whatever the answer; all share it. */
const rememberedFor = <A, E>(seconds: number, ask: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let answer: Deferred.Deferred<A, E> | undefined
  let goodUntil = 0
  return Effect.suspend(() => {
    const now = systemClock.currentTimeMillisUnsafe()
    if (answer !== undefined && now < goodUntil) return Deferred.await(answer)
    const asked = Deferred.makeUnsafe<A, E>()
    answer = asked
    goodUntil = now + seconds * 1000
    // A caller may give up before a slow disk answers; the other callers still wait for it.
    return Effect.andThen(Effect.forkDetach(Deferred.into(ask, asked)), Deferred.await(asked))
  })
}

const codeOf = (cause: unknown): unknown =>
  cause instanceof Error && "code" in cause ? cause.code : undefined

const ioError = (cause: unknown) =>
  new MediaFilesError({
    reason: ["ENOSPC", "EDQUOT"].includes(String(codeOf(cause))) ? "full" : "io",
    cause,
  })

/** For reading, where a file that is not there has an answer of its own. */
const readError = (cause: unknown) =>
  codeOf(cause) === "ENOENT" ? new MediaFilesError({ reason: "not_found", cause }) : ioError(cause)

const onDisk = <A>(
  operation: () => Promise<A>,
  error: (cause: unknown) => MediaFilesError = ioError,
): Effect.Effect<A, MediaFilesError> => Effect.tryPromise({ try: operation, catch: error })

/** Makes what was renamed into a directory survive a power cut. */
const synchronize = async (directory: string): Promise<void> => {
  const handle = await open(directory, "r")
  await handle.sync().finally(() => handle.close())
}

const removeAll = (directory: string) =>
  onDisk(async () => {
    for (const name of await readdir(directory)) await rm(join(directory, name), { force: true })
  })

/** Other processes may be writing here at this moment, so only what is old goes. */
const removeAbandoned = (directory: string) =>
  Effect.gen(function* () {
    const latest = systemClock.currentTimeMillisUnsafe() - abandonedMillis
    for (const name of yield* onDisk(() => readdir(directory))) {
      const path = join(directory, name)
      // One that another process removes meanwhile is gone as well.
      yield* Effect.ignore(
        onDisk(async () => {
          if ((await stat(path)).mtimeMs < latest) await rm(path, { force: true })
        }),
      )
    }
  })

interface Written {
  readonly path: string
  readonly size: number
  readonly sha256: string
  readonly mimeType: string
}

/** Writes a content into a file that goes with the scope, unless it is renamed before. */
const write = <E>(
  path: string,
  content: Stream.Stream<Uint8Array, E>,
  maximumBytes: number,
  room: Effect.Effect<void, MediaFilesError>,
): Effect.Effect<Written, MediaFilesError | E, Scope.Scope> =>
  Effect.gen(function* () {
    yield* room
    yield* Effect.addFinalizer(() => Effect.ignore(onDisk(() => rm(path, { force: true }))))
    return yield* Effect.acquireUseRelease(
      onDisk(() => open(path, "wx", filePermissions)),
      (file) => writeInto(file, path, content, maximumBytes, room),
      (file) => Effect.ignore(onDisk(() => file.close())),
    )
  })

const writeInto = <E>(
  file: FileHandle,
  path: string,
  content: Stream.Stream<Uint8Array, E>,
  maximumBytes: number,
  room: Effect.Effect<void, MediaFilesError>,
): Effect.Effect<Written, MediaFilesError | E> =>
  Effect.gen(function* () {
    const hash = createHash("sha256")
    const sample = Buffer.alloc(sniffedBytes)
    let size = 0
    yield* Stream.runForEach(content, (chunk) => {
      if (size + chunk.length > maximumBytes) {
        return Effect.fail(new MediaFilesError({ reason: "too_large" }))
      }
      if (size < sniffedBytes) sample.set(chunk.subarray(0, sniffedBytes - size), size)
      const due = Math.floor((size + chunk.length) / bytesBetweenLooks) > Math.floor(size / bytesBetweenLooks) // prettier-ignore
      size += chunk.length
      hash.update(chunk)
      // From where the last one ended, and whole, unlike `write`.
      const written = onDisk(() => file.writeFile(chunk))
      return due ? Effect.andThen(room, written) : written
    })
    yield* onDisk(() => file.sync())
    const mimeType = yield* sniffMimeType(sample.subarray(0, size))
    return { path, size, sha256: hash.digest("hex"), mimeType }
  })

const inspect = (path: string) =>
  Effect.acquireUseRelease(
    onDisk(() => open(path, "r"), readError),
    (file) =>
      onDisk(async () => {
        const { size } = await file.stat()
        const sample = Buffer.alloc(sniffedBytes)
        const { bytesRead } = await file.read(sample, 0, sniffedBytes, 0)
        return { size, firstBytes: sample.subarray(0, bytesRead) }
      }),
    (file) => Effect.ignore(onDisk(() => file.close())),
  )

const storedContent = (
  path: string,
  size: number,
  sha256: string,
  mimeType: string,
): StoredContent => ({
  size,
  sha256,
  mimeType,
  content: read(path),
  part: (start, end) => (end > start ? read(path, { start, end: end - 1 }) : Stream.empty),
})

/** `end` is the last byte that is read. */
const read = (path: string, range: { readonly start?: number; readonly end?: number } = {}) =>
  Stream.suspend(() => Stream.fromAsyncIterable(createReadStream(path, range), readError))

/**
 * The MIME type that these bytes begin, without parameters. Text of every kind, HTML, SVG and scripts
 * among it, has no first bytes that tell it apart: of that nothing is known here.
 */
const sniffMimeType = (firstBytes: Uint8Array): Effect.Effect<string> =>
  // A sample that breaks off in the middle of a header may make a parser give up.
  Effect.tryPromise(() => fileTypeFromBuffer(firstBytes)).pipe(
    Effect.map((found) => found?.mime.split(";", 1)[0] ?? unknownMimeType),
    Effect.orElseSucceed(() => unknownMimeType),
  )
