/**
 * A team's whole use of the service in one program: sending, a transaction of its own, cancelling,
 * files, reminders, events, webhooks, the client, a restart, and a test over a year. In memory, or
 * on the PostgreSQL at `DATABASE_URL`. It prints the result of each step.
 */
import { messagingClient } from "@messaging-service/client"
import { MessagingError, open } from "@messaging-service/service"
import type { Api, Messaging, OpenOptions } from "@messaging-service/service"
import { openTest } from "@messaging-service/service/testing"
import { verifyWebhook } from "@messaging-service/client/webhook"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { Pool } from "pg"

const address = process.env["DATABASE_URL"]
const pool = address === undefined ? null : new Pool({ connectionString: address, max: 4 })

const options: OpenOptions = {
  // The receiver of webhooks is on this machine.
  egress: "open",
  http: { basePath: "/messaging" },
  ...(pool !== null && {
    store: { pool, schema: "texts" },
    dataDirectory: process.env["DATA_DIR"],
  }),
}

const to = { phone: "+15550100002" }

const toCode = (error: unknown) => {
  if (!(error instanceof MessagingError)) throw error
  return error.code
}

const all = async <A>(list: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const items: Array<A> = []
  for await (const item of list) items.push(item)
  return items
}

/** Answers webhooks, and keeps the ones signed with the secret. */
const receiver = async () => {
  const secret = { value: "" }
  const types: Array<string> = []
  const server = createServer(async (request, response) => {
    const verification = await verifyWebhook({
      body: await text(request),
      headers: request.headers,
      secret: secret.value,
    })
    types.push(verification.valid ? verification.event.type : verification.reason)
    response.writeHead(204).end()
  })
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve)
  })
  const { port } = server.address() as AddressInfo
  return { secret, types, server, url: `http://127.0.0.1:${port}/` }
}

/** One order that is committed, and one that is rolled back. */
const inTransactions = async (api: Api) => {
  if (pool === null) {
    const none = { query: async () => ({ rows: [] }) }
    return api.messages.send({ to, text: "No" }, { transaction: none }).then(() => "sent", toCode)
  }
  await pool.query("create table public.orders (id integer primary key)")
  const client = await pool.connect()
  for (const [id, end] of ["commit", "rollback"].entries()) {
    await client.query("begin")
    await client.query("insert into public.orders values ($1)", [id])
    await api.messages.send(
      { to, text: `Order: ${end}` },
      { idempotencyKey: `order ${id}`, transaction: client },
    )
    await client.query(end)
  }
  client.release()
  const { rows } = await pool.query<{ readonly orders: number }>(
    "select count(*)::integer as orders from public.orders",
  )
  return rows[0]?.orders
}

/** Before anything falls due: no worker runs, so each step is visible separately. */
const work = async (messaging: Messaging) => {
  const numbers = [{ phone: "+15550100001" }]
  const shop = await messaging.workspaces.ensure("shop", { numbers })
  const ensuredOnce = (await messaging.workspaces.ensure("shop", { numbers })).id === shop.id
  const api = messaging.as(shop)
  const { secret, server, types, url } = await receiver()
  secret.value = (await api.webhooks.create({ url })).secret ?? ""

  const heard: Array<string> = []
  messaging.on(["message.sent", "message.cancelled"], ({ message, type }) => {
    heard.push(`${type}: ${message.text}`)
  })

  const hello = { to, text: "Hello" }
  const first = await api.messages.send(hello, { idempotencyKey: "hello" })
  const again = await api.messages.send(hello, { idempotencyKey: "hello" })
  const transactions = await inTransactions(api)

  const tomorrow = new Date(Date.now() + 86_400_000)
  const planned = await api.messages.send({ to, text: "Tomorrow", sendAt: tomorrow })
  const cancelled = (await api.messages.cancel(planned.id)).status
  const twice = await api.messages.cancel(planned.id).then(() => "cancelled", toCode)

  const content = new TextEncoder().encode("%PDF-1.7\n%%EOF\n")
  const file = await api.media.upload({ fileName: "menu.pdf", content })
  await api.messages.send({ to, text: "The menu", media: { mediaId: file.id } })
  const stored = new TextDecoder().decode(await api.media.content(file.id)) === "%PDF-1.7\n%%EOF\n"

  const schedule = { cron: "0 9 1 * *", timezone: "Europe/Berlin" }
  const rent = await api.reminders.create({ name: "Rent", to, text: "Rent", schedule })
  const paused = await api.reminders.update(rent.id, { active: false })
  const reminders = await all(api.reminders.list())

  const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
  const client = messagingClient({
    key,
    url: "http://localhost/messaging",
    fetch: (input, init) => messaging.handler(new Request(input, init)),
  })
  const overHttp = await client.messages.send({ to, text: "Over HTTP" })
  const refused = await client.messages.send({ to: { phone: "12" }, text: "No" }).then(
    () => "sent",
    (error: { readonly code?: string }) => error.code,
  )

  const { delivered, finished, sent } = await messaging.drain()
  server.close()
  const messages = await all(api.messages.list({ limit: 2 }))
  const result = {
    ensuredOnce,
    repeat: again.id === first.id && again.replayed,
    transactions,
    cancelled,
    twice,
    file: { stored, mimeType: file.mimeType },
    reminders: {
      isPlanned: rent.nextRunAt !== null,
      paused: paused.nextRunAt,
      all: reminders.length,
    },
    client: { workspace: (await client.me()).workspace.name, refused },
    overHttp: (await client.messages.get(overHttp.id)).status,
    drained: { delivered, finished, sent },
    statuses: messages.map((message) => `${message.text}: ${message.status}`).toSorted(),
    webhooks: types.toSorted(),
  }
  await messaging.close()
  // Listeners first receive what was committed.
  return { ...result, heard: heard.toSorted() }
}

/** A process that only accepts; the next one does what falls due afterwards. */
const restart = async () => {
  const before = await open({ ...options, worker: false })
  const numbers = [{ phone: "+15550100001" }]
  const shop = await before.workspaces.ensure("shop", { numbers })
  const sendAt = new Date(Date.now() + 2000)
  const { id } = await before.as(shop).messages.send({ to, text: "Later", sendAt })
  await before.close()

  const after = await open({ ...options, worker: true })
  const same = await after.workspaces.ensure("shop", { numbers })
  const messages = after.as(same).messages
  if (pool === null) {
    const left = await messages.get(id).then(() => "there", toCode)
    await after.close()
    return left
  }
  await new Promise<void>((resolve) => {
    const heard = ({ message }: { readonly message: { readonly id: number } }) => {
      if (message.id === id) resolve()
    }
    after.on("message.sent", heard, { after: 0 })
  })
  const { sentAt, status } = await messages.get(id)
  const isInTime = sentAt !== null && sentAt.getTime() + 1000 > sendAt.getTime()
  await after.close()
  return isInTime ? status : "too early"
}

/** The same program's test of a monthly reminder. */
const year = async () => {
  const test = await openTest({ at: "2026-01-15T12:00:00Z", seed: "a" })
  const schedule = { cron: "0 9 1 * *", timezone: "Europe/Berlin" }
  await test.api.reminders.create({ name: "Rent", to, text: "Rent", schedule })
  await test.advance({ days: 365 })
  const times = test.sent.map(({ at }) => at.toISOString())
  await test.close()
  return [times.length, times[0], times[6]]
}

const worked = await work(await open({ ...options, worker: false }))
const result = { ...worked, restart: await restart(), year: await year() }
await pool?.end()
console.log(JSON.stringify(result))
