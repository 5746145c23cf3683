import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { verifyCallback, verifyWebhook } from "../src/webhook.ts"
import type { Verification, WebhookRequest } from "../src/webhook.ts"

const secret = "5e".repeat(32)
const now = new Date(Date.UTC(2026, 2, 2, 12))
const seconds = now.getTime() / 1000
const body =
  '{"id":"evt_1","type":"ping","created_at":"2026-03-02T12:00:00Z","data":{"webhook_id":7}}'

const signed = (text: string, timestamp: number | string = seconds, key = secret): string =>
  `v1=${createHmac("sha256", key).update(`${timestamp}.${text}`).digest("hex")}`

const headersFor = (text: string, timestamp: number | string = seconds) => ({
  "service-timestamp": String(timestamp),
  "service-signature": signed(text, timestamp),
})

const verify = (overrides: Partial<WebhookRequest> = {}) =>
  Effect.promise(() =>
    verifyWebhook({ body, headers: headersFor(body), secret, now, ...overrides }),
  )

const trusted: Verification = {
  valid: true,
  event: {
    id: "evt_1",
    type: "ping",
    created_at: "2026-03-02T12:00:00Z",
    data: { webhook_id: 7 },
  },
}

const reason = (verification: Verification) => (verification.valid ? null : verification.reason)

interface Vector {
  readonly what: string
  readonly secret: string
  readonly timestamp: string
  readonly signature: string
  readonly body: string
  /** Unix seconds. */
  readonly now: number
  readonly valid: boolean
}

const documented = new URL("../../../docs/webhook-vectors.json", import.meta.url)
const vectors: ReadonlyArray<Vector> = JSON.parse(readFileSync(documented, "utf8"))

it.effect.each(vectors)('the documentation\'s test vector "$what" is judged as it says', (vector) =>
  Effect.gen(function* () {
    const { signature, timestamp } = vector
    const headers = { "service-timestamp": timestamp, "service-signature": signature }
    const request = { ...vector, headers }
    const { valid } = yield* Effect.promise(async () =>
      vector.body.startsWith("{") ? await verifyWebhook(request) : await verifyCallback(request),
    )
    assert.strictEqual(valid, vector.valid)
  }),
)

describe("a webhook", () => {
  it.effect("that is signed with the secret is valid, and gives its event", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* verify(), trusted)
    }),
  )

  it.effect("may come as text, as bytes or as a part of a larger buffer", () =>
    Effect.gen(function* () {
      const bytes = new TextEncoder().encode(body)
      const around = Buffer.from(`xx${body}xx`)
      for (const input of [
        bytes,
        bytes.buffer,
        Buffer.from(body),
        around.subarray(2, 2 + bytes.length),
      ]) {
        assert.deepStrictEqual(yield* verify({ body: input }), trusted)
      }
    }),
  )

  it.effect("is read by its bytes, whatever they are", () =>
    Effect.gen(function* () {
      const text = ' {"id":"evt_1", "data":{"message":{"text":"Grüße 🦉\\n"}}}\n'
      assert.isTrue((yield* verify({ body: text, headers: headersFor(text) })).valid)
      // The same JSON in other bytes has no valid signature.
      const other = JSON.stringify(JSON.parse(text))
      assert.strictEqual(
        reason(yield* verify({ body: other, headers: headersFor(text) })),
        "wrong_signature",
      )
    }),
  )

  it.effect("may have its headers in any form and case", () =>
    Effect.gen(function* () {
      const plain = headersFor(body)
      for (const headers of [
        new Headers(plain),
        new Map([
          ["Service-Timestamp", plain["service-timestamp"]],
          ["Service-Signature", plain["service-signature"]],
        ]) as unknown as Headers,
        {
          "Service-Timestamp": plain["service-timestamp"],
          "SERVICE-SIGNATURE": plain["service-signature"],
          accept: ["a", "b"],
          missing: undefined,
        },
      ]) {
        assert.deepStrictEqual(yield* verify({ headers }), trusted)
      }
    }),
  )

  it.effect("of another secret, another body or another time has a wrong signature", () =>
    Effect.gen(function* () {
      for (const input of [
        { secret: "a".repeat(64) },
        { body: `${body} ` },
        { headers: { ...headersFor(body), "service-timestamp": String(seconds - 1) } },
        {
          headers: {
            "service-timestamp": String(seconds),
            "service-signature": `v1=${"0".repeat(64)}`,
          },
        },
      ]) {
        assert.strictEqual(reason(yield* verify(input)), "wrong_signature")
      }
    }),
  )

  it.effect("is refused when its timestamp is more than 5 minutes away, to either side", () =>
    Effect.gen(function* () {
      for (const [offset, expected] of [
        [300, null],
        [-300, null],
        [301, "timestamp_out_of_tolerance"],
        [-301, "timestamp_out_of_tolerance"],
      ] as const) {
        const headers = headersFor(body, seconds + offset)
        assert.strictEqual(reason(yield* verify({ headers })), expected)
      }
      const headers = headersFor(body, seconds - 20)
      assert.strictEqual(
        reason(yield* verify({ headers, toleranceSeconds: 10 })),
        "timestamp_out_of_tolerance",
      )
      assert.isNull(reason(yield* verify({ headers, toleranceSeconds: 20 })))
    }),
  )

  it.effect("takes the clock's time when none is given", () =>
    Effect.gen(function* () {
      const present = Math.floor(Date.now() / 1000)
      const headers = headersFor(body, present)
      const verification = yield* Effect.promise(() => verifyWebhook({ body, headers, secret }))
      assert.isTrue(verification.valid)
    }),
  )

  it.effect("is refused when a header is missing or is not of the service's form", () =>
    Effect.gen(function* () {
      const good = headersFor(body)
      const { "service-signature": signature } = good
      for (const headers of [
        {},
        { "service-timestamp": good["service-timestamp"] },
        { "service-signature": signature },
        { ...good, "service-signature": signature.slice(3) },
        { ...good, "service-signature": `v2=${signature.slice(3)}` },
        { ...good, "service-signature": signature.toUpperCase() },
        { ...good, "service-signature": `${signature}00` },
        { ...good, "service-signature": [signature, signature] },
        { ...good, "service-timestamp": "" },
        { ...good, "service-timestamp": "1e9" },
        { ...good, "service-timestamp": `${seconds}.5` },
        { ...good, "service-timestamp": `-${seconds}` },
      ]) {
        assert.strictEqual(reason(yield* verify({ headers })), "malformed_headers")
      }
    }),
  )

  it.effect("whose body is no JSON object is malformed, though signed", () =>
    Effect.gen(function* () {
      for (const text of ["", "{", "7", "null"]) {
        const verification = yield* verify({ body: text, headers: headersFor(text) })
        assert.strictEqual(reason(verification), "malformed_body")
      }
      const bytes = new Uint8Array([0x22, 0xff, 0x22])
      const mac = createHmac("sha256", secret).update(`${seconds}.`).update(bytes).digest("hex")
      const headers = { "service-timestamp": String(seconds), "service-signature": `v1=${mac}` }
      assert.strictEqual(reason(yield* verify({ body: bytes, headers })), "malformed_body")
    }),
  )
})
