import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Refusal } from "../../src/model/Refusal.ts"
import { endpointRequestParser } from "../../src/model/WebhookEndpoint.ts"

const parse = endpointRequestParser({ allowPrivate: false })

const refusal = (body: unknown, parser = parse, hasConversations = false): Refusal => {
  const result = parser(body, hasConversations)
  assert.isTrue(Result.isFailure(result), "should be refused")
  return (result as Result.Failure<never, Refusal>).failure
}

const accepted = (body: unknown, parser = parse, hasConversations = false) =>
  Result.getOrThrow(parser(body, hasConversations))

const url = "https://example.com/hook"

describe("POST /webhooks", () => {
  it.effect("needs only a URL: all four events, no description", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(accepted({ url }), {
        url,
        events: ["message.sent", "message.failed", "message.cancelled", "message.expired"],
        description: "",
      }),
    ),
  )

  it.effect("knows the events of conversations only where they are on", () =>
    Effect.sync(() => {
      const body = { url, events: ["number.paused", "message.read", "message.sent"] }
      assert.deepStrictEqual<ReadonlyArray<string>>(accepted(body, parse, true).events, body.events)
      const { code, field } = refusal(body)
      assert.deepStrictEqual([code, field], ["validation_failed", "events[0]"])
      assert.lengthOf(accepted({ url }, parse, true).events, 4)
    }),
  )

  it.effect("keeps URL, events and description unchanged; duplicates count once", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(
        accepted({
          url: "https://Example.com:8443/a b".replace(" ", "%20"),
          events: ["message.failed", "message.sent", "message.failed"],
          description: "🦉".repeat(100),
        }),
        {
          url: "https://Example.com:8443/a%20b",
          events: ["message.failed", "message.sent"],
          description: "🦉".repeat(100),
        },
      ),
    ),
  )

  it.effect.each([
    "",
    "http://example.com/hook",
    "ftp://example.com",
    "example.com/hook",
    "https://localhost/hook",
    "https://10.0.0.1/",
    "https://[::1]/",
    "https://0x7f.1/",
    "https://user:secret@example.com/",
    "https://168.63.129.16/",
    "https://example.com:25/",
    "https://",
  ])("refuses %s as invalid_webhook_url", (text) =>
    Effect.sync(() => {
      const { code, status, field } = refusal({ url: text })
      assert.deepStrictEqual([code, status, field], ["invalid_webhook_url", 422, "url"])
    }),
  )

  it.effect("names a port of another protocol; all other ports are allowed", () =>
    Effect.sync(() => {
      assert.match(refusal({ url: "https://example.com:0025/" }).message, /^Port 25 is not allowed/)
      const lenient = "https://example.com:8443/"
      assert.strictEqual(accepted({ url: lenient }).url, lenient)
    }),
  )

  it.effect("a URL that is missing, too long or not a string is validation_failed", () =>
    Effect.sync(() => {
      const long = `https://example.com/${"a".repeat(480)}`
      assert.strictEqual(accepted({ url: long }).url.length, 500)
      for (const body of [{}, { url: `${long}a` }, { url: 7 }, { url: null }]) {
        const { code, status, field, errors } = refusal(body)
        assert.deepStrictEqual([code, status, field], ["validation_failed", 400, "url"])
        assert.deepStrictEqual(errors, [])
      }
    }),
  )

  it.effect.each([
    ["an empty list", [], "events"],
    ["ping", ["message.sent", "ping"], "events[1]"],
    ["message.accepted", ["message.accepted"], "events[0]"],
    ["a non-string", [1], "events[0]"],
    ["null", null, "events"],
    ["a single text", "message.sent", "events"],
  ] as const)("refuses %s in events: validation_failed", ([, events, field]) =>
    Effect.sync(() => {
      const refused = refusal({ url, events })
      assert.deepStrictEqual([refused.code, refused.field], ["validation_failed", field])
    }),
  )

  it.effect("a description has at most 100 characters", () =>
    Effect.sync(() => {
      for (const description of ["a".repeat(101), null, 1]) {
        const refused = refusal({ url, description })
        assert.deepStrictEqual([refused.code, refused.field], ["validation_failed", "description"])
      }
    }),
  )

  it.effect("reports several problems in the order of the table, unknown fields last", () =>
    Effect.sync(() => {
      const refused = refusal({ secret: "x", description: 1, events: [], url: "http://a.b" })
      assert.strictEqual(refused.code, "invalid_webhook_url")
      assert.deepStrictEqual(
        refused.errors.map(({ field }) => field),
        ["events", "description", "secret"],
      )
    }),
  )

  it.effect("ALLOW_PRIVATE_TARGETS permits http and private addresses", () =>
    Effect.sync(() => {
      const lenient = endpointRequestParser({ allowPrivate: true })
      for (const text of ["http://127.0.0.1:8080/hook", "http://localhost/", "https://[::1]/"]) {
        assert.strictEqual(accepted({ url: text }, lenient).url, text)
      }
      assert.strictEqual(refusal({ url: "ftp://a.b" }, lenient).code, "invalid_webhook_url")
    }),
  )
})
