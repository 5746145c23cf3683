import { assert, describe, it } from "@effect/vitest"
import { Ids, MediaFiles, MediaFilesError, toMediaType } from "@messaging-service/core"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { createHash } from "node:crypto"
import { mkdtemp, readFile, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { layerDiskMediaFiles } from "../src/DiskMediaFiles.ts"

const aDirectory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "media-files-"))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true })),
)

const at = (directory: string) =>
  layerDiskMediaFiles({ directory: join(directory, "media") }).pipe(Layer.provide(Ids.layerRandom))

/** Every file below a directory, by its path in it. */
const filesIn = (directory: string) =>
  Effect.promise(async () => {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
  })

const inMediaFiles = <A, E>(
  use: (files: typeof MediaFiles.Service, directory: string) => Effect.Effect<A, E>,
) =>
  Effect.gen(function* () {
    const directory = yield* aDirectory
    return yield* MediaFiles.use((files) => use(files, directory)).pipe(
      Effect.provide(at(directory)),
    )
  })

const bytes = (text: string): Uint8Array => Buffer.from(text, "latin1")

const inChunks = (content: Uint8Array, size: number) =>
  Stream.fromIterable(
    Array.from({ length: Math.ceil(content.length / size) }, (_, index) =>
      content.subarray(index * size, (index + 1) * size),
    ),
  )

const read = (content: Stream.Stream<Uint8Array, MediaFilesError>) =>
  Effect.map(Stream.runCollect(content), (chunks) => Buffer.concat(chunks))

const sha256 = (content: Uint8Array) => createHash("sha256").update(content).digest("hex")

const reason = <A>(effect: Effect.Effect<A, MediaFilesError>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
)

/** Spools a stream, keeps it, and opens the result. */
const keep = <E>(
  files: typeof MediaFiles.Service,
  content: Stream.Stream<Uint8Array, E>,
  maximumBytes: number,
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const spooled = yield* files.spool(content, maximumBytes)
      yield* spooled.keep
      const { storageKey } = spooled
      return { ...(yield* files.open(storageKey)), storageKey }
    }),
  )

