/** Acceptance of sends: times, references, the order of checks, and what is written. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { KeyId } from "../../src/model/Ids.ts"
import type { AcceptContext } from "../../src/model/accept.ts"
import { dailyQuota } from "../../src/model/Message.ts"
import { unlimitedPlan } from "../../src/model/Workspace.ts"
import {
  now,
  second,
  day,
  workspaceId,
  aNumber,
  withPhone,
  anImage,
  aSender,
  emptyQuota,
  aRequest,
  decide,
  verdict,
  getRefusal,
  iso,
  to,
} from "./Accepting.ts"
import type { Platform } from "../../src/model/SendingNumber.ts"
import type { Circumstances, Verdict } from "./Accepting.ts"

describe("time_in_past", () => {
  const past = (overrides: Readonly<Record<string, unknown>>) =>
    verdict(decide(aRequest({ to: to.phone, ...overrides })))

  it.effect("sendAt and expiresAt must lie in the future, at full precision", () =>
    Effect.sync(() => {
      for (const field of ["sendAt", "expiresAt"]) {
        assert.deepStrictEqual(past({ [field]: iso(now - 1) }), ["time_in_past", field])
        assert.deepStrictEqual(past({ [field]: iso(now) }), ["time_in_past", field])
        assert.deepStrictEqual(past({ [field]: "2001-01-01T00:00:00Z" }), ["time_in_past", field])
        assert.strictEqual(past({ [field]: iso(now, "0001") }), "accepted")
        assert.strictEqual(past({ [field]: iso(now + 1) }), "accepted")
      }
    }),
  )

  it.effect("parses offsets correctly, not as clock times", () =>
    Effect.sync(() => {
      assert.strictEqual(past({ sendAt: "2026-03-02T12:00:01+00:00" }), "accepted")
      assert.strictEqual(past({ sendAt: "2026-03-02T07:00:01-05:00" }), "accepted")
      assert.deepStrictEqual(past({ sendAt: "2026-03-02T12:00:01+00:01" }), [
        "time_in_past",
        "sendAt",
      ])
    }),
  )

  it.effect("names the first of two past times in the table's order", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(
        past({ sendAt: iso(now - 2 * second), expiresAt: iso(now - second) }),
        ["time_in_past", "sendAt"],
      ),
    ),
  )
})

describe("references", () => {
  it.effect("contact_not_found names the first unknown contact", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(verdict(decide(aRequest({ to: { contactId: 99 } }))), [
        "contact_not_found",
        "to.contactId",
      ])
      const batch = aRequest({
        to: [to.phone, to.contactWithPhone, { contactId: 98 }, { contactId: 99 }],
      })
      assert.deepStrictEqual(verdict(decide(batch)), ["contact_not_found", "to[2].contactId"])
    }),
  )

  it.effect("media_not_found is 422 on a send", () =>
    Effect.sync(() => {
      const refusal = getRefusal(decide(aRequest({ to: to.phone, media: { mediaId: 99 } })))
      assert.deepStrictEqual(
        [refusal.code, refusal.status, refusal.field],
        ["media_not_found", 422, "media.mediaId"],
      )
    }),
  )

  it.effect("a caption that Telegram does not take is refused, counted in UTF-16 code units", () =>
    Effect.sync(() => {
      const media = { url: "https://example.com/a.png" }
      const judge = (text: string, fields: object = { media }, platform: Platform = "telegram") =>
        verdict(
          decide(aRequest({ to: to.phone, from: 1, text, ...fields }), {
            numbers: [aNumber(1, platform)],
          }),
        )
      assert.strictEqual(judge("a".repeat(1024)), "accepted")
      assert.deepStrictEqual(judge("a".repeat(1025)), ["message_rejected", "text"])
      assert.deepStrictEqual(judge("🌻".repeat(513)), ["message_rejected", "text"])
      assert.strictEqual(judge("a".repeat(1025), {}), "accepted")
      assert.strictEqual(judge("a".repeat(1025), { media }, "whatsapp"), "accepted")
    }),
  )

  it.effect("a link whose host resolves to a private address is invalid_media_url", () =>
    Effect.sync(() => {
      const request = aRequest({ to: to.phone, media: { url: "https://example.com/a.png" } })
      assert.deepStrictEqual(verdict(decide(request, {}, { linkAllowed: false })), [
        "invalid_media_url",
        "media.url",
      ])
      assert.strictEqual(verdict(decide(request)), "accepted")
    }),
  )
})

it.effect(
  "checks run in the contract's order: times, number, contact, media, allowance, quota",
  () =>
    Effect.sync(() => {
      let input: Readonly<Record<string, unknown>> = {
        to: { contactId: 99 },
        from: 9,
        media: { mediaId: 99 },
        sendAt: iso(now - 2),
        expiresAt: iso(now - 1),
      }
      let circumstances: Circumstances = {
        plan: null,
        quota: { bound: 1000, fullUntil: null, exact: { planned: 1000, roomAt: now + 1 } },
      }
      const verdicts: Array<Verdict> = []
      const then = (fix: Readonly<Record<string, unknown>>, change: Circumstances = {}) => {
        input = { ...input, ...fix }
        circumstances = { ...circumstances, ...change }
        verdicts.push(verdict(decide(aRequest(input), circumstances)))
      }
      then({})
      then({ sendAt: null })
      then({ expiresAt: null })
      then({ from: 1 })
      then({ to: to.phone })
      then({ media: null })
      then({}, { plan: unlimitedPlan })
      then({}, { quota: emptyQuota })
      assert.deepStrictEqual(verdicts, [
        ["time_in_past", "sendAt"],
        ["time_in_past", "expiresAt"],
        ["number_not_found", "from"],
        ["contact_not_found", "to.contactId"],
        ["media_not_found", "media.mediaId"],
        ["no_credits", null],
        ["number_daily_cap_reached", null],
        "accepted",
      ])
    }),
)

describe("an acceptance", () => {
  const accepted = (
    overrides: Readonly<Record<string, unknown>>,
    circumstances: Circumstances = {},
    context: Partial<AcceptContext> = {},
  ) => Result.getOrThrow(decide(aRequest(overrides), circumstances, context))

  it.effect("holds the whole message and its costs", () =>
    Effect.sync(() => {
      const claim = {
        keyId: 5 as KeyId,
        key: "key",
        fingerprint: "fingerprint",
        token: "token",
      }
      const acceptance = accepted(
        { to: to.phone, sendAt: iso(now + day), expiresAt: iso(now + 2 * day, "5") },
        {},
        { idempotency: claim },
      )
      assert.deepStrictEqual<unknown>(acceptance, {
        now,
        workspaceId,
        numberId: 1,
        mode: "live",
        allowance: 1,
        quota: { plannedAt: now + day, count: 1, limit: dailyQuota },
        idempotency: claim,
        messages: [
          {
            workspaceId,
            mode: "live",
            from: { id: 1, phone: "15550001", platform: "whatsapp" },
            phoneAtAcceptance: "15550001",
            to: { kind: "phone", phone: "+15550000001", contactId: null },
            text: "Hello",
            media: null,
            foundMediaType: null,
            sendAt: now + day,
            expiresAt: now + 2 * day,
            createdAt: now,
            dueAt: now + day,
            transportId: acceptance.messages[0]?.transportId,
            callbackUrl: null,
            reference: null,
            campaign: null,
            replyTo: null,
          },
        ],
      })
    }),
  )

  it.effect("resolves each kind of recipient, in the order of to", () =>
    Effect.sync(() => {
      const recipients = (value: unknown, numbers = [aNumber(1), aNumber(11, "telegram")]) =>
        accepted({ to: value }, { numbers }).messages.map((message) => message.to)
      assert.deepStrictEqual<unknown>(
        recipients([to.phone, to.group, to.contactWithPhone, { phone: withPhone.phone }]),
        [
          { kind: "phone", phone: "+15550000001", contactId: null },
          { kind: "group", group: "Team" },
          { kind: "contact_phone", contactId: 61, phone: "+15550000061" },
          { kind: "phone", phone: "+15550000061", contactId: 61 },
        ],
      )
      assert.deepStrictEqual<unknown>(
        recipients(
          [{ username: "https://t.me/jane_doe" }, to.contactWithUsername, to.phone],
          [aNumber(11, "telegram")],
        ),
        [
          { kind: "username", username: "https://t.me/jane_doe" },
          { kind: "contact_username", contactId: 62, username: "@jane_doe" },
          { kind: "phone", phone: "+15550000001", contactId: null },
        ],
      )
    }),
  )

  it.effect("a repeated recipient receives two messages, each with its own ids", () =>
    Effect.sync(() => {
      const { allowance, messages, quota } = accepted({ to: [to.phone, to.phone] })
      assert.lengthOf(messages, 2)
      assert.strictEqual(allowance, 2)
      assert.strictEqual(quota?.count, 2)
      const [first, again] = messages
      assert.deepStrictEqual(first?.to, again?.to)
      assert.notStrictEqual(first?.transportId, again?.transportId)
      for (const message of messages) {
        assert.match(message.transportId, /^[0-9A-F]{20}$/)
      }
    }),
  )

  it.effect("a message of a test key takes neither allowance nor quota", () =>
    Effect.sync(() => {
      const acceptance = accepted({ to: to.phone }, {}, { sender: aSender({ mode: "test" }) })
      assert.deepStrictEqual(
        [acceptance.mode, acceptance.allowance, acceptance.quota, acceptance.messages[0]?.mode],
        ["test", 0, null, "test"],
      )
    }),
  )

  it.effect("a stored file provides its type and name unless the request does", () =>
    Effect.sync(() => {
      const media = (overrides: object) =>
        accepted({ to: to.phone, media: { mediaId: 71, ...overrides } }, { media: anImage })
          .messages[0]?.media
      assert.deepStrictEqual<unknown>(media({}), {
        mediaId: 71,
        attachmentId: null,
        url: null,
        type: "image",
        fileName: "photo.png",
      })
      assert.deepStrictEqual<unknown>(media({ type: "file", fileName: "b.png" }), {
        mediaId: 71,
        attachmentId: null,
        url: null,
        type: "file",
        fileName: "b.png",
      })
    }),
  )

  it.effect("a link stays unchanged", () =>
    Effect.sync(() => {
      const url = "https://example.com/download"
      assert.deepStrictEqual(accepted({ to: to.phone, media: { url } }).messages[0]?.media, {
        mediaId: null,
        attachmentId: null,
        url,
        type: null,
        fileName: null,
      })
    }),
  )

  it.effect("keeps the number's current phone, null before the first scan", () =>
    Effect.sync(() => {
      const unscanned = { ...aNumber(1, "whatsapp", "disconnected"), phone: null }
      const { messages } = accepted({ to: to.phone, from: 1 }, { numbers: [unscanned] })
      assert.deepStrictEqual<unknown>(messages[0]?.from, {
        id: 1,
        phone: null,
        platform: "whatsapp",
      })
    }),
  )
})
