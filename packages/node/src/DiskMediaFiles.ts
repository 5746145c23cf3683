/**
 * `MediaFiles` in a directory. It writes a content to a temporary file, hashes and counts it on the way, and
 * names it only when all of it is durable. So a name belongs to a complete content or does not exist. The
 * storage key is that name: 32 random digits, and the hash, so a file needs no second one that describes it.
 *
 * Media leave a reserve of the disk to everything else (`DISK_RESERVE`). Below a small floor the service is
 * not ready (`/health/ready`; contract: Configuration).
 */
import { createHash } from "node:crypto"
import { constants, createReadStream } from "node:fs"
import {
  access,
  mkdir,
  open,
  opendir,
  readdir,
  rename,
  rm,
  stat,
  statfs,
  writeFile,
} from "node:fs/promises"
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
import { systemClock } from "./NodeServices.ts"

/** Bytes. */
interface DiskSpace {
  readonly free: number
  readonly whole: number
}

type DiskCheck = (directory: string) => Promise<DiskSpace>

const checkDisk: DiskCheck = async (directory) => {
  const { bavail, blocks, bsize } = await statfs(directory)
  return { free: bavail * bsize, whole: blocks * bsize }
}

/** A disk with less than this is full: the database writes its log in pieces of 16 MiB. */
const floorBytes = 32 * 1024 * 1024

/** Share of a small disk that stays free by default. */
const reserveShare = 0.05

const full = (cause: string) => new MediaFilesError({ reason: "full", cause })

/** Reserved bytes of a disk: the given number, else the smaller of 1 GiB and 5 % of the disk. */
const toReserve = (value: number | null, { whole }: DiskSpace): number =>
  value ?? Math.min(sharedLimits.diskReserve.whole, whole * reserveShare)

/** Some file systems do not report their size; their own errors say when they are full. */
const hasLess = ({ free, whole }: DiskSpace, bytes: number): boolean => whole > 0 && free < bytes

const lookAt = (check: DiskCheck, directory: string) =>
  Effect.tryPromise({
    try: () => check(directory),
    catch: (cause) => new MediaFilesError({ reason: "io", cause }),
  })

/** Fails with `full` when the disk has less free space than the reserve. */
const requireReserve = (check: DiskCheck, directory: string, value: number | null) =>
  lookAt(check, directory).pipe(
    Effect.flatMap((space) =>
      hasLess(space, toReserve(value, space))
        ? Effect.fail(full("the free disk space is below the reserve"))
        : Effect.void,
    ),
  )

const reservedSpace = (check: DiskCheck, directory: string, value: number | null) =>
  Effect.map(lookAt(check, directory), (space) =>
    space.whole === 0 ? null : { free: space.free, reserve: toReserve(value, space) },
  )

/**
 * Bytes that a disk has free, and those that media leave to everything else; null where the file system does not
 * report its size.
 */
export const examineDisk = (directory: string, value: number | null) =>
  reservedSpace(checkDisk, directory, value)

/** Where a directory of media files has the complete ones. */
const completeFiles = (directory: string) => join(directory, "files")

/** Whether a directory of media files has a readable file of that key. */
export const holdsMediaFile = (directory: string, storageKey: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    access(join(completeFiles(directory), storageKey), constants.R_OK).then(
      () => true,
      () => false,
    ),
  )

/**
 * Writes a small file into each directory and removes it. Fails when a directory refuses it, or when
 * its disk is full.
 */
const tryWriting = (check: DiskCheck, directories: ReadonlyArray<string>, name: string) =>
  Effect.tryPromise({
    try: async () => {
      for (const directory of directories) {
        if (hasLess(await check(directory), floorBytes)) throw full("the disk is full")
        const path = join(directory, name)
        await writeFile(path, name, { mode: 0o600 })
        await rm(path)
      }
    },
    catch: (cause) =>
      cause instanceof MediaFilesError ? cause : new MediaFilesError({ reason: "io", cause }),
  })

/** Only the service's own user may access the files. */
const filePermissions = 0o600
const directoryPermissions = 0o700

/** A temporary file of this age belongs to a killed process: no upload takes a day. */
const abandonedMillis = 24 * 60 * 60 * 1000

/** Number of bytes of a file between two checks of the disk. */
const bytesBetweenChecks = 1024 * 1024

/** How long a readiness result stays valid, in real time. */
const readySeconds = 5

/** Number of first bytes for type detection, enough for every such format. Names play no part. */
const sniffedBytes = 4100

/** Only this names a file, so no key leads out of the directory. */
const storageKeyForm = /^[0-9a-f]{32}-([0-9a-f]{64})$/

interface DiskMediaFilesOptions {
  readonly directory: string
  /** Whether only this process uses the directory; a start then removes all unfinished files. */
  readonly alone?: boolean
  /** Bytes to leave free. Null or omitted: the smaller of 1 GiB and 5 % of the disk. */
  readonly reserveBytes?: number | null
  /** Another directory that must be writable for the process to be ready. */
  readonly alsoWritable?: string
  /** Replaces the disk, for tests. */
  readonly checkDisk?: DiskCheck
}

