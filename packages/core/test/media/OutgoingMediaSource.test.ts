import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Layer, Ref, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Egress, EgressError } from "../../src/egress/Egress.ts"
import type { EgressAnswer, FetchLimits } from "../../src/egress/Egress.ts"
import type { MediaId, WorkspaceId } from "../../src/id/Ids.ts"
import { sharedResources } from "../../src/limit/sharedResources.ts"
import { MediaFiles, MediaFilesError } from "../../src/media/MediaFiles.ts"
import type { StoredContent } from "../../src/media/MediaFiles.ts"
import { MediaStore } from "../../src/media/Media.ts"
import type { MediaFile, MediaReference } from "../../src/media/Media.ts"
import { OutgoingMediaSource } from "../../src/media/OutgoingMediaSource.ts"

const second = 1000

const owner = { workspaceId: 1 as WorkspaceId, mode: "live" } as const

const link = (given: Partial<MediaReference> = {}): MediaReference => ({
  mediaId: null,
  attachmentId: null,
  url: "https://example.com/files/photo.png?size=2",
  type: null,
  fileName: null,
  ...given,
})

const stored = (given: Partial<MediaReference> = {}): MediaReference =>
  link({ mediaId: 71 as MediaId, attachmentId: null, url: null, ...given })

const record: MediaFile = {
  id: 71 as MediaId,
  ...owner,
  fileName: "report.pdf",
  type: "file",
  mimeType: "application/pdf",
  size: 3,
  storageKey: "key-71",
  createdAt: 0,
}

const content = (given: Partial<StoredContent> = {}) => ({
  size: 3,
  sha256: "abc",
  mimeType: "image/png",
  content: Stream.empty,
  part: () => Stream.empty,
  storageKey: "spooled",
  keep: Effect.void,
  ...given,
})

const answer = (status: number, given: Partial<EgressAnswer> = {}): EgressAnswer => ({
  status,
  headers: {},
  url: "https://example.com/files/photo.png",
  body: Stream.make(new Uint8Array([1, 2, 3])),
  ...given,
})

type Reason = EgressError["reason"]

/** An answer, the reason why none came, or one that takes its time. */
type Reply = EgressAnswer | Reason | Effect.Effect<EgressAnswer, EgressError>

interface Setup {
  /** One for each call, the last one for all that follow. */
  readonly replies?: ReadonlyArray<Reply>
  readonly records?: ReadonlyArray<MediaFile>
  readonly open?: Effect.Effect<StoredContent, MediaFilesError>
  readonly mimeType?: string
  /** Whether the disk has no room. */
  readonly full?: boolean
}

const setup = ({ replies = [answer(200)], records = [record], ...given }: Setup) =>
  Effect.gen(function* () {
    const calls: Array<readonly [url: string, limits: FetchLimits]> = []
    const released = yield* Ref.make(0)
    const reply = (of: Reply): Effect.Effect<EgressAnswer, EgressError> => {
      if (typeof of === "string") return Effect.fail(new EgressError({ reason: of }))
      return Effect.isEffect(of) ? of : Effect.succeed(of)
    }
    const layer = OutgoingMediaSource.layer.pipe(
      Layer.provide([
        Layer.mock(Egress, {
          fetch: (url, limits) =>
            Effect.suspend(() => {
              calls.push([url, limits])
              const answered = reply(replies[Math.min(calls.length, replies.length) - 1] ?? "dns")
              return Effect.tap(answered, () =>
                Effect.addFinalizer(() => Ref.update(released, (n) => n + 1)),
              )
            }),
        }),
        Layer.mock(MediaFiles, {
          open: (storageKey) =>
            given.open ??
            (storageKey === "key-71"
              ? Effect.succeed(content({ mimeType: "application/pdf" }))
              : Effect.fail(new MediaFilesError({ reason: "not_found" }))),
          spool: (body, maximumBytes) =>
            Effect.gen(function* () {
              if (given.full === true) return yield* new MediaFilesError({ reason: "full" })
              const size = yield* Stream.runFold(
                body,
                () => 0,
                (sum, chunk) => sum + chunk.length,
              )
              if (size > maximumBytes) {
                return yield* new MediaFilesError({ reason: "too_large" })
              }
              return content({ size, mimeType: given.mimeType ?? "image/png" })
            }),
        }),
        Layer.mock(MediaStore, {
          get: (workspaceId, mode, id) =>
            Effect.succeed(
              records.find(
                (each) => each.id === id && each.workspaceId === workspaceId && each.mode === mode,
              ) ?? null,
            ),
        }),
      ]),
    )
    const { open } = yield* Effect.provide(OutgoingMediaSource, layer)
    return { open, calls, released: Ref.get(released) }
  })

