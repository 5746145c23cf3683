/**
 * Every operation of version 2 and of the operator API by its method, against the real service. The
 * types list the operations: one without an entry here does not compile, and an entry that calls
 * another operation fails.
 */
import { assert, layer } from "@effect/vitest"
import { readDocument } from "@messaging-service/testkit/openapi"
import type { DocumentObject } from "@messaging-service/testkit/openapi"
import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { messagingClient, operatorClient } from "../src/index.ts"
import type { MessagingClient, OperatorClient } from "../src/index.ts"
import type { operations, ReceivedMessage } from "../src/openapi.ts"
import { Service, aWorkspace, token } from "./Service.ts"

/** Arguments for an entry's method. */
interface Scene {
  readonly client: MessagingClient
  readonly operator: OperatorClient
  readonly workspace: number
  readonly number: number
  /** A Telegram account that is not connected. */
  readonly telegram: () => Promise<number>
  /** A message that left, a reminder, and so on, created by clients that the test does not watch. */
  readonly created: Readonly<
    Record<"message" | "scheduled" | "reminder" | "media" | "check" | "contact" | "key", number>
  >
  /** An endpoint with an event that failed to be delivered. */
  readonly webhook: { readonly id: number; readonly event: string }
  /** A received message, and the client of a key that may read it; conversations are on from then. */
  readonly received: () => Promise<{
    readonly client: MessagingClient
    readonly message: ReceivedMessage
  }>
  /** A number that is linking. */
  readonly linking: () => Promise<number>
}

const to = { phone: "+15550100002" }
const reminder = {
  name: "Rent",
  to,
  text: "Rent is due",
  schedule: { cron: "0 9 1 * *", timezone: "Europe/London" },
}

/** Takes the first of a list that comes in pages. */
const first = async <Item>(items: AsyncIterable<Item>): Promise<Item | undefined> => {
  for await (const item of items) return item
  return undefined
}

/** A draft with one row. */
const aDraft = async (operator: OperatorClient, workspace: number): Promise<number> => {
  const { id } = await operator.campaigns.create(workspace, {
    name: "Spring",
    text: "Hello {name}",
  })
  await operator.campaigns.addRows(workspace, id, { rows: [{ to, values: { name: "Ann" } }] })
  return id
}

/** Simulated numbers have no account to log in: the service refuses. */
const refusedWith = async (code: string, call: Promise<unknown>): Promise<void> =>
  assert.deepInclude(
    await call.then(
      () => ({}),
      (error: unknown) => error as object,
    ),
    { code },
  )

