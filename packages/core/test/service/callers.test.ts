import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Scope as Lifetime } from "effect"
import {
  Attachments,
  Caller,
  Chats,
  Connections,
  MediaDirectory,
  Messages,
  NumberChecks,
  Version1Lists,
  Reminders,
  Webhooks,
  Workspaces,
  operations,
  authorize,
  scopes,
} from "../../src/index.ts"
import type {
  ChatId,
  MediaId,
  MessageId,
  NumberCheckId,
  NumberId,
  OperationName,
  OperationRule,
  ReceivedMessageId,
  Refusal,
  ReminderId,
  SendMessage,
  StoreUnavailable,
  Trust,
  WebhookId,
  WorkspaceId,
} from "../../src/index.ts"
import { answer, refusal, send, status } from "./Operations.ts"
import { aKey, aNumber, aSender, aWorkspace, hour, inAService, noon, settled } from "./Service.ts"

const trusted = (workspace: WorkspaceId, trust?: Trust) =>
  Effect.map(
    Workspaces.use((all) => all.get(workspace)),
    (found) => Caller.trusted(found, trust),
  )

type Services =
  | Attachments
  | Chats
  | Connections
  | MediaDirectory
  | Messages
  | NumberChecks
  | Version1Lists
  | Reminders
  | Webhooks

type Begun = (
  caller: Caller,
) => ReadonlyArray<Effect.Effect<unknown, Refusal | StoreUnavailable, Services | Lifetime.Scope>>

const upload = { fileName: "a.txt", content: {} as never }
const page = { offset: 0, limit: 1 }
const wrong = {} as never

/** Every way into an operation, each with a later reason to be refused. */
const ways: Readonly<Record<OperationName, Begun>> = {
  getKeyInfo: (caller) => [authorize(caller, "getKeyInfo")],
  sendMessage: (caller) => [
    Messages.use((all) => all.send(caller, { to: {} }, null)),
    Attachments.use((all) => all.fromUpload(caller, upload)),
    Attachments.use((all) => all.fromLink(caller, { url: "", type: "file", fileName: null })),
  ],
  sendBatch: (caller) => [Messages.use((all) => all.sendBatch(caller, { to: [] }, null))],
  listMessages: (caller) => [
    Messages.use((all) => all.list(caller, { limit: 0 })),
    Version1Lists.use((all) => all.messages(caller, { first: 0, last: 0 }, page)),
  ],
  getMessage: (caller) => [Messages.use((all) => all.get(caller, 1 as MessageId))],
  cancelMessage: (caller) => [Messages.use((all) => all.cancel(caller, 1 as MessageId))],
  createReminder: (caller) => [Reminders.use((all) => all.create(caller, wrong, null))],
  listReminders: (caller) => [
    Reminders.use((all) => all.list(caller, { limit: 0 })),
    Version1Lists.use((all) => all.reminders(caller, page)),
  ],
  getReminder: (caller) => [Reminders.use((all) => all.get(caller, 1 as ReminderId))],
  updateReminder: (caller) => [Reminders.use((all) => all.update(caller, 1 as ReminderId, {}))],
  deleteReminder: (caller) => [Reminders.use((all) => all.remove(caller, 1 as ReminderId))],
  listNumbers: (caller) => [Connections.use((all) => all.list(caller))],
  getNumber: (caller) => [Connections.use((all) => all.get(caller, 1 as NumberId))],
  getNumberRestrictions: (caller) => [
    Connections.use((all) => all.restrictions(caller, 1 as NumberId)),
  ],
  connectNumber: (caller) => [Connections.use((all) => all.connect(caller, { numberId: 0 }, null))],
  createWebhook: (caller) => [Webhooks.use((all) => all.create(caller, wrong, null))],
  listWebhooks: (caller) => [Webhooks.use((all) => all.list(caller))],
  getWebhook: (caller) => [Webhooks.use((all) => all.get(caller, 1 as WebhookId))],
  deleteWebhook: (caller) => [Webhooks.use((all) => all.remove(caller, 1 as WebhookId))],
  rotateWebhookSecret: (caller) => [
    Webhooks.use((all) => all.rotateSecret(caller, 1 as WebhookId)),
  ],
  testWebhook: (caller) => [Webhooks.use((all) => all.test(caller, 1 as WebhookId))],
  uploadMedia: (caller) => [MediaDirectory.use((all) => all.upload(caller, upload, null))],
  listMedia: (caller) => [
    MediaDirectory.use((all) => all.list(caller, { limit: 0 })),
    Version1Lists.use((all) => all.media(caller, null, page)),
  ],
  getMedia: (caller) => [MediaDirectory.use((all) => all.get(caller, 1 as MediaId))],
  deleteMedia: (caller) => [MediaDirectory.use((all) => all.delete(caller, 1 as MediaId))],
  createNumberCheck: (caller) => [NumberChecks.use((all) => all.create(caller, wrong, null))],
  listNumberChecks: (caller) => [NumberChecks.use((all) => all.list(caller, { limit: 0 }))],
  getNumberCheck: (caller) => [NumberChecks.use((all) => all.get(caller, 1 as NumberCheckId))],
  listNumberCheckResults: (caller) => [
    NumberChecks.use((all) => all.results(caller, 1 as NumberCheckId, {})),
    Version1Lists.use((all) => all.checkResults(caller, 1 as NumberCheckId, null, page)),
  ],
  listReceivedMessages: (caller) => [Chats.use((all) => all.listReceived(caller, { limit: 0 }))],
  getReceivedMessage: (caller) => [
    Chats.use((all) => all.getReceived(caller, 1 as ReceivedMessageId)),
  ],
  deleteReceivedMessage: (caller) => [
    Chats.use((all) => all.deleteReceived(caller, 1 as ReceivedMessageId)),
  ],
  listChats: (caller) => [Chats.use((all) => all.list(caller, { limit: 0 }))],
  getChat: (caller) => [Chats.use((all) => all.get(caller, 1 as ChatId))],
  deleteChat: (caller) => [Chats.use((all) => all.delete(caller, 1 as ChatId))],
  listChatMessages: (caller) => [
    Chats.use((all) => all.listEntries(caller, 1 as ChatId, { limit: 0 })),
  ],
  markChatRead: (caller) => [Chats.use((all) => all.markRead(caller, 1 as ChatId, wrong, null))],
}