/** Why the media cannot be had. */
const reason = (given: Setup, reference: MediaReference = link()) =>
  Effect.gen(function* () {
    const { calls, open } = yield* setup(given)
    const error = yield* Effect.flip(open(owner, reference))
    assert.strictEqual(error._tag, "MediaUnavailable")
    return { message: error.message, calls: calls.length }
  })

describe("a file of the media directory", () => {
  it.effect("is sent as it was stored", () =>
    Effect.gen(function* () {
      const { calls, open } = yield* setup({})
      const outgoing = yield* open(owner, stored())
      assert.deepStrictEqual(outgoing, {
        type: "file",
        fileName: "report.pdf",
        mimeType: "application/pdf",
        size: 3,
        sha256: "abc",
        content: outgoing.content,
      })
      assert.deepStrictEqual(calls, [])
    }),
  )

  it.effect("a link is fetched later when the disk has no room, for it is not to blame", () =>
    Effect.gen(function* () {
      const { open } = yield* setup({ full: true })
      const error = yield* Effect.flip(open(owner, link()))
      assert.strictEqual(error._tag, "LinksBusy")
    }),
  )

  it.effect("has the MIME type that was found for it, by its name too", () =>
    Effect.gen(function* () {
      const csv = { ...record, fileName: "list.csv", mimeType: "text/csv" }
      const { open } = yield* setup({
        records: [csv],
        open: Effect.succeed(content({ mimeType: "application/octet-stream" })),
      })
      assert.strictEqual((yield* open(owner, stored())).mimeType, "text/csv")
    }),
  )

  it.effect("takes name and type from the request where it gives them", () =>
    Effect.gen(function* () {
      const { open } = yield* setup({})
      const { fileName, type } = yield* open(owner, stored({ type: "file", fileName: "a.png" }))
      assert.deepStrictEqual([type, fileName], ["file", "a.png"])
    }),
  )

  it.effect("that was deleted, or is another workspace's or mode's, cannot be had", () =>
    Effect.gen(function* () {
      yield* reason({ records: [] }, stored())
      yield* reason({ records: [{ ...record, workspaceId: 2 as WorkspaceId }] }, stored())
      yield* reason({ records: [{ ...record, mode: "test" }] }, stored())
    }),
  )

  it.effect("whose content is gone cannot be had", () =>
    reason({ open: Effect.fail(new MediaFilesError({ reason: "not_found" })) }, stored()),
  )
})