const entries: {
  readonly [Id in keyof operations]: (scene: Scene) => Promise<unknown>
} = {
  getKeyInfo: async ({ client, workspace }) =>
    assert.strictEqual((await client.me()).workspace.id, workspace),

  sendMessage: async ({ client }) =>
    assert.strictEqual((await client.messages.send({ to, text: "Hello" })).status, "queued"),
  sendBatch: async ({ client }) =>
    assert.lengthOf(await client.messages.sendBatch({ to: [to, to], text: "Hello" }), 2),
  listMessages: async ({ client, created }) =>
    assert.include(
      (await client.messages.list({ status: ["sent", "failed"], limit: 100 }).page()).data.map(
        ({ id }) => id,
      ),
      created.message,
    ),
  getMessage: async ({ client, created }) =>
    assert.strictEqual((await client.messages.get(created.message)).status, "sent"),
  cancelMessage: async ({ client, created }) =>
    assert.strictEqual((await client.messages.cancel(created.scheduled)).status, "cancelled"),

  createReminder: async ({ client }) =>
    assert.match((await client.reminders.create(reminder)).next_run_at ?? "", /T09:00:00/),
  listReminders: async ({ client, created }) =>
    assert.strictEqual(
      (await first(client.reminders.list({ active: true })))?.id,
      created.reminder,
    ),
  getReminder: async ({ client, created }) =>
    assert.deepInclude(await client.reminders.get(created.reminder), {
      schedule: reminder.schedule,
      active: true,
    }),
  updateReminder: async ({ client, created }) =>
    assert.isFalse((await client.reminders.update(created.reminder, { active: false })).active),
  deleteReminder: async ({ client, created }) =>
    assert.deepStrictEqual(await client.reminders.delete(created.reminder), {
      id: created.reminder,
      deleted: true,
    }),

  connectNumber: async ({ client }) =>
    assert.strictEqual((await client.numbers.connect({ login_method: "qr" })).status, "connecting"),
  listNumbers: async ({ client, number }) =>
    assert.strictEqual((await client.numbers.list())[0]?.id, number),
  getNumber: async ({ client, number }) =>
    assert.strictEqual((await client.numbers.get(number)).status, "connected"),

  uploadMedia: async ({ client }) =>
    assert.deepInclude(
      await client.media.upload({ file: new Blob(["a,b\n"]), file_name: "list.csv" }),
      { file_name: "list.csv", size: 4, type: "file" },
    ),
  listMedia: async ({ client, created }) =>
    assert.strictEqual((await first(client.media.list({ type: "file" })))?.id, created.media),
  getMedia: async ({ client, created }) =>
    assert.match((await client.media.get(created.media)).url, /^https:/),
  deleteMedia: async ({ client, created }) =>
    assert.isTrue((await client.media.delete(created.media)).deleted),

  createNumberCheck: async ({ client }) =>
    assert.strictEqual((await client.numberChecks.create({ phones: [to.phone] })).total, 1),
  listNumberChecks: async ({ client, created }) =>
    assert.strictEqual((await first(client.numberChecks.list()))?.id, created.check),
  getNumberCheck: async ({ client, created }) =>
    assert.strictEqual((await client.numberChecks.get(created.check)).status, "completed"),
  listNumberCheckResults: async ({ client, created }) =>
    assert.strictEqual(
      (await first(client.numberChecks.results(created.check, { status: ["registered"] })))?.phone,
      to.phone,
    ),

  createWebhook: async ({ client }) =>
    assert.property(await client.webhooks.create({ url: "https://example.com/hook" }), "secret"),
  listWebhooks: async ({ client, webhook }) =>
    assert.strictEqual((await client.webhooks.list())[0]?.id, webhook.id),
  getWebhook: async ({ client, webhook }) =>
    assert.isTrue((await client.webhooks.get(webhook.id)).active),
  deleteWebhook: async ({ client, webhook }) =>
    assert.isTrue((await client.webhooks.delete(webhook.id)).deleted),
  rotateWebhookSecret: async ({ client, webhook }) =>
    assert.lengthOf((await client.webhooks.rotateSecret(webhook.id)).secret, 64),
  testWebhook: async ({ client, webhook }) =>
    assert.strictEqual((await client.webhooks.test(webhook.id)).type, "ping"),

  signIn: async ({ operator }) =>
    assert.strictEqual((await operator.session.signIn({ token })).kind, "operator"),
  createSignInLink: async ({ operator }) =>
    assert.match(
      (await operator.session.createLink()).url,
      /^https:\/\/messages\.test\/sign-in#code=[0-9a-f]{64}$/,
    ),
  getSession: async ({ operator }) => assert.isNull((await operator.session.get()).session),
  signOut: async ({ operator }) => assert.isTrue((await operator.session.signOut()).signed_out),

  createPortalSession: async ({ operator, workspace }) =>
    assert.match(
      (await operator.portalSessions.create(workspace, { role: "member" })).url,
      /^https:\/\/messages\.test\/portal#code=[0-9a-f]{64}$/,
    ),
  listPortalSessions: async ({ operator, workspace }) =>
    assert.isUndefined(await first(operator.portalSessions.list(workspace))),
  revokePortalSession: async ({ operator, workspace }) =>
    refusedWith("portal_session_not_found", operator.portalSessions.revoke(workspace, 987_654)),

  createWorkspace: async ({ operator }) =>
    assert.strictEqual((await operator.workspaces.create({ name: "Other" })).name, "Other"),
  listWorkspaces: async ({ operator }) =>
    assert.isDefined(await first(operator.workspaces.list({ limit: 1 }))),
  getWorkspace: async ({ operator, workspace }) =>
    assert.strictEqual((await operator.workspaces.get(workspace)).id, workspace),
  updateWorkspace: async ({ operator, workspace }) =>
    assert.strictEqual(
      (await operator.workspaces.update(workspace, { name: "Renamed" })).name,
      "Renamed",
    ),
  deleteWorkspace: async ({ operator, workspace }) =>
    assert.isTrue((await operator.workspaces.delete(workspace)).deleted),

  listWorkspaceMessages: async ({ operator, workspace, created }) =>
    assert.include(
      (await operator.messages.list(workspace, { status: ["sent"], mode: "live" }).page()).data.map(
        ({ id }) => id,
      ),
      created.message,
    ),
  sendWorkspaceMessage: async ({ operator, workspace }) => {
    const message = { to, text: "Hello" }
    for (const mode of ["live", "test"] as const) {
      const { status } = await operator.messages.send(workspace, message, { mode })
      assert.strictEqual(status, "queued")
    }
    // The service reads the mode.
    const wrong = operator.messages.send(workspace, message, { mode: "dead" as never })
    await refusedWith("validation_failed", wrong)
  },
  sendWorkspaceBatch: async ({ operator, workspace }) =>
    assert.lengthOf(
      await operator.messages.sendBatch(workspace, { to: [to, to], text: "Hello" }),
      2,
    ),
  getWorkspaceMessage: async ({ operator, workspace, created }) =>
    assert.strictEqual((await operator.messages.get(workspace, created.message)).status, "sent"),

  createWorkspaceReminder: async ({ operator, workspace }) =>
    assert.match(
      (await operator.reminders.create(workspace, reminder)).next_run_at ?? "",
      /T09:00:00/,
    ),
  listWorkspaceReminders: async ({ operator, workspace, created }) =>
    assert.strictEqual((await first(operator.reminders.list(workspace)))?.id, created.reminder),
  getWorkspaceReminder: async ({ operator, workspace, created }) =>
    assert.isTrue((await operator.reminders.get(workspace, created.reminder)).active),
  updateWorkspaceReminder: async ({ operator, workspace, created }) =>
    assert.isFalse(
      (await operator.reminders.update(workspace, created.reminder, { active: false })).active,
    ),
  deleteWorkspaceReminder: async ({ operator, workspace, created }) =>
    assert.isTrue((await operator.reminders.delete(workspace, created.reminder)).deleted),

  uploadWorkspaceMedia: async ({ operator, workspace }) =>
    assert.strictEqual(
      (await operator.media.upload(workspace, { file: new Blob(["a,b\n"]), file_name: "list.csv" }))
        .size,
      4,
    ),
  listWorkspaceMedia: async ({ operator, workspace, created }) =>
    assert.strictEqual((await first(operator.media.list(workspace)))?.id, created.media),
  getWorkspaceMedia: async ({ operator, workspace, created }) =>
    assert.match((await operator.media.get(workspace, created.media)).url, /^https:/),
  deleteWorkspaceMedia: async ({ operator, workspace, created }) =>
    assert.isTrue((await operator.media.delete(workspace, created.media)).deleted),

  setConversations: async ({ operator, workspace }) =>
    assert.isTrue((await operator.conversations.set(workspace, { groups: true })).groups),
  getConversations: async ({ operator, workspace }) => {
    await operator.conversations.set(workspace, {})
    assert.strictEqual((await operator.conversations.get(workspace)).stored.messages, 0)
  },
  deleteConversations: async ({ operator, workspace }) => {
    await operator.conversations.set(workspace, {})
    assert.isTrue((await operator.conversations.delete(workspace)).deleted)
  },
  listReceivedMessages: async ({ received }) => {
    const { client, message } = await received()
    const page = await client.receivedMessages.list({ number: message.number.id, after: 0 }).page()
    assert.deepStrictEqual(page.data.at(-1), message)
  },
  getReceivedMessage: async ({ received }) => {
    const { client, message } = await received()
    assert.deepStrictEqual(await client.receivedMessages.get(message.id), message)
  },
  deleteReceivedMessage: async ({ received }) => {
    const { client, message } = await received()
    assert.isTrue((await client.receivedMessages.delete(message.id)).deleted)
  },
  listChats: async ({ received }) => {
    const { client, message } = await received()
    assert.strictEqual((await first(client.chats.list({ unread: true })))?.id, message.chat.id)
  },
  getChat: async ({ received }) => {
    const { client, message } = await received()
    assert.strictEqual((await client.chats.get(message.chat.id)).phone, to.phone)
  },
  deleteChat: async ({ received }) => {
    const { client, message } = await received()
    assert.isTrue((await client.chats.delete(message.chat.id)).deleted)
  },
  listChatMessages: async ({ received }) => {
    const { client, message } = await received()
    const page = await client.chats.messages(message.chat.id).page()
    assert.deepInclude(page.data.at(-1), { received_message: message, message: null })
  },
  listWorkspaceChatMessages: async ({ number, operator, workspace }) => {
    await operator.conversations.set(workspace, {})
    const written = { from: { phone: to.phone }, remote_id: "first" }
    const message = await operator.simulator.write(number, written)
    if (!("id" in message)) throw new Error("it waits")
    const page = await operator.chats.messages(workspace, message.chat.id).page()
    assert.isNotEmpty(page.data)
  },
  markChatRead: async ({ received }) => {
    const { client, message } = await received()
    const marked = await client.chats.markRead(message.chat.id, { up_to: message.id })
    assert.deepInclude(marked, { chat_id: message.chat.id, up_to: message.id })
  },
  listReadMarks: async ({ number, operator, workspace }) => {
    await operator.conversations.set(workspace, {})
    assert.deepStrictEqual(await operator.simulator.readMarks(number), [])
  },
  getNumberRestrictions: async ({ client, number, received }) => {
    await received()
    const known = await client.numbers.restrictions(number)
    assert.deepInclude(known, { number_id: number, state: "unknown" })
  },
  getWorkspaceNumberRestrictions: async ({ number, operator, received, workspace }) => {
    await received()
    const known = await operator.numbers.restrictions(workspace, number)
    assert.deepInclude(known, { number_id: number, state: "unknown" })
  },
  markWorkspaceChatRead: async ({ operator, received, workspace }) => {
    const { message } = await received()
    const body = { up_to: message.id }
    const marked = await operator.chats.markRead(workspace, message.chat.id, body)
    assert.deepInclude(marked, { chat_id: message.chat.id, up_to: message.id })
  },
  listWorkspaceReceivedMessages: async ({ operator, received, workspace }) => {
    const { message } = await received()
    assert.deepStrictEqual(await first(operator.receivedMessages.list(workspace)), message)
  },
  getWorkspaceReceivedMessage: async ({ operator, received, workspace }) => {
    const { message } = await received()
    assert.deepStrictEqual(await operator.receivedMessages.get(workspace, message.id), message)
  },
  deleteWorkspaceReceivedMessage: async ({ operator, received, workspace }) => {
    const { message } = await received()
    assert.isTrue((await operator.receivedMessages.delete(workspace, message.id)).deleted)
  },
  listWorkspaceChats: async ({ operator, received, workspace }) => {
    const { message } = await received()
    assert.strictEqual((await first(operator.chats.list(workspace)))?.id, message.chat.id)
  },
  getWorkspaceChat: async ({ operator, received, workspace }) => {
    const { message } = await received()
    assert.strictEqual((await operator.chats.get(workspace, message.chat.id)).phone, to.phone)
  },
  deleteWorkspaceChat: async ({ operator, received, workspace }) => {
    const { message } = await received()
    assert.isTrue((await operator.chats.delete(workspace, message.chat.id)).deleted)
  },
  writeMessage: async ({ number, operator, received }) => {
    const { message } = await received()
    const again = { from: { phone: to.phone }, remote_id: "first" }
    assert.deepStrictEqual(await operator.simulator.write(number, again), message)
  },
  editMessage: async ({ operator, received }) => {
    const { message } = await received()
    const edited = await operator.simulator.edit(message.id, { text: "Hello again" })
    assert.strictEqual(edited.text, "Hello again")
  },
  revokeMessage: async ({ operator, received }) => {
    const { message } = await received()
    assert.isNotNull((await operator.simulator.revoke(message.id)).revoked_at)
  },
  react: async ({ created, operator, received }) => {
    await received()
    const reaction = { from: { phone: to.phone }, emoji: "👍" }
    assert.strictEqual(
      (await operator.simulator.react(created.message, reaction)).id,
      created.message,
    )
  },
  restrictNumber: async ({ number, operator, received }) => {
    await received()
    const known = await operator.simulator.restrict(number, { limit: 100, used: 42 })
    assert.deepInclude(known, { number_id: number, state: "none" })
  },
  setAway: async ({ number, operator }) =>
    assert.deepStrictEqual(await operator.simulator.setAway(number, { away: false }), {
      away: false,
    }),
  skipMessages: async ({ number, operator, received }) => {
    await received()
    assert.deepStrictEqual(await operator.simulator.skip(number), {})
  },
  createCampaign: async ({ operator, workspace }) =>
    assert.strictEqual(
      (await operator.campaigns.create(workspace, { name: "Spring", text: "Hello" })).state,
      "draft",
    ),
  listCampaigns: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    assert.strictEqual((await first(operator.campaigns.list(workspace)))?.id, id)
  },
  getCampaign: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    assert.strictEqual((await operator.campaigns.get(workspace, id)).rows.pending, 1)
  },
  updateCampaign: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    const changed = await operator.campaigns.update(workspace, id, { quota_reserve: 500 })
    assert.strictEqual(changed.quota_reserve, 500)
  },
  deleteCampaign: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    assert.isTrue((await operator.campaigns.remove(workspace, id)).deleted)
  },
  addCampaignRows: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    const file = new Blob([`phone,name\n${to.phone},Ann\n`])
    const added = await operator.campaigns.uploadRows(workspace, id, { file }, { mode: "live" })
    assert.deepInclude(added, { first_row: 2, last_row: 2, pending: 1, refused: 0 })
  },
  clearCampaignRows: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    assert.strictEqual((await operator.campaigns.clearRows(workspace, id)).deleted, 1)
  },
  listCampaignRows: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    assert.strictEqual((await first(operator.campaigns.rows(workspace, id)))?.text, "Hello Ann")
  },
  getCampaignRow: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    assert.strictEqual((await operator.campaigns.row(workspace, id, 1)).status, "pending")
  },
  downloadCampaignResults: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    const results = await operator.campaigns.results(workspace, id, { status: ["pending"] })
    assert.include(await new Response(results).text(), to.phone)
  },
  forecastCampaign: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    assert.strictEqual((await operator.campaigns.forecast(workspace, id)).rows, 1)
  },
  startCampaign: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    assert.strictEqual((await operator.campaigns.start(workspace, id)).state, "running")
  },
  pauseCampaign: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    await refusedWith("campaign_not_started", operator.campaigns.pause(workspace, id))
  },
  resumeCampaign: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    await refusedWith("campaign_not_started", operator.campaigns.resume(workspace, id))
  },
  stopCampaign: async ({ operator, workspace }) => {
    const id = await aDraft(operator, workspace)
    await refusedWith("campaign_not_started", operator.campaigns.stop(workspace, id))
  },

  createWorkspaceNumberCheck: async ({ operator, workspace }) =>
    assert.strictEqual(
      (await operator.numberChecks.create(workspace, { phones: [to.phone] })).total,
      1,
    ),
  listWorkspaceNumberChecks: async ({ operator, workspace, created }) =>
    assert.strictEqual((await first(operator.numberChecks.list(workspace)))?.id, created.check),
  getWorkspaceNumberCheck: async ({ operator, workspace, created }) =>
    assert.strictEqual(
      (await operator.numberChecks.get(workspace, created.check)).status,
      "completed",
    ),
  listWorkspaceNumberCheckResults: async ({ operator, workspace, created }) =>
    assert.strictEqual(
      (await first(operator.numberChecks.results(workspace, created.check)))?.phone,
      to.phone,
    ),

  createWorkspaceWebhook: async ({ operator, workspace }) =>
    assert.property(
      await operator.webhooks.create(workspace, { url: "https://example.com/other" }),
      "secret",
    ),
  deleteWorkspaceWebhook: async ({ operator, workspace, webhook }) =>
    assert.isTrue((await operator.webhooks.delete(workspace, webhook.id)).deleted),
  rotateWorkspaceWebhookSecret: async ({ operator, workspace, webhook }) =>
    assert.lengthOf((await operator.webhooks.rotateSecret(workspace, webhook.id)).secret, 64),
  testWorkspaceWebhook: async ({ operator, workspace, webhook }) =>
    assert.strictEqual((await operator.webhooks.test(workspace, webhook.id)).type, "ping"),

  linkNumber: async ({ operator, workspace }) =>
    assert.strictEqual(
      (await operator.numbers.link(workspace, { login_method: "qr" })).status,
      "connecting",
    ),

  streamNews: async ({ operator, workspace }) => {
    const { now, topic } = (await first(operator.follow(workspace))) ?? {}
    assert.strictEqual(topic, "clock")
    assert.match(now ?? "", /Z$/)
  },

  createKey: async ({ operator, workspace }) =>
    assert.match(
      (await operator.keys.create(workspace, { version: 2, name: "Test", mode: "test" })).key,
      /^svc_test_/,
    ),
  listKeys: async ({ operator, workspace, created }) =>
    assert.include(
      (await operator.keys.list(workspace)).map(({ id }) => id),
      created.key,
    ),
  revokeKey: async ({ operator, workspace, created }) =>
    assert.deepStrictEqual(await operator.keys.revoke(workspace, created.key), {
      id: created.key,
      revoked: true,
    }),

  createNumber: async ({ operator, workspace }) =>
    assert.strictEqual(
      (
        await operator.numbers.create(workspace, {
          platform: "whatsapp",
          phone: "+15550100003",
          status: "disconnected",
        })
      ).phone,
      "15550100003",
    ),
  listWorkspaceNumbers: async ({ operator, workspace, number }) =>
    assert.strictEqual((await operator.numbers.list(workspace))[0]?.id, number),
  getWorkspaceNumber: async ({ operator, workspace, number }) =>
    assert.isNull((await operator.numbers.get(workspace, number)).proxy),
  updateNumber: async ({ operator, workspace, number }) =>
    assert.strictEqual(
      (await operator.numbers.update(workspace, number, { pacing: { per_minute: 30 } })).pacing
        .per_minute,
      30,
    ),
  deleteNumber: async ({ operator, workspace, number }) =>
    assert.isTrue((await operator.numbers.delete(workspace, number)).deleted),
  listConnections: async ({ operator, workspace, number }) =>
    assert.strictEqual((await operator.numbers.connections(workspace)).data[0]?.number_id, number),
  getConnection: async ({ operator, workspace, number }) =>
    assert.strictEqual((await operator.numbers.connection(workspace, number)).state, "connected"),
  pauseNumber: async ({ operator, workspace, number }) =>
    assert.strictEqual((await operator.numbers.pause(workspace, number)).reason, "paused"),
  resumeNumber: async ({ operator, workspace, number }) =>
    assert.isNull((await operator.numbers.resume(workspace, number)).reason),
  checkProxy: async ({ operator, workspace, number }) => {
    await operator.numbers.update(workspace, number, { proxy_url: "http://a:b@127.0.0.1:9" })
    assert.deepStrictEqual(await operator.numbers.checkProxy(workspace, number), {
      ok: false,
      error: "no_remote",
      duration_ms: 0,
    })
  },
  logOutNumber: async ({ operator, workspace, number }) =>
    assert.strictEqual((await operator.numbers.logOut(workspace, number)).status, "disconnected"),

  beginTelegramLogin: async ({ operator, telegram, workspace }) =>
    refusedWith(
      "telegram_not_configured",
      operator.telegramLogins.begin(workspace, await telegram(), { method: "qr" }),
    ),
  getTelegramLogin: async ({ operator, telegram, workspace }) =>
    refusedWith("login_not_found", operator.telegramLogins.get(workspace, await telegram())),
  cancelTelegramLogin: async ({ operator, telegram, workspace }) =>
    refusedWith("login_not_found", operator.telegramLogins.cancel(workspace, await telegram())),
  giveTelegramCode: async ({ operator, telegram, workspace }) =>
    refusedWith(
      "login_not_found",
      operator.telegramLogins.code(workspace, await telegram(), { code: "12345" }),
    ),
  giveTelegramPassword: async ({ operator, telegram, workspace }) =>
    refusedWith(
      "login_not_found",
      operator.telegramLogins.password(workspace, await telegram(), { password: "secret" }),
    ),

  createContact: async ({ operator, workspace }) =>
    assert.strictEqual(
      (await operator.contacts.create(workspace, { name: "Bo", username: "@bo_example" })).name,
      "Bo",
    ),
  listContacts: async ({ operator, workspace, created }) =>
    assert.strictEqual((await first(operator.contacts.list(workspace)))?.id, created.contact),
  deleteContact: async ({ operator, workspace, created }) =>
    assert.isTrue((await operator.contacts.delete(workspace, created.contact)).deleted),

  listWorkspaceWebhooks: async ({ operator, workspace, webhook }) =>
    assert.strictEqual((await operator.webhooks.list(workspace))[0]?.id, webhook.id),
  listDeliveries: async ({ operator, workspace, webhook }) =>
    assert.strictEqual(
      (await first(operator.webhooks.deliveries(workspace, webhook.id, { limit: 1 })))?.event_id,
      webhook.event,
    ),
  getDelivery: async ({ operator, workspace, webhook }) => {
    const [{ id } = { id: 0 }] = (await operator.webhooks.deliveries(workspace, webhook.id).page())
      .data
    const { request_body: sent, response_body: answered } = await operator.webhooks.delivery(
      workspace,
      webhook.id,
      id,
    )
    assert.include(sent, webhook.event)
    assert.isNull(answered)
  },
  updateWorkspaceWebhook: async ({ operator, workspace, webhook }) =>
    assert.strictEqual(
      (await operator.webhooks.update(workspace, webhook.id, { description: "Till" })).description,
      "Till",
    ),
  recoverEvents: async ({ operator, workspace, webhook }) =>
    assert.deepStrictEqual(
      await operator.webhooks.recover(workspace, webhook.id, {
        since: new Date(Date.now()).toISOString(),
      }),
      { queued: 0, more: false },
    ),
  resumeWebhook: async ({ operator, workspace, webhook }) =>
    assert.isTrue((await operator.webhooks.resume(workspace, webhook.id)).active),
  redeliverEvent: async ({ operator, workspace, webhook: { event, id } }) =>
    assert.isTrue((await operator.webhooks.redeliver(workspace, id, { event_id: event })).queued),

  listCallbackDeliveries: async ({ operator, workspace }) =>
    assert.deepStrictEqual(await operator.callbacks.deliveries(workspace).page(), {
      data: [],
      next_cursor: null,
    }),
  getCallbackSecret: async ({ operator, workspace }) =>
    assert.lengthOf((await operator.callbacks.secret(workspace)).secret, 64),
  rotateCallbackSecret: async ({ operator, workspace }) =>
    assert.lengthOf((await operator.callbacks.rotateSecret(workspace)).secret, 64),
  previewReminder: async ({ operator, workspace }) =>
    assert.lengthOf(
      (await operator.reminders.preview(workspace, { schedule: reminder.schedule, count: 2 })).data,
      2,
    ),
  runReminder: async ({ operator, workspace, created }) =>
    assert.strictEqual(
      (await operator.reminders.run(workspace, created.reminder, { idempotencyKey: "once" }))
        .outcome,
      "accepted",
    ),
  listReminderRuns: async ({ operator, workspace, created }) =>
    assert.isUndefined(await first(operator.reminders.runs(workspace, created.reminder))),

  getBehaviour: async ({ operator, number }) =>
    assert.strictEqual((await operator.simulator.behaviour(number)).send, "succeed"),
  getRegistered: async ({ operator }) =>
    assert.isNull((await operator.simulator.registered()).phones),
  setBehaviour: async ({ operator, number }) =>
    assert.strictEqual(
      (await operator.simulator.setBehaviour(number, { send: "fail" })).send,
      "fail",
    ),
  scanCode: async ({ linking, operator }) =>
    assert.strictEqual(
      (await operator.simulator.scan(await linking(), { phone: "+15550100004" })).status,
      "connected",
    ),
  logOut: async ({ operator, number }) =>
    assert.strictEqual((await operator.simulator.logOut(number)).status, "disconnected"),
  setRegistered: async ({ operator }) =>
    assert.isNull((await operator.simulator.setRegistered({ phones: null })).phones),
  tick: async ({ created, operator }) =>
    assert.strictEqual(
      (await operator.simulator.tick(created.message, { status: "read" })).status,
      "read",
    ),
  listSent: async ({ created, number, operator }) =>
    assert.strictEqual(
      (await first(operator.simulator.sent({ number_id: number })))?.message_id,
      created.message,
    ),
  listReceivers: async ({ operator, workspace }) => {
    await operator.simulator.setReceiverAnswer(workspace, "listed", {})
    const names = (await operator.simulator.receivers(workspace)).map(({ name }) => name)
    assert.include(names, "listed")
  },
  setReceiverAnswer: async ({ operator, workspace }) =>
    assert.deepStrictEqual(
      (await operator.simulator.setReceiverAnswer(workspace, "shop", { status: 500 })).answer,
      { status: 500, body: "", hangs: false },
    ),
  listReceiverCalls: async ({ operator, workspace }) =>
    assert.deepStrictEqual(await operator.simulator.receiverCalls(workspace, "shop"), []),
  clearReceiverCalls: async ({ operator, workspace }) =>
    assert.strictEqual((await operator.simulator.clearReceiverCalls(workspace, "shop")).calls, 0),
  getClock: async ({ operator }) =>
    assert.match((await operator.simulator.clock()).now, /^\d{4}-.*Z$/),
  advanceClock: async ({ operator }) => {
    const { now } = await operator.simulator.clock()
    const moved = await operator.simulator.advance({ seconds: 60 })
    assert.isAtLeast(Date.parse(moved.now) - Date.parse(now), 60_000)
  },
  settle: async ({ operator }) => assert.deepStrictEqual(await operator.simulator.settle(), {}),

  getMessageTimeline: async ({ created, operator, workspace }) => {
    const { data, waiting } = await operator.messages.timeline(workspace, created.scheduled)
    assert.strictEqual(data[0]?.type, "accepted")
    assert.strictEqual(waiting?.for[0]?.reason, "scheduled")
  },
  cancelWorkspaceMessages: async ({ operator, workspace }) => {
    const send_at = new Date(Date.now() + 86_400_000).toISOString()
    const { id } = await operator.messages.send(workspace, { to, text: "Hello", send_at })
    assert.deepStrictEqual(await operator.messages.cancelMany(workspace, { ids: [id] }), {
      cancelled: 1,
      not_cancellable: 0,
      more: false,
    })
  },
  cancelWorkspaceMessage: async ({ created, operator, workspace }) =>
    assert.strictEqual(
      (await operator.messages.cancel(workspace, created.scheduled)).status,
      "cancelled",
    ),
  readFigures: async ({ operator, workspace }) => {
    const { buckets } = await operator.figures.get(workspace, { range: "7d", mode: "live" })
    assert.lengthOf(buckets, 28)
  },
  readServiceFigures: async ({ operator }) =>
    assert.isTrue((await operator.figures.service()).store_up),
  // These come last: a restore holds what waits in the whole store.
  listHeldWorkspaces: async ({ operator, workspace }) => {
    await operator.store.restored({ again: true })
    assert.deepInclude(await operator.store.held(), {
      workspace_id: workspace,
      messages: 1,
      reminders: 0,
      campaigns: 0,
    })
  },
  listHeld: async ({ created, operator, workspace }) => {
    await operator.store.restored({ again: true })
    assert.strictEqual((await first(operator.held.list(workspace)))?.id, created.scheduled)
  },
  releaseHeld: async ({ created, operator, workspace }) => {
    await operator.store.restored({ again: true })
    assert.deepStrictEqual(await operator.held.release(workspace, { ids: [created.scheduled] }), {
      released: 1,
      more: false,
    })
  },
  markHeldSent: async ({ created, operator, workspace }) => {
    await operator.store.restored({ again: true })
    const sent_at = "2026-03-01T09:00:00Z"
    const marked = await operator.held.markSent(workspace, { ids: [created.scheduled], sent_at })
    assert.deepStrictEqual(marked, { marked: 1, more: false })
  },
  cancelHeld: async ({ operator, workspace }) => {
    await operator.store.restored({ again: true })
    assert.deepStrictEqual(await operator.held.cancel(workspace, { filter: {} }), {
      cancelled: 1,
      more: false,
    })
  },
  storeRestored: ({ operator }) => refusedWith("already_restored", operator.store.restored()),
}

