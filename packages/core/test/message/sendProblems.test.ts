/** Bodies of sends with several or unknown problems. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bare, single, body, refusals } from "./SendBodies.ts"

describe("POST /messages", () => {
  describe("several problems", () => {
    refusals([
      [
        "in the order of the field table, unknown fields last and by their path",
        {
          zone: 1,
          expiresAt: 5,
          sendAt: "soon",
          media: { mediaId: "1", kind: 2 },
          text: 5,
          from: "7",
          to: { phone: "bad", country: 1 },
          alias: 2,
        },
        [
          ["validation_failed", "from"],
          ["validation_failed", "text"],
          ["validation_failed", "media.mediaId"],
          ["invalid_datetime", "sendAt"],
          ["validation_failed", "expiresAt"],
          ["validation_failed", "zone"],
          ["validation_failed", "alias"],
          ["validation_failed", "to.country"],
          ["validation_failed", "media.kind"],
        ],
      ],
      [
        "with rules across fields at their own field",
        {
          to: { phone: "bad" },
          from: "7",
          sendAt: "2030-01-01T00:00:00Z",
          expiresAt: "2030-01-01T00:00:00Z",
        },
        [
          ["invalid_phone", "to.phone"],
          ["validation_failed", "from"],
          ["text_required", "text"],
          ["validation_failed", "expiresAt"],
        ],
      ],
      [
        "an empty body",
        {},
        [
          ["validation_failed", "to"],
          ["text_required", "text"],
        ],
      ],
    ])

    it.effect("each problem has a message, and the first one's code gives the status", () =>
      Effect.gen(function* () {
        const refusal = yield* Effect.flip(
          Effect.fromResult(single({ to: { phone: "bad" }, text: 5 })),
        )
        assert.strictEqual(refusal.status, 422)
        assert.isAbove(refusal.message.length, 0)
        assert.isAbove(refusal.errors[0]?.message.length ?? 0, 0)
        assert.isNull(refusal.retryAfter)
        assert.deepStrictEqual(refusal.details, {})
      }),
    )

    it.effect("messages repeat nothing of the request", () =>
      Effect.gen(function* () {
        const secret = "s3cr3t"
        const refusal = yield* Effect.flip(
          Effect.fromResult(
            single({
              to: { phone: secret },
              from: secret,
              text: { secret },
              media: secret,
              sendAt: secret,
              expiresAt: [secret],
            }),
          ),
        )
        const messages = [refusal.message, ...refusal.errors.map(({ message }) => message)]
        assert.lengthOf(messages, 6)
        for (const message of messages) assert.notInclude(message, secret)
      }),
    )
  })

  describe("rejects unknown fields", () => {
    const strange = (json: string) => bare(JSON.parse(json) as object)
    const start = '{"to":{"phone":"+15550000001"},"text":"Hello"'
    refusals([
      ["a field of version 1", body({ msg: "Hello" }), [["validation_failed", "msg"]]],
      [
        "__proto__",
        strange(`${start},"__proto__":{"from":7}}`),
        [["validation_failed", "__proto__"]],
      ],
      ["constructor", strange(`${start},"constructor":1}`), [["validation_failed", "constructor"]]],
      ["an empty name", strange(`${start},"":1}`), [["validation_failed", ""]]],
      ["one that is null", body({ webhook: null }), [["validation_failed", "webhook"]]],
    ])
  })
})