describe("a link", () => {
  it.effect("is fetched when the message is sent: at most 100 MB, 30 s, 3 redirects", () =>
    Effect.gen(function* () {
      const { calls, open } = yield* setup({})
      const outgoing = yield* open(owner, link())
      assert.deepStrictEqual(calls, [
        [
          "https://example.com/files/photo.png?size=2",
          { maximumBytes: 100_000_000, timeoutMillis: 30 * second, redirects: 3 },
        ],
      ])
      assert.deepStrictEqual(outgoing, {
        type: "image",
        fileName: "photo.png",
        mimeType: "image/png",
        size: 3,
        sha256: "abc",
        content: outgoing.content,
      })
    }),
  )

  it.effect("tells its type by its content where nothing else told it", () =>
    Effect.gen(function* () {
      const typeOf = (mimeType: string, given: Partial<MediaReference> = {}) =>
        Effect.gen(function* () {
          const { open } = yield* setup({ mimeType })
          return (yield* open(owner, link({ url: "https://example.com/download", ...given }))).type
        })
      assert.strictEqual(yield* typeOf("image/jpeg"), "image")
      assert.strictEqual(yield* typeOf("application/pdf"), "file")
      assert.strictEqual(yield* typeOf("image/jpeg", { type: "file" }), "file")
    }),
  )

  it.effect("keeps its connection for as long as the attempt needs the content", () =>
    Effect.gen(function* () {
      const { open, released } = yield* setup({})
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* open(owner, link())
          assert.strictEqual(yield* released, 0)
        }),
      )
      assert.strictEqual(yield* released, 1)
    }),
  )

  it.effect("answering 4xx is tried once", () =>
    Effect.gen(function* () {
      for (const status of [400, 401, 403, 404, 410, 429]) {
        const { calls, message } = yield* reason({ replies: [answer(status)] })
        assert.strictEqual(calls, 1)
        assert.include(message, String(status))
      }
    }),
  )

  it.effect("answering with a redirect that is not followed any further is tried once", () =>
    Effect.map(reason({ replies: [answer(302)] }), ({ calls }) => assert.strictEqual(calls, 1)),
  )

  it.effect("answering 5xx is tried three times", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* reason({ replies: [answer(503)] })).calls, 3)
      const { calls, open } = yield* setup({ replies: [answer(500), answer(502), answer(200)] })
      yield* open(owner, link())
      assert.lengthOf(calls, 3)
    }),
  )

  it.effect("whose connection breaks is tried three times, in the middle of the body too", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* reason({ replies: ["connection"] })).calls, 3)
      const broken = answer(200, {
        body: Stream.concat(
          Stream.make(new Uint8Array(3)),
          Stream.fail(new EgressError({ reason: "connection" })),
        ),
      })
      assert.strictEqual((yield* reason({ replies: [broken] })).calls, 3)
      const { calls, open } = yield* setup({ replies: [broken, "connection", answer(200)] })
      yield* open(owner, link())
      assert.lengthOf(calls, 3)
    }),
  )

  const once: ReadonlyArray<Reason> = ["dns", "tls", "blocked_address", "redirects", "too_large"]
  it.effect.each(once)("that fails by %s is tried once", (failure) =>
    Effect.map(reason({ replies: [failure] }), ({ calls }) => assert.strictEqual(calls, 1)),
  )

  it.effect("with more than 100 MB cannot be had", () =>
    Effect.gen(function* () {
      const block = new Uint8Array(10_000_001)
      const { calls, message } = yield* reason({
        replies: [
          answer(200, { body: Stream.fromIterable(Array.from({ length: 10 }, () => block)) }),
        ],
      })
      assert.strictEqual(calls, 1)
      assert.include(message, "100 MB")
    }),
  )

  it.effect("has 30 s for all its tries together", () =>
    Effect.gen(function* () {
      const slow = Effect.andThen(Effect.sleep(14 * second), Effect.succeed(answer(500)))
      const { calls, open } = yield* setup({ replies: [slow] })
      const start = yield* Clock.currentTimeMillis
      const fiber = yield* Effect.forkChild(Effect.flip(Effect.scoped(open(owner, link()))))
      yield* TestClock.adjust(30 * second - 1)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "MediaUnavailable")
      assert.strictEqual(yield* Clock.currentTimeMillis, start + 30 * second)
      assert.lengthOf(calls, 3)
    }),
  )
})

describe("places for the files of links", () => {
  const { share, whole } = sharedResources.linkedFiles
  const hanging = { replies: [Effect.never] }
  const of = (workspaceId: number) => ({ ...owner, workspaceId: workspaceId as WorkspaceId })

  it.effect("one workspace fetches no more than its share, and is in no other one's way", () =>
    Effect.gen(function* () {
      const { calls, open } = yield* setup(hanging)
      for (let message = 0; message < share.most + 5; message++) {
        yield* Effect.forkChild(open(of(1), link()), { startImmediately: true })
      }
      yield* Effect.forkChild(open(of(2), link()), { startImmediately: true })
      yield* Effect.yieldNow
      assert.lengthOf(calls, share.most + 1)
    }),
  )

  it.effect("all together fetch no more than the whole", () =>
    Effect.gen(function* () {
      const { calls, open } = yield* setup(hanging)
      for (let message = 0; message < whole + 5; message++) {
        yield* Effect.forkChild(open(of(message), link()), { startImmediately: true })
      }
      yield* Effect.yieldNow
      assert.lengthOf(calls, whole)
    }),
  )

  it.effect("a file has its place until its message is sent", () =>
    Effect.gen(function* () {
      const { calls, open } = yield* setup({})
      const sent = yield* Scope.make()
      for (let message = 0; message < share.most; message++) {
        yield* Scope.provide(open(of(1), link()), sent)
      }
      const next = yield* Effect.forkChild(open(of(1), link()), { startImmediately: true })
      assert.lengthOf(calls, share.most)
      yield* Scope.close(sent, Exit.void)
      assert.strictEqual((yield* Fiber.join(next)).size, 3)
    }),
  )

  it.effect("a link without a place after 30 s is tried another time", () =>
    Effect.gen(function* () {
      const { calls, open } = yield* setup({})
      for (let message = 0; message < share.most; message++) yield* open(of(1), link())
      const fiber = yield* Effect.forkChild(Effect.flip(open(of(1), link())))
      yield* TestClock.adjust(30 * second - 1)
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "LinksBusy")
      assert.lengthOf(calls, share.most)
    }),
  )
})