describe("a stored content", () => {
  it.effect("opens unchanged, also in another process", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const content = Buffer.concat([png, Buffer.alloc(300_000, "0123456789")])
      const stored = yield* MediaFiles.use((files) =>
        keep(files, inChunks(content, 7919), 1_000_000),
      ).pipe(Effect.provide(at(directory)))
      assert.deepStrictEqual(yield* read(stored.content), content)
      const opened = yield* MediaFiles.use((files) => files.open(stored.storageKey)).pipe(
        Effect.provide(at(directory)),
      )
      assert.deepStrictEqual(
        [opened.size, opened.sha256, opened.mimeType],
        [content.length, sha256(content), "image/png"],
      )
      assert.deepStrictEqual(
        [stored.size, stored.sha256, stored.mimeType],
        [opened.size, opened.sha256, opened.mimeType],
      )
      assert.deepStrictEqual(yield* read(opened.content), content)
      assert.deepStrictEqual(yield* read(opened.content), content)
    }),
  )

  it.effect("may be empty", () =>
    inMediaFiles((files) =>
      Effect.gen(function* () {
        const stored = yield* keep(files, Stream.empty, 0)
        const opened = yield* files.open(stored.storageKey)
        assert.deepStrictEqual(
          [opened.size, opened.sha256, opened.mimeType],
          [0, sha256(bytes("")), "application/octet-stream"],
        )
        assert.strictEqual((yield* read(opened.content)).length, 0)
      }),
    ),
  )

  it.effect("has a different key each time", () =>
    inMediaFiles((files) =>
      Effect.gen(function* () {
        const one = yield* keep(files, Stream.make(png), 1000)
        const other = yield* keep(files, Stream.make(png), 1000)
        assert.notStrictEqual(one.storageKey, other.storageKey)
        yield* files.remove(one.storageKey)
        assert.deepStrictEqual(yield* read(other.content), png)
      }),
    ),
  )

  it.effect("may have the maximum length, and no byte more, which leaves nothing", () =>
    inMediaFiles((files, directory) =>
      Effect.gen(function* () {
        assert.strictEqual(
          yield* reason(keep(files, Stream.make(bytes("12345"), bytes("678901")), 10)),
          "too_large",
        )
        assert.deepStrictEqual(yield* filesIn(directory), [])
        const stored = yield* keep(files, Stream.make(bytes("12345"), bytes("67890")), 10)
        assert.strictEqual(stored.size, 10)
      }),
    ),
  )

  it.effect("of a failed upload leaves nothing, and the upload's own error", () =>
    inMediaFiles((files, directory) =>
      Effect.gen(function* () {
        const upload = Stream.concat(Stream.make(png), Stream.fail("broken" as const))
        assert.strictEqual(yield* Effect.flip(keep(files, upload, 1000)), "broken")
        assert.strictEqual(yield* Effect.flip(Effect.scoped(files.spool(upload, 1000))), "broken")
        assert.deepStrictEqual(yield* filesIn(directory), [])
      }),
    ),
  )

  it.effect("of an interrupted upload leaves nothing", () =>
    inMediaFiles((files, directory) =>
      Effect.gen(function* () {
        const started = yield* Deferred.make<void>()
        const upload = Stream.concat(
          Stream.make(png),
          Stream.fromEffect(Effect.andThen(Deferred.succeed(started, undefined), Effect.never)),
        )
        const fiber = yield* Effect.forkChild(keep(files, upload, 1000))
        yield* Deferred.await(started)
        assert.strictEqual((yield* filesIn(directory)).length, 1)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* filesIn(directory), [])
      }),
    ),
  )

  it.effect("is readable only by the service's own user", () =>
    inMediaFiles((files, directory) =>
      Effect.gen(function* () {
        yield* keep(files, Stream.make(png), 1000)
        const [path] = yield* filesIn(directory)
        const { mode } = yield* Effect.promise(() => stat(join(directory, path ?? "")))
        assert.strictEqual(mode & 0o777, 0o600)
      }),
    ),
  )
})

describe("open and remove", () => {
  it.effect("a removed file is not found, and may be removed again", () =>
    inMediaFiles((files, directory) =>
      Effect.gen(function* () {
        const other = yield* keep(files, Stream.make(png), 1000)
        const { storageKey, content } = yield* keep(files, Stream.make(png), 1000)
        yield* files.remove(storageKey)
        yield* files.remove(storageKey)
        assert.strictEqual(yield* reason(files.open(storageKey)), "not_found")
        assert.strictEqual(yield* reason(read(content)), "not_found")
        assert.deepStrictEqual(yield* filesIn(directory), [`media/files/${other.storageKey}`])
      }),
    ),
  )

  it.effect(
    "a file of an empty directory does not count as gone: another process may keep it elsewhere",
    () =>
      inMediaFiles((files, directory) =>
        Effect.gen(function* () {
          const elsewhere = yield* aDirectory
          const { storageKey } = yield* keep(files, Stream.make(png), 1000)
          const other = MediaFiles.use(({ open }) => reason(open(storageKey)))
          assert.strictEqual(yield* Effect.provide(other, at(elsewhere)), "io")
          assert.deepStrictEqual(yield* filesIn(directory), [`media/files/${storageKey}`])
        }).pipe(Effect.scoped),
      ),
  )

  it.effect("a file of a missing directory does not count as gone", () =>
    inMediaFiles((files, directory) =>
      Effect.gen(function* () {
        const { storageKey } = yield* keep(files, Stream.make(png), 1000)
        const unavailable = join(directory, "away")
        yield* Effect.promise(() => rename(join(directory, "media"), unavailable))
        assert.strictEqual(yield* reason(files.open(storageKey)), "io")
        yield* Effect.promise(() => rename(unavailable, join(directory, "media")))
        assert.deepStrictEqual(yield* read((yield* files.open(storageKey)).content), png)
      }),
    ),
  )

  it.effect("no storage key leads out of the directory", () =>
    inMediaFiles((files, directory) =>
      Effect.gen(function* () {
        const secret = join(directory, "secret")
        yield* Effect.promise(() => writeFile(secret, "secret"))
        const { storageKey } = yield* keep(files, Stream.make(png), 1000)
        for (const key of [
          "../../secret",
          secret,
          `../files/${storageKey}`,
          `${storageKey}/../${storageKey}`,
          `${storageKey}\0`,
          `${storageKey}\n`,
          storageKey.toUpperCase(),
          "..",
          "",
        ]) {
          assert.strictEqual(yield* reason(files.open(key)), "not_found")
          yield* files.remove(key)
        }
        assert.strictEqual(yield* Effect.promise(() => readFile(secret, "utf8")), "secret")
        assert.deepStrictEqual(yield* read((yield* files.open(storageKey)).content), png)
      }),
    ),
  )

  it.effect("a directory that disappeared is io", () =>
    inMediaFiles((files, directory) =>
      Effect.gen(function* () {
        yield* Effect.promise(() => rm(join(directory, "media", "temporary"), { recursive: true }))
        assert.strictEqual(yield* reason(keep(files, Stream.make(png), 1000)), "io")
      }),
    ),
  )
})

