import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ContactId, EventId, MediaId } from "../../src/model/Ids.ts"
import type { MediaLink } from "../../src/model/Media.ts"
import { asAccepted } from "../../src/model/Message.ts"
import type { Message, MessageState } from "../../src/model/Message.ts"
import { endMessage, messageJson } from "../../src/model/MessageChange.ts"
import type { Ending } from "../../src/model/MessageChange.ts"
import type { Phone, Recipient } from "../../src/model/Recipient.ts"
import { aMessage as aStoredMessage } from "../worker/claimedMessage.ts"

const noon = Date.UTC(2026, 2, 2, 12, 0, 0, 999)
const hour = 60 * 60 * 1000

const aMessage = (overrides: Partial<Message> = {}): Message =>
  aStoredMessage({ createdAt: noon, dueAt: noon, ...overrides })

const link: MediaLink = (id, fileName, now) => `link to ${id} ${fileName} at ${now}`

/** The answer to a send and to every repeat of it. */
const answered = (message: Message) => messageJson(asAccepted(message), message.createdAt, link)

const event = "evt_000000000000000000000001" as EventId

const asJson = {
  id: 42,
  status: "queued",
  from: { id: 7, phone: "15550000007", platform: "whatsapp" },
  to: { phone: "+15550000001", contact_id: null },
  text: "Hello",
  media: null,
  send_at: null,
  expires_at: null,
  created_at: "2026-03-02T12:00:00Z",
  sent_at: null,
  error: null,
}

describe("a Message", () => {
  it.effect("has the contract's fields and no others", () =>
    Effect.sync(() => assert.deepStrictEqual<unknown>(messageJson(aMessage(), noon, link), asJson)),
  )

  it.effect("shows times in UTC, whole seconds, truncated, ending in Z", () =>
    Effect.sync(() => {
      const message = aMessage({
        state: "delivered",
        sendAt: noon + hour,
        dueAt: noon + hour,
        expiresAt: noon + 2 * hour,
        sentAt: noon + hour + 1,
      })
      assert.deepStrictEqual<unknown>(messageJson(message, noon + 3 * hour, link), {
        ...asJson,
        status: "delivered",
        send_at: "2026-03-02T13:00:00Z",
        expires_at: "2026-03-02T14:00:00Z",
        sent_at: "2026-03-02T13:00:01Z",
      })
    }),
  )

  it.effect("is scheduled until its send_at, then queued", () =>
    Effect.sync(() => {
      const message = aMessage({ sendAt: noon + hour, dueAt: noon + hour })
      assert.strictEqual(messageJson(message, noon + hour - 1, link).status, "scheduled")
      assert.strictEqual(messageJson(message, noon + hour, link).status, "queued")
    }),
  )

  const recipients: ReadonlyArray<readonly [what: string, to: Recipient, json: object]> = [
    [
      "a phone without a saved contact",
      { kind: "phone", phone: "+15550000001" as Phone, contactId: null },
      { phone: "+15550000001", contact_id: null },
    ],
    [
      "a phone with a saved contact",
      { kind: "phone", phone: "+15550000001" as Phone, contactId: 61 as ContactId },
      { phone: "+15550000001", contact_id: 61 },
    ],
    ["a group", { kind: "group", group: " Team " }, { group: " Team " }],
    [
      "a contact with a phone",
      { kind: "contact_phone", contactId: 61 as ContactId, phone: "+15550000061" as Phone },
      { contact_id: 61, phone: "+15550000061" },
    ],
    [
      "a contact with a username",
      { kind: "contact_username", contactId: 62 as ContactId, username: "@jane_doe" },
      { contact_id: 62, username: "@jane_doe" },
    ],
    [
      "a username as given",
      { kind: "username", username: "https://t.me/jane_doe" },
      { username: "https://t.me/jane_doe" },
    ],
  ]
  it.effect.each(recipients)("shows %s in to", ([, to, json]) =>
    Effect.sync(() =>
      assert.deepStrictEqual<unknown>(messageJson(aMessage({ to }), noon, link), {
        ...asJson,
        to: json,
      }),
    ),
  )

  it.effect("shows media with each field null when unknown", () =>
    Effect.sync(() => {
      const json = (media: Message["media"]) =>
        messageJson(aMessage({ media, text: "" }), noon, link)
      const url = "https://example.com/download"
      assert.deepStrictEqual<unknown>(
        json({ mediaId: null, attachmentId: null, url, type: null, fileName: null }),
        {
          ...asJson,
          text: "",
          media: { media_id: null, url, type: null, file_name: null },
        },
      )
      assert.deepStrictEqual<unknown>(
        json({
          mediaId: 71 as MediaId,
          attachmentId: null,
          url: null,
          type: "image",
          fileName: "a.png",
        }).media,
        { media_id: 71, url: `link to 71 a.png at ${noon}`, type: "image", file_name: "a.png" },
      )
    }),
  )

  it.effect("shows an attachment with a link and without an id", () =>
    Effect.sync(() => {
      const media = {
        mediaId: null,
        attachmentId: 71 as MediaId,
        url: null,
        type: "image",
        fileName: "a.png",
      } as const
      assert.deepStrictEqual<unknown>(messageJson(aMessage({ media }), noon, link).media, {
        media_id: null,
        url: `link to 71 a.png at ${noon}`,
        type: "image",
        file_name: "a.png",
      })
    }),
  )

  it.effect("makes a new link to a stored file for each answer, also for a replay", () =>
    Effect.sync(() => {
      const media = {
        mediaId: 71 as MediaId,
        attachmentId: null,
        url: null,
        type: "file",
        fileName: null,
      } as const
      const message = aMessage({ media })
      const shown = { media_id: 71, type: "file", file_name: null }
      const urlAt = (instant: number) => ({ ...shown, url: `link to 71 null at ${instant}` })
      const later = noon + 3 * hour
      assert.deepStrictEqual<unknown>(messageJson(message, later, link).media, urlAt(later))
      assert.deepStrictEqual<unknown>(answered(message).media, urlAt(noon))
      const change = endMessage(message, { trigger: "cancel" }, event, later, link)
      const { data } = JSON.parse(change?.event.body ?? "") as { data: { message: object } }
      assert.deepStrictEqual<unknown>(data.message, {
        ...asJson,
        status: "cancelled",
        media: urlAt(later),
      })
    }),
  )

  it.effect("shows why it failed", () =>
    Effect.sync(() => {
      const error = { code: "group_not_found", message: "No group of that name." } as const
      assert.deepStrictEqual<unknown>(
        messageJson(aMessage({ state: "failed", error }), noon, link),
        {
          ...asJson,
          status: "failed",
          error,
        },
      )
    }),
  )

  it.effect("the first answer never changes, whatever happens to the message", () =>
    Effect.sync(() => {
      const error = { code: "send_failed", message: "No." } as const
      const scheduled = { sendAt: noon + hour, dueAt: noon + hour }
      const later: ReadonlyArray<readonly [MessageState, Partial<Message>]> = [
        ["waiting", {}],
        ["sent", { sentAt: noon + hour }],
        ["delivered", { sentAt: noon + hour }],
        ["read", { sentAt: noon + hour }],
        ["failed", { error }],
        ["cancelled", {}],
        ["expired", {}],
      ]
      for (const [state, rest] of later) {
        assert.deepStrictEqual<unknown>(answered(aMessage({ state, ...rest })), asJson)
        assert.deepStrictEqual<unknown>(answered(aMessage({ state, ...scheduled, ...rest })), {
          ...asJson,
          status: "scheduled",
          send_at: "2026-03-02T13:00:00Z",
        })
      }
    }),
  )
})