/** The document of the service, which no entry changes. */
const makeDocument = async (url: string) =>
  readDocument((await (await fetch(`${url}/openapi.json`)).json()) as DocumentObject)

let read: ReturnType<typeof makeDocument> | undefined

/** Method and path of the latest request that an entry made. */
let called: ReadonlyArray<string> = []

const watched = (address: string, init: RequestInit) => {
  called = [init.method ?? "", new URL(address).pathname]
  return fetch(address, init)
}

let toRead: Promise<Scene> | undefined

const aScene = async (url: string): Promise<Scene> => {
  const { client, key, number, operator, workspace } = await aWorkspace(url)
  const inWorkspace = workspace.id
  const endpoint = await client.webhooks.create({ url: "https://example.com/hook" })
  const records = await Promise.all([
    client.messages.send({ to, text: "Hello" }),
    client.messages.send({ to, text: "Later", send_at: "2100-01-01T00:00:00Z" }),
    client.reminders.create(reminder),
    client.media.upload({ file: "a,b\n", file_name: "list.csv" }),
    client.numberChecks.create({ phones: [to.phone] }),
    operator.contacts.create(inWorkspace, { name: "Ann", phone: to.phone }),
    operator.keys.create(inWorkspace, { version: 2, name: "Second" }),
  ])
  const [message, scheduled, rent, media, check, contact, second] = records
  const created = {
    message: message.id,
    scheduled: scheduled.id,
    reminder: rent.id,
    media: media.id,
    check: check.id,
    contact: contact.id,
    key: second.id,
  }
  await operator.simulator.settle()
  const event = (await first(operator.webhooks.deliveries(inWorkspace, endpoint.id)))?.event_id
  let reader: ReturnType<OperatorClient["keys"]["create"]> | undefined
  return {
    client: messagingClient({ url, key, fetch: watched }),
    operator: operatorClient({ url, token, fetch: watched }),
    workspace: inWorkspace,
    number: number.id,
    telegram: async () => {
      const account = { platform: "telegram", phone: to.phone, status: "disconnected" } as const
      return (await operator.numbers.create(inWorkspace, account)).id
    },
    created,
    webhook: { id: endpoint.id, event: event ?? "" },
    received: async () => {
      await operator.conversations.set(inWorkspace, {})
      reader ??= operator.keys.create(inWorkspace, { version: 2, name: "Reader" })
      const written = { from: { phone: to.phone }, remote_id: "first" }
      const message = await operator.simulator.write(number.id, written)
      if (!("id" in message)) throw new Error("it waits")
      const { key: own } = (await reader) as { readonly key: string }
      return { client: messagingClient({ url, key: own, fetch: watched }), message }
    },
    linking: async () => {
      const { id } = await client.numbers.connect({})
      await operator.simulator.settle()
      return id
    },
  }
}

