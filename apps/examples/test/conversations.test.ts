/** Recipes for what people write: each does what its page says, against a running service. */
import { messagingClient, operatorClient } from "@messaging-service/client"
import type { MessagingClient } from "@messaging-service/client"
import type { WebhookEvent } from "@messaging-service/client/webhook"
import { serve } from "@hono/node-server"
import { open } from "@messaging-service/service"
import { Hono } from "hono"
import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, describe, it, vi } from "vitest"
import { answerCustomers } from "../src/conversations/answer.ts"
import { forwardToChatwoot, fromChatwoot } from "../src/conversations/chatwoot.ts"
import { receiver } from "../src/receivers/hono.ts"

const docs = join(import.meta.dirname, "../../../docs")
const folder = join(import.meta.dirname, "../src/conversations")
const ada = { phone: "+15550100002", name: "Ada" }

const token = "an operator token for the recipes"
const server = createServer((request, response) => void handler(request, response))
await once(server.listen(0, "127.0.0.1"), "listening")
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const messaging = await open({
  egress: "open",
  http: { operatorToken: token, publicUrl: url },
})
// With the dashboard come the controls of simulated phones.
const handler = messaging.nodeHandler({ dashboard: true })
const directory = await mkdtemp(join(tmpdir(), "conversations-"))
const closings: Array<() => void> = []

afterAll(async () => {
  for (const close of closings) close()
  server.close()
  server.closeAllConnections()
  await messaging.close()
  await rm(directory, { recursive: true, force: true })
})

/** A workspace with conversations, a number and a key. */
const aShop = async () => {
  const { id } = await messaging.workspaces.create({ name: "Shop" })
  const inside = messaging.operator({ id })
  await inside.conversations.set()
  const number = await inside.numbers.create({ platform: "whatsapp", phone: "+15550100001" })
  const { key } = await inside.keys.create({ version: 2, name: "Shop" })
  const client = messagingClient({ url: url, key })
  const { simulator } = operatorClient({ url: url, token })
  const write = (text: string, more: object = {}) =>
    simulator.write(number.id, { from: ada, text, ...more })
  return { client, key, number, simulator, write }
}

/** An app on loopback, and its address. */
const listen = async ({ fetch }: Hono): Promise<string> => {
  const listening = serve({ fetch, port: 0, hostname: "127.0.0.1" })
  closings.push(() => listening.close())
  if (!listening.listening) await once(listening, "listening")
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

/** Delivers what people write to a handler, as the receivers of the page do. */
const deliver = async (
  client: MessagingClient,
  handle: (event: WebhookEvent) => Promise<void>,
): Promise<void> => {
  const app = new Hono()
  const at = await listen(app)
  const { secret } = await client.webhooks.create({
    url: `${at}/events`,
    events: ["message.received"],
  })
  app.route("/", receiver(secret ?? "", handle))
}

const sentTexts = async (client: MessagingClient) => {
  const { data } = await client.messages.list({}).page()
  return data.map(({ reply_to, text, to }) => ({ reply_to, text, to }))
}

describe("the recipes for conversations", () => {
  it("are the files of the folder, word for word", async () => {
    const pages = await Promise.all(
      ["recipes.md", "recipes-for-receivers.md"].map((page) => readFile(join(docs, page), "utf8")),
    )
    for (const file of await readdir(folder)) {
      assert.include(
        pages.join("\n"),
        `\`\`\`ts\n${await readFile(join(folder, file), "utf8")}\`\`\``,
      )
    }
  })

  it("answer a customer once, quoting the question, however often it is delivered", async () => {
    const { client, write } = await aShop()
    const events: Array<WebhookEvent> = []
    const answer = answerCustomers(client, (text) =>
      text.endsWith("?") ? "It is. We close at six." : undefined,
    )
    await deliver(client, async (event) => {
      await answer(event)
      await answer(event)
      events.push(event)
    })
    const question = await write("Is my order ready?")
    await write("Thank you.")
    await vi.waitFor(() => assert.lengthOf(events, 2), { timeout: 10_000 })
    const [sent, ...more] = await sentTexts(client)
    assert.isEmpty(more)
    assert.strictEqual(sent?.text, "It is. We close at six.")
    assert.deepInclude(sent, {
      reply_to: { received_message_id: "id" in question ? question.id : 0 },
    })
  })

  it("leave a question alone that its author took back", async () => {
    const { client, simulator, write } = await aShop()
    const question = await write("Is my order ready?")
    if (!("id" in question)) throw new Error("the number is away")
    const event: WebhookEvent = {
      id: "evt_took_back",
      type: "message.received",
      created_at: question.received_at,
      data: { received_message: question },
    }
    await simulator.revoke(question.id)
    await answerCustomers(client, () => "It is.")(event)
    assert.isEmpty(await sentTexts(client))
  })

  it("read on from where the last run ended", async () => {
    const { key, number, write } = await aShop()
    const run = async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "readOn.ts")], {
        cwd: directory,
        env: { PATH: process.env["PATH"], URL: url, KEY: key, NUMBER: String(number.id) },
      })
      return stdout.replaceAll(/chat \d+/g, "chat …")
    }
    await write("One")
    await write("Two")
    assert.strictEqual(await run(), "1 chat … text One\n2 chat … text Two\n")
    assert.strictEqual(await run(), "")
    await write("Three")
    assert.strictEqual(await run(), "3 chat … text Three\n")
  })
})

