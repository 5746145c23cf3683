/** The texts that a live transport can look up. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { NumberId, TransportId } from "../../src/model/Ids.ts"
import type { Message } from "../../src/model/Message.ts"
import { SentTexts } from "../../src/service/Messages.ts"
import { storeWith } from "@messaging-service/testkit"

const number = 1 as NumberId
const withoutMedia = { text: "Hello", media: null, replyTo: null }
const replyTo = { messageId: 7 }
const quote = { remoteId: "A", isSent: true, author: null, text: "Hi", sentAt: 0 }
const stored = new Map<string, object>([
  ["TEXT", withoutMedia],
  ["MEDIA", { ...withoutMedia, media: { url: "https://example.com/a.png" }, replyTo }],
])

const layerMessages = storeWith({
  messages: {
    byTransportId: (numberId, id) =>
      Effect.succeed((numberId === number ? (stored.get(id) ?? null) : null) as Message | null),
  },
  chats: { quote: () => Effect.succeed(quote) },
})

describe("the text of a sent message", () => {
  it.effect("belongs to the number's own message, with its quote, and media have none", () =>
    Effect.gen(function* () {
      const { of } = yield* SentTexts
      assert.deepStrictEqual(yield* of(number, "TEXT" as TransportId), {
        text: "Hello",
        quote: null,
      })
      assert.isNull(yield* of(2 as NumberId, "TEXT" as TransportId))
      assert.deepStrictEqual(yield* of(number, "MEDIA" as TransportId), { text: null, quote })
      assert.isNull(yield* of(number, "UNKNOWN" as TransportId))
    }).pipe(Effect.provide(SentTexts.layer.pipe(Layer.provide(layerMessages)))),
  )
})
