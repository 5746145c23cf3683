import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import type { Caller, MediaType, MessageJson } from "../../src/index.ts"
import { linksTo } from "./Attaching.ts"
import { allEvents, answer, behave, get, send, the } from "./Operations.ts"
import { aKey, aSender, aWorkspace, aNumber, inAService, settled } from "./Service.ts"

const gif = new TextEncoder().encode("GIF89a\u0001")
const text = new TextEncoder().encode("Hello")

const picture = "https://example.com/picture"
const note = "https://example.com/note"

const egress = linksTo({ [picture]: Stream.make(gif), [note]: Stream.make(text) })

/** The type as an answer shows it now. */
const shownType = (key: Caller, message: MessageJson) =>
  Effect.map(get(key, message), ({ media }) => media?.type)

/** The types that the message's events show. */
const announced = ({ id }: MessageJson) =>
  Effect.map(allEvents, (events) =>
    events.flatMap(({ body, messageId }): ReadonlyArray<MediaType | null> =>
      messageId === id && body !== null ? [JSON.parse(body).data.message.media.type] : [],
    ),
  )

describe("a media type that neither request nor link gives", () => {
  it.effect("is detected when the message is sent, and shown from then on", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        for (const [url, type] of [
          [picture, "image"],
          [note, "file"],
        ] as const) {
          const input = { media: { url } }
          const first = yield* answer(key, input, url)
          const message = the(first.messages)
          assert.isNull(message.media?.type)
          yield* settled
          assert.strictEqual(yield* shownType(key, message), type)
          assert.deepStrictEqual(yield* announced(message), [type])
          // The first answer, whatever is known since.
          const again = yield* answer(key, input, url)
          assert.deepStrictEqual(again, { messages: first.messages, replayed: true })
        }
      }),
      { egress },
    ),
  )

  it.effect("is detected by an attempt that the remote server refuses, too", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "fail" })
        const message = yield* send(key, { media: { url: picture } })
        yield* settled
        const { media, status } = yield* get(key, message)
        assert.deepStrictEqual([status, media?.type], ["failed", "image"])
        assert.deepStrictEqual(yield* announced(message), ["image"])
      }),
      { egress },
    ),
  )

  it.effect("stays unknown where the media are unavailable, and in test mode", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const missing = yield* send(key, { media: { url: "https://example.com/nothing" } })
        const workspace = yield* aWorkspace()
        yield* aNumber(workspace)
        const test = yield* aKey(workspace, { mode: "test" })
        const tested = yield* send(test, { media: { url: picture } })
        yield* settled
        assert.isNull(yield* shownType(key, missing))
        assert.isNull(yield* shownType(test, tested))
      }),
      { egress },
    ),
  )

  it.effect("comes from the request if given there", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const message = yield* send(key, { media: { url: picture, type: "file" } })
        yield* settled
        assert.strictEqual(yield* shownType(key, message), "file")
      }),
      { egress },
    ),
  )
})