describe("authorization", () => {
  const rules = Object.entries(operations) as ReadonlyArray<[OperationName, OperationRule]>

  it.effect.each(rules)(
    "of %s checks its scope before anything else",
    ([name, { scope, scopeBesides }]) =>
      inAService(
        Effect.gen(function* () {
          const { workspace } = yield* aSender()
          const needed = [scope, scopeBesides].filter((each) => each != null)
          for (const missing of needed) {
            const others = [...scopes, ...needed].filter((each) => each !== missing)
            for (const way of ways[name](yield* trusted(workspace, { scopes: others }))) {
              const { code, details, status: reported } = yield* refusal(way)
              assert.deepStrictEqual(
                [code, reported, details],
                ["missing_scope", 403, { requiredScope: missing }],
              )
            }
          }
          yield* authorize(yield* trusted(workspace, { scopes: needed }), name)
        }),
        { worker: false },
      ),
  )

  it.effect.each(rules)("of %s refuses limited callers where its entry says so", ([name, rule]) =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const limited = yield* trusted(workspace, { numberIds: [number] })
        if (!rule.unlimitedOnly) return void (yield* authorize(limited, name))
        for (const way of ways[name](limited)) {
          assert.strictEqual((yield* refusal(way)).code, "number_not_allowed")
        }
      }),
      { worker: false },
    ),
  )
})

describe("a command", () => {
  it.effect("may hold dates, under the rules for text", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const messages = yield* Messages
        const hello = { to: { phone: "+15550000001" }, text: "Hello" }
        const sendAt = new Date(noon + hour)
        const sent = yield* messages.send(key, { ...hello, sendAt }, null)
        assert.deepStrictEqual(
          sent.messages.map(({ sendAt, state }) => [sendAt, state]),
          [[noon + hour, "waiting"]],
        )
        const refused = (times: Pick<SendMessage, "sendAt" | "expiresAt">) =>
          Effect.map(
            refusal(messages.send(key, { ...hello, ...times }, null)),
            ({ code, field }) => [code, field],
          )
        const wrong = new Date(Number.NaN)
        assert.deepStrictEqual(yield* refused({ sendAt: wrong }), ["invalid_datetime", "sendAt"])
        assert.deepStrictEqual(yield* refused({ sendAt, expiresAt: sendAt }), [
          "validation_failed",
          "expiresAt",
        ])
        assert.deepStrictEqual(yield* refused({ expiresAt: new Date(noon) }), [
          "time_in_past",
          "expiresAt",
        ])
      }),
    ),
  )
})

describe("a trusted caller", () => {
  it.effect("sends without a key", () =>
    inAService(
      Effect.gen(function* () {
        const { workspace } = yield* aSender()
        const caller = yield* trusted(workspace)
        const message = yield* send(caller, { to: { phone: "+15550000001" }, text: "Hello" })
        yield* settled
        assert.strictEqual(yield* status(caller, message), "sent")
      }),
    ),
  )

  it.effect("has the scopes, numbers and mode that its maker chose", () =>
    inAService(
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const other = yield* aNumber(workspace)
        const reader = yield* trusted(workspace, { scopes: ["messages:read"] })
        assert.strictEqual((yield* refusal(send(reader))).code, "missing_scope")
        const limited = yield* trusted(workspace, { numberIds: [other] })
        const elsewhere = send(limited, { from: number })
        assert.strictEqual((yield* refusal(elsewhere)).code, "number_not_allowed")
        const message = yield* send(yield* trusted(workspace, { mode: "test" }), { from: number })
        assert.strictEqual(
          (yield* refusal(status(yield* trusted(workspace), message))).code,
          "message_not_found",
        )
      }),
    ),
  )

  it.effect("repeats its answer for its idempotency key, separately from others' keys", () =>
    inAService(
      Effect.gen(function* () {
        const { key, number, workspace } = yield* aSender()
        const another = yield* aWorkspace()
        yield* aNumber(another)
        const caller = yield* trusted(workspace)
        const input = { from: number }
        const first = yield* answer(caller, input, "key")
        assert.isFalse(first.replayed)
        const again = yield* answer(yield* trusted(workspace), input, "key")
        assert.deepStrictEqual(again, { ...first, replayed: true })
        for (const apart of [
          key,
          yield* aKey(workspace),
          yield* trusted(workspace, { mode: "test" }),
        ]) {
          assert.isFalse((yield* answer(apart, input, "key")).replayed)
        }
        assert.isFalse((yield* answer(yield* trusted(another), {}, "key")).replayed)
        assert.isFalse(
          (yield* answer(yield* trusted(another, { mode: "test" }), {}, "key")).replayed,
        )
      }),
    ),
  )

  it.effect("creates webhook endpoints", () =>
    inAService(
      Effect.gen(function* () {
        const { workspace } = yield* aSender()
        const caller = yield* trusted(workspace)
        const webhooks = yield* Webhooks
        yield* webhooks.create(caller, { url: "https://example.com/" }, null)
        const endpoints = yield* webhooks.list(caller)
        assert.deepStrictEqual(
          endpoints.map(({ disabledReason }) => disabledReason),
          [null],
        )
      }),
      { worker: false },
    ),
  )
})