/** Fails when it cannot create the directory. */
export const layerDiskMediaFiles = (
  options: DiskMediaFilesOptions,
): Layer.Layer<MediaFiles, MediaFilesError, Ids> =>
  Layer.effect(
    MediaFiles,
    Effect.gen(function* () {
      const ids = yield* Ids
      const stored = completeFiles(options.directory)
      const temporary = join(options.directory, "temporary")
      yield* onDisk(() => mkdir(stored, { recursive: true, mode: directoryPermissions }))
      yield* onDisk(() => mkdir(temporary, { recursive: true, mode: directoryPermissions }))
      yield* options.alone === true ? removeAll(temporary) : removeAbandoned(temporary)

      const check = options.checkDisk ?? checkDisk
      const room = requireReserve(check, temporary, options.reserveBytes ?? null)
      const ready = rememberedFor(
        readySeconds,
        Effect.suspend(() =>
          tryWriting(
            check,
            [temporary, ...(options.alsoWritable === undefined ? [] : [options.alsoWritable])],
            `probe-${ids.hex(32)}`,
          ),
        ),
      )

      return MediaFiles.of({
        isRetained: true,
        open: Effect.fn("MediaFiles.open")(function* (storageKey: string) {
          const sha256 = storageKeyForm.exec(storageKey)?.[1]
          if (sha256 === undefined) return yield* new MediaFilesError({ reason: "not_found" })
          const path = join(stored, storageKey)
          const { size, firstBytes } = yield* inspect(path).pipe(
            Effect.tapError(({ reason }) =>
              reason === "not_found" ? requireFiles(stored) : Effect.void,
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
              await rename(path, join(stored, storageKey))
              await synchronize(stored)
            }),
          )
          return { ...storedContent(path, size, sha256, mimeType), storageKey, keep }
        }),
        room,
        space: reservedSpace(check, temporary, options.reserveBytes ?? null),
        remove: Effect.fn("MediaFiles.remove")(function* remove(storageKey: string) {
          if (!storageKeyForm.test(storageKey)) return
          yield* onDisk(() => rm(join(stored, storageKey), { force: true }))
        }),
        ready,
        removeAbandoned: removeAbandoned(temporary),
      })
    }),
  )

/**
 * Fails with `io` when a directory is missing or holds nothing: that is a lost mount, or the directory of a process
 * that was started elsewhere, and says nothing about a single file.
 */
const requireFiles = (directory: string) =>
  onDisk(async () => {
    const entries = await opendir(directory)
    const first = await entries.read()
    await entries.close()
    if (first === null)
      throw new Error(`${directory} is empty: is it the directory of all processes?`)
  })

/** Runs at most once in that many seconds of real time; all callers share the result. */
const rememberedFor = <A, E>(seconds: number, call: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let answer: Deferred.Deferred<A, E> | undefined
  let goodUntil = 0
  return Effect.suspend(() => {
    const now = systemClock.currentTimeMillisUnsafe()
    if (answer !== undefined && now < goodUntil) return Deferred.await(answer)
    const request = Deferred.makeUnsafe<A, E>()
    answer = request
    goodUntil = now + seconds * 1000
    // One caller may give up before a slow disk answers; the others still wait for it.
    return Effect.andThen(Effect.forkDetach(Deferred.into(call, request)), Deferred.await(request))
  })
}

const toCode = (cause: unknown): unknown =>
  cause instanceof Error && "code" in cause ? cause.code : undefined

const ioError = (cause: unknown) =>
  new MediaFilesError({
    reason: ["ENOSPC", "EDQUOT"].includes(String(toCode(cause))) ? "full" : "io",
    cause,
  })

/** Opens for reading; a missing file has its own result. */
const readError = (cause: unknown) =>
  toCode(cause) === "ENOENT" ? new MediaFilesError({ reason: "not_found", cause }) : ioError(cause)

const onDisk = <A>(
  operation: () => Promise<A>,
  error: (cause: unknown) => MediaFilesError = ioError,
): Effect.Effect<A, MediaFilesError> => Effect.tryPromise({ try: operation, catch: error })

/** Makes a rename into a directory survive a power cut. */
const synchronize = async (directory: string): Promise<void> => {
  const handle = await open(directory, "r")
  await handle.sync().finally(() => handle.close())
}

const removeAll = (directory: string) =>
  onDisk(async () => {
    for (const name of await readdir(directory)) await rm(join(directory, name), { force: true })
  })

/** Other processes may be writing here now, so remove only old files. */
const removeAbandoned = (directory: string) =>
  Effect.gen(function* () {
    const latest = systemClock.currentTimeMillisUnsafe() - abandonedMillis
    for (const name of yield* onDisk(() => readdir(directory))) {
      const path = join(directory, name)
      // Another process may remove it meanwhile.
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

/** Writes a content into a file that the scope removes, unless it is renamed before. */
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
      const due = Math.floor((size + chunk.length) / bytesBetweenChecks) > Math.floor(size / bytesBetweenChecks) // prettier-ignore
      size += chunk.length
      hash.update(chunk)
      // From where the last one ended, and completely, unlike `write`.
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

/** `end` is the last byte to read. */
const read = (path: string, range: { readonly start?: number; readonly end?: number } = {}) =>
  Stream.suspend(() => Stream.fromAsyncIterable(createReadStream(path, range), readError))

/**
 * MIME type of content that begins with these bytes, without parameters. Text of every kind, including
 * HTML, SVG and scripts, has no distinctive first bytes: the result is then unknown.
 */
const sniffMimeType = (firstBytes: Uint8Array): Effect.Effect<string> =>
  // A sample that ends in the middle of a header may make a parser fail.
  Effect.tryPromise(async () => {
    const { fileTypeFromBuffer } = await import("file-type")
    return fileTypeFromBuffer(firstBytes)
  }).pipe(
    Effect.map((found) => found?.mime.split(";", 1)[0] ?? unknownMimeType),
    Effect.orElseSucceed(() => unknownMimeType),
  )
