import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { connectionCallback, messageCallback } from "../../src/model/MessageChange.ts"
import type { ConnectionEvent } from "../../src/model/MessageChange.ts"
import type { EventId, MessageId, NumberId, WorkspaceId } from "../../src/model/Ids.ts"
import type { Message, MessageState } from "../../src/model/Message.ts"
import { aMessage as aStoredMessage } from "../worker/claimedMessage.ts"

const noon = Date.UTC(2026, 2, 2, 12)
const event = "evt_000000000000000000000001" as EventId

const aMessage = (overrides: Partial<Message>): Message =>
  aStoredMessage({
    id: 41 as MessageId,
    workspaceId: 7 as WorkspaceId,
    state: "sent",
    from: { id: 3 as NumberId, phone: "15550000001", platform: "whatsapp" },
    to: { kind: "group", group: "Team" },
    callbackUrl: "http://example.com:8080/told?by=us",
    ...overrides,
  })

describe("the callback of a message", () => {
  it.effect("freezes its URL, body and workspace", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(messageCallback(event, aMessage({}), noon), {
        eventId: event,
        workspaceId: 7 as WorkspaceId,
        target: "http://example.com:8080",
        type: "message.sent",
        url: "http://example.com:8080/told?by=us",
        body: "msg_id=41&status=SENT",
        createdAt: noon,
      }),
    ),
  )

  it.effect.each([
    ["sent", "SENT"],
    ["failed", "FAILED"],
    ["cancelled", "CANCELLED"],
    ["expired", "EXPIRED"],
  ] as const)("%s is `%s`", ([state, status]) =>
    Effect.sync(() =>
      assert.strictEqual(
        messageCallback(event, aMessage({ state }), noon)?.body,
        `msg_id=41&status=${status}`,
      ),
    ),
  )

  it.effect("of a failure carries its error, form-encoded", () =>
    Effect.sync(() => {
      const error = { code: "send_failed", message: "Größe = 100% & +more" } as const
      const body = messageCallback(event, aMessage({ state: "failed", error }), noon)?.body
      assert.strictEqual(
        body,
        "msg_id=41&status=FAILED&error=Gr%C3%B6%C3%9Fe+%3D+100%25+%26+%2Bmore",
      )
      assert.strictEqual(new URLSearchParams(body).get("error"), error.message)
    }),
  )

  it.effect('of a failure without its group says "Group not found"', () =>
    Effect.sync(() => {
      const error = { code: "group_not_found", message: "There is none." } as const
      const body = messageCallback(event, aMessage({ state: "failed", error }), noon)?.body
      assert.strictEqual(new URLSearchParams(body).get("error"), "Group not found")
    }),
  )

  it.effect.each(["waiting", "delivered", "read"] satisfies ReadonlyArray<MessageState>)(
    "a message that is %s has no callback",
    (state) => Effect.sync(() => assert.isNull(messageCallback(event, aMessage({ state }), noon))),
  )

  it.effect("a message without a callback URL has no callback", () =>
    Effect.sync(() => assert.isNull(messageCallback(event, aMessage({ callbackUrl: null }), noon))),
  )
})

describe("the callback of a connection", () => {
  const of = (what: ConnectionEvent, phone: string | null) =>
    connectionCallback(
      event,
      what,
      { id: 3 as NumberId, workspaceId: 7 as WorkspaceId, phone },
      "https://example.com/",
      noon,
    ).body

  it.effect("names the event, the number's id and its digits, empty while unknown", () =>
    Effect.sync(() => {
      assert.strictEqual(
        of("qr-generated", null),
        "event=qr-generated&whatsapp_client=3&whatsapp_number=",
      )
      assert.strictEqual(
        of("connected", "15550000001"),
        "event=connected&whatsapp_client=3&whatsapp_number=15550000001",
      )
      assert.strictEqual(
        of("disconnected", "15550000001"),
        "event=disconnected&whatsapp_client=3&whatsapp_number=15550000001",
      )
    }),
  )
})
