/** Callbacks of version 1: form-encoded, signed as webhooks are, with the workspace's secret. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createHmac } from "node:crypto"
import { verifyCallback } from "../src/webhook.ts"
import type { CallbackReport, WebhookRequest } from "../src/webhook.ts"

const secret = "5e".repeat(32)
const now = new Date(Date.UTC(2026, 2, 2, 12))
const seconds = now.getTime() / 1000

const headersFor = (body: string | Uint8Array) => ({
  "service-event-id": "evt_1",
  "service-timestamp": String(seconds),
  "service-signature": `v1=${createHmac("sha256", secret).update(`${seconds}.`).update(body).digest("hex")}`,
})

const verify = (body: string, overrides: Partial<WebhookRequest> = {}) =>
  Effect.promise(() =>
    verifyCallback({ body, headers: headersFor(body), secret, now, ...overrides }),
  )

const reports: Readonly<Record<string, CallbackReport>> = {
  "msg_id=17&status=SENT": { kind: "message", msg_id: 17, status: "SENT", error: null },
  "msg_id=17&status=CANCELLED": { kind: "message", msg_id: 17, status: "CANCELLED", error: null },
  "msg_id=17&status=EXPIRED": { kind: "message", msg_id: 17, status: "EXPIRED", error: null },
  "msg_id=17&status=FAILED&error=Gr%C3%BC%C3%9Fe+%26+%25": {
    kind: "message",
    msg_id: 17,
    status: "FAILED",
    error: "Grüße & %",
  },
  "event=qr-generated&whatsapp_client=3&whatsapp_number=": {
    kind: "connection",
    event: "qr-generated",
    whatsapp_client: 3,
    whatsapp_number: null,
  },
  "event=connected&whatsapp_client=3&whatsapp_number=15550100001": {
    kind: "connection",
    event: "connected",
    whatsapp_client: 3,
    whatsapp_number: "15550100001",
  },
  "event=disconnected&whatsapp_client=3&whatsapp_number=15550100001": {
    kind: "connection",
    event: "disconnected",
    whatsapp_client: 3,
    whatsapp_number: "15550100001",
  },
}

describe("a callback", () => {
  for (const [body, report] of Object.entries(reports)) {
    it.effect(`${body} is read as it is meant`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* verify(body), { valid: true, id: "evt_1", report })
      }),
    )
  }

  it.effect("is refused for what a webhook is refused for", () =>
    Effect.gen(function* () {
      const body = "msg_id=17&status=SENT"
      const good = headersFor(body)
      for (const [input, reason] of [
        [{ headers: {} }, "malformed_headers"],
        [{ secret: "a".repeat(64) }, "wrong_signature"],
        [{ body: "msg_id=18&status=SENT" }, "wrong_signature"],
        [{ headers: { ...good, "service-timestamp": "1" } }, "timestamp_out_of_tolerance"],
      ] as const) {
        assert.deepStrictEqual(yield* verify(body, input), { valid: false, reason })
      }
    }),
  )

  it.effect("that is none of the service's forms is malformed, though signed", () =>
    Effect.gen(function* () {
      for (const body of [
        "",
        "{}",
        "msg_id=17",
        "status=SENT",
        "msg_id=17&status=sent",
        "msg_id=seventeen&status=SENT",
        "event=moved&whatsapp_client=3&whatsapp_number=",
        "event=connected&whatsapp_number=15550100001",
      ]) {
        assert.deepStrictEqual(yield* verify(body), { valid: false, reason: "malformed_body" })
      }
    }),
  )

  it.effect("has no id when its header was lost on the way", () =>
    Effect.gen(function* () {
      const body = "msg_id=17&status=SENT"
      const { "service-signature": signature, "service-timestamp": timestamp } = headersFor(body)
      const headers = { "service-signature": signature, "service-timestamp": timestamp }
      const verification = yield* verify(body, { headers })
      assert.isTrue(verification.valid && verification.id === null)
    }),
  )
})