describe("spool", () => {
  it.effect("a spooled content is readable until the scope closes, and gone then", () =>
    inMediaFiles((files, directory) =>
      Effect.gen(function* () {
        const content = yield* Effect.scoped(
          Effect.gen(function* () {
            const spooled = yield* files.spool(inChunks(png, 10), 1000)
            assert.deepStrictEqual(
              [spooled.size, spooled.sha256, spooled.mimeType],
              [png.length, sha256(png), "image/png"],
            )
            assert.deepStrictEqual(yield* read(spooled.content), png)
            assert.deepStrictEqual(yield* read(spooled.content), png)
            return spooled.content
          }),
        )
        assert.strictEqual(yield* reason(read(content)), "not_found")
        assert.deepStrictEqual(yield* filesIn(directory), [])
      }),
    ),
  )
})

describe("keep", () => {
  it.effect("a spooled content stays under its key, after its scope and its process", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const stored = yield* Effect.scoped(
        Effect.gen(function* () {
          const files = yield* MediaFiles
          const spooled = yield* files.spool(inChunks(png, 10), 1000)
          assert.deepStrictEqual(yield* filesIn(join(directory, "media/files")), [])
          yield* spooled.keep
          return spooled
        }),
      ).pipe(Effect.provide(at(directory)))
      assert.deepStrictEqual(yield* filesIn(directory), [`media/files/${stored.storageKey}`])
      const opened = yield* MediaFiles.use((files) => files.open(stored.storageKey)).pipe(
        Effect.provide(at(directory)),
      )
      assert.deepStrictEqual(yield* read(opened.content), png)
      assert.deepStrictEqual(
        [opened.size, opened.sha256, opened.mimeType],
        [stored.size, stored.sha256, stored.mimeType],
      )
    }),
  )

  it.effect("a content that cannot be stored is io, and goes with its scope", () =>
    inMediaFiles((files, directory) =>
      Effect.gen(function* () {
        yield* Effect.promise(() => rm(join(directory, "media", "files"), { recursive: true }))
        const keeping = Effect.flatMap(files.spool(inChunks(png, 10), 1000), ({ keep }) => keep)
        assert.strictEqual(yield* reason(Effect.scoped(keeping)), "io")
        assert.deepStrictEqual(yield* filesIn(directory), [])
      }),
    ),
  )
})

describe("part", () => {
  it.effect("returns the bytes from start up to, not including, end", () =>
    inMediaFiles((files) =>
      Effect.gen(function* () {
        const { storageKey } = yield* keep(files, Stream.make(bytes("0123456789")), 10)
        const { part } = yield* files.open(storageKey)
        const text = (start: number, end: number) =>
          Effect.map(read(part(start, end)), (content) => content.toString())
        assert.strictEqual(yield* text(0, 10), "0123456789")
        assert.strictEqual(yield* text(3, 5), "34")
        assert.strictEqual(yield* text(9, 10), "9")
        assert.strictEqual(yield* text(5, 5), "")
      }),
    ),
  )
})

