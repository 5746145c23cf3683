/** Files sent with a message, uploaded or behind a link: storing, showing, sharing, retention. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import {
  AttachmentBytes,
  EgressError,
  MediaDirectory,
  Messages,
  sharedLimits,
} from "../../src/index.ts"
import type { Attachment } from "../../src/index.ts"
import { plainTerms } from "../message/plainTerms.ts"
import {
  bytes,
  readContent,
  leftOver,
  linked,
  linksTo,
  sendWith,
  uploaded,
  aSweep,
} from "./Attaching.ts"
import { copies, get, refusal, status, the } from "./Operations.ts"
import { ahead, aSender, day, hour, inAService, pass, settled } from "./Service.ts"

describe("an attached file", () => {
  it.effect("is sent, may come without text, and is shown with a working link", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* Effect.scoped(
          Effect.flatMap(uploaded(key, "Brief.pdf", "content"), (file) => sendWith(key, file)),
        )
        assert.strictEqual(message.text, "")
        yield* settled
        assert.strictEqual(yield* status(key, message), "sent")
        const copy = the(yield* copies())
        assert.deepStrictEqual(
          [copy.media?.fileName, copy.media?.size, copy.text],
          ["Brief.pdf", 7, ""],
        )
        const { media } = yield* get(key, message)
        assert.deepStrictEqual(
          [media?.media_id, media?.type, media?.file_name],
          [null, "file", "Brief.pdf"],
        )
        const [token, segment] = (media?.url ?? "").split("/").slice(-2)
        const opened = yield* MediaDirectory.use((directory) =>
          directory.open(token ?? "", segment ?? ""),
        )
        assert.strictEqual(opened.content.size, 7)
      }),
    ),
  )

  it.effect("is not listed in the media directory and takes no storage quota", () =>
    inAService(
      Effect.gen(function* () {
        // This sender's plan has no storage.
        const { key } = yield* aSender()
        const directory = yield* MediaDirectory
        const id = yield* Effect.scoped(
          Effect.gen(function* () {
            const file = yield* uploaded(key, "a.pdf", "content")
            yield* sendWith(key, file)
            return file.id
          }),
        )
        assert.deepStrictEqual((yield* directory.list(key, {})).items, [])
        assert.strictEqual((yield* refusal(directory.get(key, id))).code, "media_not_found")
        assert.strictEqual((yield* refusal(directory.delete(key, id))).code, "media_not_found")
        const named = Messages.use((messages) =>
          messages.send(key, { to: { phone: "+15550000001" }, media: { mediaId: id } }, null),
        )
        assert.strictEqual((yield* refusal(named)).code, "media_not_found")
        assert.strictEqual(yield* readContent(id), "content")
      }),
    ),
  )

  it.effect("is stored once for all messages of a batch, until the last one ended", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const { id, messages } = yield* Effect.scoped(
          Effect.gen(function* () {
            const attachment = yield* uploaded(key, "a.pdf", "content")
            const service = yield* Messages
            const to = ["+15550000001", "+15550000002", "+15550000003"].map((phone) => ({ phone }))
            const body = { to, sendAt: yield* ahead(3 * day) }
            const sent = yield* service.sendBatch(key, body, null, { ...plainTerms, attachment })
            return { id: attachment.id, messages: sent.messages }
          }),
        )
        assert.lengthOf(messages, 3)
        yield* pass(3 * day)
        assert.deepStrictEqual(
          (yield* copies()).map(({ media }) => media?.size),
          [7, 7, 7],
        )
        yield* pass(26 * hour - 1)
        assert.strictEqual(yield* readContent(id), "content")
        yield* pass(aSweep)
        assert.isNull(yield* readContent(id))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
    ),
  )

  it.effect("is kept until 26 h after the final state of its message", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const { file } = yield* Effect.scoped(
          Effect.gen(function* () {
            const sent = yield* uploaded(key, "a.pdf", "content")
            return { file: sent, message: yield* sendWith(key, sent) }
          }),
        )
        yield* pass(26 * hour - 1)
        assert.strictEqual(yield* readContent(file.id), "content")
        yield* pass(aSweep)
        assert.isNull(yield* readContent(file.id))
      }),
    ),
  )
})

describe("a link downloaded during the call", () => {
  const url = "https://example.com/files/report.pdf"
  const found = { [url]: Stream.make(bytes("con"), bytes("tent")) }
  const nameless = "https://example.com/download?id=7"

  it.effect("becomes a file named by the request, else by the link's end", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const names: ReadonlyArray<readonly [string, string | null, string]> = [
          [url, null, "report.pdf"],
          [url, "Brief № 7.pdf", "Brief № 7.pdf"],
          [nameless, null, "download"],
          ["http://example.com/", null, "file"],
        ]
        for (const [link, text, expected] of names) {
          const file: Attachment = yield* linked(key, link, text)
          assert.deepStrictEqual([file.fileName, file.size], [expected, 7])
          assert.strictEqual(yield* readContent(file.id), "content")
        }
      }).pipe(Effect.scoped),
      {
        egress: linksTo({
          ...found,
          [nameless]: Stream.make(bytes("content")),
          "http://example.com/": Stream.make(bytes("content")),
        }),
      },
    ),
  )

  const megabyte = new Uint8Array(1024 * 1024)
  const broken: ReadonlyArray<readonly [string, string]> = [
    ["that is not a link", "nonsense"],
    ["that is not http", "ftp://example.com/a.pdf"],
    ["to a private address in its text", "http://127.0.0.1/a.pdf"],
    ["to a host whose addresses are private", "https://private.example.com/a.pdf"],
    ["with 2,049 characters", `https://example.com/${"a".repeat(2029)}`],
    ["that answers 404", "https://example.com/404"],
    ["that answers 500", "https://example.com/500"],
    ["whose name does not resolve", "https://example.com/unknown"],
    ["that breaks off", "https://example.com/broken"],
    ["that leads to more than 100 MiB", "https://example.com/huge"],
  ]
  it.effect.each(broken)("%s is invalid_media_url and leaves nothing", ([, link]) =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const refused = yield* refusal(Effect.scoped(linked(key, link)))
        assert.deepStrictEqual([refused.code, refused.field], ["invalid_media_url", "media.url"])
        assert.isNull(yield* readContent(1))
        assert.deepStrictEqual(yield* leftOver, [])
      }),
      {
        egress: linksTo({
          "https://example.com/404": 404,
          "https://example.com/500": 500,
          "https://example.com/broken": Stream.concat(
            Stream.make(megabyte),
            Stream.fail(new EgressError({ reason: "connection" })),
          ),
          "https://example.com/huge": Stream.fromIterable(
            Array.from({ length: 101 }, () => megabyte),
          ),
        }),
      },
    ),
  )

  it.effect("has 30 s, and allows 100 MB", () => {
    const size = 100_000_001
    const whole = Array.from({ length: 95 }, () => megabyte)
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const waiting = yield* Effect.forkChild(
          Effect.result(Effect.scoped(linked(key, "https://example.com/slow"))),
        )
        yield* pass(30_000 - 1)
        assert.isUndefined(waiting.pollUnsafe())
        yield* pass(1)
        assert.strictEqual((yield* Fiber.join(waiting))._tag, "Failure")
        const file = yield* linked(key, "https://example.com/large")
        assert.strictEqual(file.size, size)
      }).pipe(Effect.scoped),
      {
        egress: linksTo({
          "https://example.com/slow": Stream.never,
          "https://example.com/large": Stream.fromIterable([
            ...whole,
            new Uint8Array(size - 95 * megabyte.length),
          ]),
        }),
      },
    )
  })
})

describe("the attachments of one workspace", () => {
  it.effect("may take 1 GiB together by default", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* AttachmentBytes, 1024 ** 3)
    }),
  )
})

describe("downloads during a call", () => {
  const quick = "https://example.com/quick"

  it.effect("above its workspace's share wait 5 s, then are refused with Retry-After", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const other = (yield* aSender()).key
        const { most } = sharedLimits.linkedFiles.share
        for (let call = 0; call < most; call++) {
          yield* Effect.forkChild(Effect.scoped(linked(key, "https://example.com/slow")))
        }
        yield* settled
        const above = yield* Effect.forkChild(refusal(Effect.scoped(linked(key, quick))))
        yield* pass(5000 - 1)
        assert.isUndefined(above.pollUnsafe())
        yield* pass(1)
        const { code, retryAfter } = yield* Fiber.join(above)
        assert.deepStrictEqual([code, retryAfter], ["service_unavailable", 5])
        assert.strictEqual((yield* Effect.scoped(linked(other, quick))).size, 5)
      }),
      {
        egress: linksTo({
          "https://example.com/slow": Stream.never,
          [quick]: Stream.make(bytes("quick")),
        }),
      },
    ),
  )
})
