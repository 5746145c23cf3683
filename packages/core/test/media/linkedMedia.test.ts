/** Media behind links: how often, how long and how many at once they are fetched. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { EgressError } from "../../src/model/Egress.ts"
import type { WorkspaceId } from "../../src/model/Ids.ts"
import { sharedLimits } from "../../src/model/Bulkhead.ts"
import type { MediaReference } from "../../src/model/Media.ts"
import { second, owner, link, answer, setup, reason } from "./OutgoingMedia.ts"
import type { Reason, Setup } from "./OutgoingMedia.ts"

describe("a link", () => {
  it.effect("is fetched at send time: at most 100 MB, 30 s, 3 redirects", () =>
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

  it.effect("takes its type from its content where nothing else gives it", () =>
    Effect.gen(function* () {
      const typeOf = (mimeType: string, overrides: Partial<MediaReference> = {}) =>
        Effect.gen(function* () {
          const { open } = yield* setup({ mimeType })
          return (yield* open(owner, link({ url: "https://example.com/download", ...overrides })))
            .type
        })
      assert.strictEqual(yield* typeOf("image/jpeg"), "image")
      assert.strictEqual(yield* typeOf("application/pdf"), "file")
      assert.strictEqual(yield* typeOf("image/jpeg", { type: "file" }), "file")
    }),
  )

  it.effect("keeps its connection while the attempt needs the content", () =>
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

  it.effect("is tried once when it answers 4xx", () =>
    Effect.gen(function* () {
      for (const status of [400, 401, 403, 404, 410, 429]) {
        const { calls, message } = yield* reason({ replies: [answer(status)] })
        assert.strictEqual(calls, 1)
        assert.include(message, String(status))
      }
    }),
  )

  it.effect("is tried once when a redirect is not followed", () =>
    Effect.map(reason({ replies: [answer(302)] }), ({ calls }) => assert.strictEqual(calls, 1)),
  )

  it.effect("is unavailable as a part that was not asked for, or in an unknown coding", () =>
    Effect.gen(function* () {
      const part = yield* reason({ replies: [answer(206)] })
      assert.deepStrictEqual(part, {
        calls: 1,
        message: "The media link answered with only a part of its file.",
      })
      const coded = yield* reason({ replies: ["coding"] })
      assert.deepStrictEqual(coded, {
        calls: 1,
        message: "The media link answered in a content coding that cannot be undone.",
      })
    }),
  )

  const unknown = "application/octet-stream"
  const page = "<!DOCTYPE html><title>Log in</title>"
  const html = answer(200, { headers: { "content-type": "text/html; charset=utf-8" } })
  it.effect("is unavailable where a web page answers in place of the promised file", () =>
    Effect.gen(function* () {
      const refused: ReadonlyArray<readonly [Partial<MediaReference>, Setup]> = [
        [{ url: "https://example.com/report.pdf" }, { replies: [html] }],
        [{ url: "https://example.com/report.pdf?a=b.html" }, { beginning: page }],
        [{ url: "https://example.com/list.CSV" }, { beginning: "\uFEFF\n <html lang=en>" }],
        [{ url: "https://example.com/a.zip" }, { beginning: "<!-- a\n<b> -->\n<HEAD>" }],
        [
          { url: "https://example.com/a.docx" },
          { beginning: `<?xml version="1.0"?>\n${page}`, mimeType: "application/xml" },
        ],
        [{ url: "https://example.com/", type: "image" }, { replies: [html] }],
        [{ url: "https://example.com/a.png" }, { replies: [html], mimeType: "image/png" }],
        [{ url: "https://example.com/", type: "image" }, { beginning: page }],
        [{ url: "https://example.com/", fileName: "report.pdf" }, { beginning: page }],
        [{ url: "https://example.com/a.php", fileName: "report.xlsx" }, { replies: [html] }],
      ]
      for (const [reference, input] of refused) {
        const why = yield* reason({ mimeType: unknown, ...input }, link(reference))
        assert.deepStrictEqual(why, {
          calls: 1,
          message: "The media link answered with a web page instead of the file.",
        })
      }
    }),
  )

  it.effect("may be a web page where nothing promises another file", () =>
    Effect.gen(function* () {
      const sent: ReadonlyArray<readonly [Partial<MediaReference>, Setup]> = [
        [{ url: "https://example.com/page.html" }, { replies: [html], beginning: page }],
        [{ url: "https://example.com/page.htm", type: "file" }, { beginning: page }],
        [{ url: "https://example.com/" }, { replies: [html], beginning: page }],
        [{ url: "https://example.com/index.php" }, { replies: [html], beginning: page }],
        [{ url: "https://example.com/a", fileName: "Offer" }, { replies: [html] }],
        [{ url: "https://example.com/a.svg" }, { beginning: "<svg>", mimeType: "application/xml" }],
        [{ url: "https://example.com/a.md" }, { beginning: "<p align=center>" }],
        [{ url: "https://example.com/a.txt" }, { beginning: "About <html>" }],
      ]
      for (const [reference, input] of sent) {
        const { open } = yield* setup({ mimeType: unknown, ...input })
        assert.strictEqual((yield* open(owner, link(reference))).size, 3)
      }
    }),
  )

  it.effect("is tried three times when it answers 5xx", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* reason({ replies: [answer(503)] })).calls, 3)
      const { calls, open } = yield* setup({ replies: [answer(500), answer(502), answer(200)] })
      yield* open(owner, link())
      assert.lengthOf(calls, 3)
    }),
  )

  it.effect("is tried three times when its connection breaks, also inside the body", () =>
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
  it.effect.each(once)("is tried once when it fails by %s", (failure) =>
    Effect.map(reason({ replies: [failure] }), ({ calls }) => assert.strictEqual(calls, 1)),
  )

  it.effect("is unavailable above 100 MB", () =>
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

  it.effect("has 30 s for all tries together", () =>
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

describe("the bulkhead for files of links", () => {
  const { share, whole } = sharedLimits.linkedFiles
  const hanging = { replies: [Effect.never] }
  const of = (workspaceId: number) => ({ ...owner, workspaceId: workspaceId as WorkspaceId })

  it.effect("limits a workspace to its share and leaves the rest to others", () =>
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

  it.effect("bounds all workspaces together", () =>
    Effect.gen(function* () {
      const { calls, open } = yield* setup(hanging)
      for (let message = 0; message < whole + 5; message++) {
        yield* Effect.forkChild(open(of(message), link()), { startImmediately: true })
      }
      yield* Effect.yieldNow
      assert.lengthOf(calls, whole)
    }),
  )

  it.effect("keeps a file's permit until its message is sent", () =>
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

  it.effect("postpones a link that gets no permit within 30 s", () =>
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