describe("the name of a fetched file", () => {
  const named = (
    given: Setup & { readonly headers?: EgressAnswer["headers"]; readonly from?: string },
    reference: Partial<MediaReference> = {},
  ) =>
    Effect.gen(function* () {
      const { from: url = "https://example.com/d/7", headers = {} } = given
      const { open } = yield* setup({ ...given, replies: [answer(200, { url, headers })] })
      const { fileName, mimeType } = yield* open(owner, link({ url, ...reference }))
      return [fileName, mimeType]
    })

  it.effect("is what the send says, as it is", () =>
    Effect.gen(function* () {
      const headers = { "content-disposition": "attachment; filename=other.png" }
      assert.deepStrictEqual(yield* named({ headers }, { fileName: "Foto" }), ["Foto", "image/png"])
    }),
  )

  it.effect("is that of the answer, else of the last path, else of the link", () =>
    Effect.gen(function* () {
      const headers = { "content-disposition": `inline; filename*=UTF-8''B%C3%BCro.png` }
      const from = "https://cdn.example.com/files/one.png"
      const url = "https://example.com/link/two.png"
      assert.strictEqual((yield* named({ headers, from }))[0], "Büro.png")
      assert.strictEqual((yield* named({ from }, { url }))[0], "one.png")
      assert.strictEqual(
        (yield* named({ from: "https://cdn.example.com/" }, { url }))[0],
        "two.png",
      )
      assert.strictEqual((yield* named({ from: "https://example.com/" }))[0], "file.png")
    }),
  )

  it.effect("has an ending that fits its type, within its length", () =>
    Effect.gen(function* () {
      const nameFrom = (last: string, mimeType: string) =>
        named({ from: `https://example.com/${last}`, mimeType })
      assert.deepStrictEqual(yield* nameFrom("photo", "image/jpeg"), ["photo.jpg", "image/jpeg"])
      assert.deepStrictEqual(yield* nameFrom("photo.JPEG", "image/jpeg"), [
        "photo.JPEG",
        "image/jpeg",
      ])
      assert.deepStrictEqual(yield* nameFrom("show.php", "application/pdf"), [
        "show.php.pdf",
        "application/pdf",
      ])
      assert.deepStrictEqual(yield* nameFrom("list.csv", "application/octet-stream"), [
        "list.csv",
        "text/csv",
      ])
      assert.deepStrictEqual(yield* nameFrom("list", "application/octet-stream"), [
        "list",
        "application/octet-stream",
      ])
      const [long] = yield* nameFrom("a".repeat(255), "image/png")
      assert.strictEqual(long, `${"a".repeat(251)}.png`)
    }),
  )
})

describe("what cannot be sent", () => {
  it.effect("is an empty file", () =>
    Effect.gen(function* () {
      const empty = answer(200, { body: Stream.empty })
      const { calls, message } = yield* reason({ replies: [empty] })
      assert.deepStrictEqual([calls, message], [1, "The media file is empty."])
    }),
  )

  it.effect("is a file that is no image although the send or the link's ending says so", () =>
    Effect.gen(function* () {
      const image = { type: "image" } as const
      for (const mimeType of ["application/octet-stream", "application/pdf", "image/tiff"]) {
        const { calls, message } = yield* reason({ mimeType }, link(image))
        assert.strictEqual(calls, 1)
        assert.include(message, "no image")
      }
      // Called a picture, and text all the same.
      yield* reason(
        { mimeType: "application/octet-stream" },
        link({ ...image, url: "https://example.com/a.svg" }),
      )
      assert.include((yield* reason({}, stored(image))).message, "no image")
    }),
  )
})