describe("the end of a message's waiting", () => {
  const error = { code: "recipient_not_found", message: "Not registered." } as const
  const endings: ReadonlyArray<
    readonly [type: string, ending: Ending, becomes: Partial<Message>, refunds: boolean]
  > = [
    ["message.sent", { trigger: "send_succeeded" }, { state: "sent", sentAt: noon + hour }, false],
    ["message.failed", { trigger: "send_failed", error }, { state: "failed", error }, false],
    ["message.cancelled", { trigger: "cancel" }, { state: "cancelled" }, true],
    ["message.expired", { trigger: "expire" }, { state: "expired" }, true],
  ]

  it.effect.each(endings)("is announced by %s in the contract's envelope", (row) =>
    Effect.sync(() => {
      const [type, ending, becomes, refunds] = row
      const message = aMessage({ mode: "test", sendAt: noon + 1, dueAt: noon + 1 })
      const change = endMessage(message, ending, event, noon + hour, link)
      const ended = { ...message, ...becomes }
      assert.deepStrictEqual<unknown>(change, {
        message: ended,
        callback: null,
        refunds,
        event: {
          id: event,
          type,
          workspaceId: 1,
          mode: "test",
          messageId: 42,
          createdAt: noon + hour,
          body: change?.event.body,
        },
      })
      const body: unknown = JSON.parse(change?.event.body ?? "")
      assert.deepStrictEqual(body, {
        id: "evt_000000000000000000000001",
        type,
        created_at: "2026-03-02T13:00:00Z",
        data: { message: messageJson(ended, noon + hour, link) },
      })
    }),
  )

  it.effect("contains the Message in its state at that time", () =>
    Effect.sync(() => {
      const change = endMessage(
        aMessage(),
        { trigger: "send_failed", error },
        event,
        noon + hour,
        link,
      )
      const { data } = JSON.parse(change?.event.body ?? "") as { data: { message: object } }
      assert.deepStrictEqual<unknown>(data.message, { ...asJson, status: "failed", error })
    }),
  )

  it.effect("happens once: nothing ends a message that no longer waits", () =>
    Effect.sync(() => {
      for (const state of [
        "sent",
        "delivered",
        "read",
        "failed",
        "cancelled",
        "expired",
      ] as const) {
        for (const [, ending] of endings) {
          assert.isUndefined(endMessage(aMessage({ state }), ending, event, noon, link))
        }
      }
    }),
  )
})