describe("a new process", () => {
  it.effect("removes what a killed one left unfinished a day ago, and nothing younger", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const build = Effect.scoped(Layer.build(at(directory)))
      yield* build
      const temporary = join(directory, "media", "temporary")
      const { mtimeMs } = yield* Effect.promise(() => stat(temporary))
      yield* Effect.promise(async () => {
        await writeFile(join(temporary, "old"), "")
        await utimes(join(temporary, "old"), 0, mtimeMs / 1000 - 25 * 3600)
        await writeFile(join(temporary, "young"), "")
        await utimes(join(temporary, "young"), 0, mtimeMs / 1000 - 23 * 3600)
      })
      yield* build
      assert.deepStrictEqual(yield* filesIn(directory), ["media/temporary/young"])
    }),
  )

  it.effect("removes everything unfinished when it has the directory to itself", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const { storageKey } = yield* MediaFiles.use((files) =>
        keep(files, Stream.make(png), 1000),
      ).pipe(Effect.provide(at(directory)))
      yield* Effect.promise(() => writeFile(join(directory, "media", "temporary", "young"), ""))
      const alone = layerDiskMediaFiles({ directory: join(directory, "media"), alone: true })
      yield* Effect.scoped(Layer.build(Layer.provide(alone, Ids.layerRandom)))
      assert.deepStrictEqual(yield* filesIn(directory), [`media/files/${storageKey}`])
    }),
  )

  it.effect("continues to do so on request", () =>
    inMediaFiles((files, directory) =>
      Effect.gen(function* () {
        const old = join(directory, "media", "temporary", "old")
        yield* Effect.promise(async () => {
          await writeFile(old, "")
          await utimes(old, 0, (await stat(old)).mtimeMs / 1000 - 25 * 3600)
        })
        yield* files.removeAbandoned
        assert.deepStrictEqual(yield* filesIn(directory), [])
      }),
    ),
  )
})

describe("detects the MIME type from the first bytes", () => {
  const contents: ReadonlyArray<
    readonly [name: string, content: Uint8Array, mimeType: string, type: "image" | "file"]
  > = [
    ["PNG", png, "image/png", "image"],
    ["JPEG", bytes("\xff\xd8\xff\xe0\0\x10JFIF\0\x01"), "image/jpeg", "image"],
    ["GIF", bytes("GIF89a\x01\0\x01\0"), "image/gif", "image"],
    ["WebP", bytes("RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0"), "image/webp", "image"],
    ["PDF", bytes("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), "application/pdf", "file"],
    ["Opus voice", bytes(`OggS\0\x02${"\0".repeat(22)}OpusHead\x01`), "audio/ogg", "file"],
    ["TIFF", bytes("II*\0\x08\0\0\0\0\0\0\0\0\0"), "image/tiff", "file"],
    ["HTML", bytes("<!doctype html><script>alert(1)</script>"), "application/octet-stream", "file"],
    ["SVG", bytes(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "application/octet-stream", "file"],
    ["SVG behind an XML line", bytes(`<?xml version="1.0"?><svg/>`), "application/xml", "file"],
    ["plain text", bytes("This is about GIF and PNG."), "application/octet-stream", "file"],
    ["half a PNG header", png.subarray(0, 10), "application/octet-stream", "file"],
    ["a PNG header without a PNG", png.subarray(0, 20), "image/png", "image"],
    ["nothing", bytes(""), "application/octet-stream", "file"],
  ]
  for (const [name, content, mimeType, type] of contents) {
    it.effect(`${name} is ${mimeType}, sent as ${type}`, () =>
      inMediaFiles((files) =>
        Effect.gen(function* () {
          const { storageKey } = yield* keep(files, inChunks(content, 3), 1000)
          const opened = yield* files.open(storageKey)
          assert.strictEqual(opened.mimeType, mimeType)
          assert.strictEqual(toMediaType(opened.mimeType), type)
        }),
      ),
    )
  }
})