/** The public API of a Chatwoot inbox, as far as the recipe calls it, and what was posted to it. */
const aChatwoot = async () => {
  const posted: Array<Readonly<Record<string, unknown>>> = []
  let lastId = 70
  const conversations = new Map<string, Array<{ readonly id: number }>>()
  const app = new Hono().basePath("/public/api/v1/inboxes/inbox/contacts")
  app.post("/", async (context) => {
    const contact = await context.req.json<{ readonly source_id: string }>()
    if (!conversations.has(contact.source_id)) conversations.set(contact.source_id, [])
    return context.json(contact)
  })
  app.get("/:contact/conversations", (context) =>
    context.json(conversations.get(context.req.param("contact")) ?? []),
  )
  app.post("/:contact/conversations", (context) => {
    const conversation = { id: ++lastId }
    conversations.get(context.req.param("contact"))?.push(conversation)
    return context.json(conversation)
  })
  app.post("/:contact/conversations/:id/messages", async (context) => {
    const form = await context.req.formData()
    const file = form.get("attachments[]")
    posted.push({
      ...context.req.param(),
      content: form.get("content"),
      file: file instanceof File ? [file.name, await file.text()] : null,
    })
    return context.json({ id: posted.length })
  })
  return { posted, inbox: { url: await listen(app), inbox: "inbox" } }
}

describe("the recipe for Chatwoot", () => {
  it("posts texts, files, and why a file did not come, to one conversation of a chat", async () => {
    const { client, write } = await aShop()
    const { inbox, posted } = await aChatwoot()
    await deliver(client, forwardToChatwoot(inbox))
    const send = async (text: string, more?: object) => {
      const count = posted.length
      await write(text, more)
      await vi.waitFor(() => assert.isAbove(posted.length, count), { timeout: 10_000 })
    }
    await send("Is my order ready?")
    const data = Buffer.from("four apples").toString("base64")
    await send("My list", { media: { file_name: "list.txt", data } })
    await send("", { kind: "location", content: { latitude: 1, longitude: 2 } })
    const [{ contact, id } = {}] = posted
    assert.match(String(contact), /^chat-\d+$/)
    assert.deepStrictEqual(posted, [
      { contact, id, content: "Is my order ready?", file: null },
      { contact, id, content: "My list", file: ["list.txt", "four apples"] },
      { contact, id, content: "(location)", file: null },
    ])
  })

  it("fails while Chatwoot does, so that the service delivers the event again", async () => {
    const { client, write } = await aShop()
    const question = await write("Is my order ready?")
    const forward = forwardToChatwoot({ url: await listen(new Hono()), inbox: "inbox" })
    const event = { type: "message.received", data: { received_message: question } }
    const failed = await forward(event as WebhookEvent).catch(String)
    assert.strictEqual(failed, "Error: Chatwoot answered 404")
    assert.isEmpty(await sentTexts(client))
  })

  it("sends an agent's answer to the chat once, and nothing else that Chatwoot posts", async () => {
    const { client, write } = await aShop()
    const question = await write("Is my order ready?")
    const chat = "chat" in question ? question.chat.id : 0
    const at = await listen(fromChatwoot(client, "a-secret-path"))
    const post = async (more: object, path = "a-secret-path") => {
      const conversation = { contact_inbox: { source_id: `chat-${chat}` } }
      const body = JSON.stringify({
        event: "message_created",
        id: 9,
        private: false,
        conversation,
        ...more,
      })
      return (await fetch(`${at}/chatwoot/${path}`, { method: "POST", body })).status
    }
    const answer = { message_type: "outgoing", content: "It is." }
    assert.strictEqual(await post(answer), 204)
    assert.strictEqual(await post(answer), 204)
    assert.strictEqual(await post({ ...answer, id: 10, private: true }), 204)
    assert.strictEqual(await post({ ...answer, id: 11, message_type: "incoming" }), 204)
    assert.strictEqual(await post({ ...answer, id: 12, event: "conversation_updated" }), 204)
    assert.strictEqual(await post(answer, "guessed"), 404)
    const sent = await sentTexts(client)
    assert.deepStrictEqual(
      sent.map(({ text, to }) => [text, "chat_id" in to ? to.chat_id : null]),
      [["It is.", chat]],
    )
  })
})