layer(Service.layer, { excludeTestServices: true })("every operation by its method", (it) => {
  for (const [id, entry] of Object.entries(entries)) {
    it.effect(id, () =>
      Effect.gen(function* () {
        const { url } = yield* Service
        yield* Effect.promise(async () => {
          // Reads must not differ.
          const isReading = /^(?:get|list)/.test(id)
          await entry(await (isReading ? (toRead ??= aScene(url)) : aScene(url)))
          const document = await (read ??= makeDocument(url))
          const [method = "", path = ""] = called
          assert.strictEqual(document.at(path)?.get(method)?.id, id)
        })
      }),
    )
  }

  it.effect("has all that the document has, each with a text that editors show", () =>
    Effect.gen(function* () {
      const { url } = yield* Service
      yield* Effect.promise(async () => {
        const document = await (read ??= makeDocument(url))
        const ids = document.operations
          .filter(({ part }) => ["v2", "operator", "emulator"].includes(part))
          .map((operation) => operation.id)
        assert.sameMembers(ids, Object.keys(entries))
        for (const file of ["client.ts", "operator.ts"]) {
          const source = await readFile(resolve(import.meta.dirname, "../src", file), "utf8")
          const methods = [...source.matchAll(/^ +(\w+): at\./gm)].map(([, name]) => name)
          const received = [...source.matchAll(/\*\/\n +(\w+): at\./g)].map(([, name]) => name)
          assert.deepStrictEqual(received, methods)
        }
      })
    }),
  )
})
