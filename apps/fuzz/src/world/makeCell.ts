/**
 * A cell: the workspaces of a run of consecutive requests. Each run gets a new one, with records of
 * every kind, so one run cannot spoil another.
 */
import { isJson } from "@messaging-service/testkit/openapi"
import type { Json } from "@messaging-service/testkit/openapi"
import { multipart, filePart, png } from "../request/multipart.ts"
import type { Connection } from "../wire/Connection.ts"
import { noIds, reminderText } from "./Inventory.ts"
import type { IdKind, Ids, KeyName, Inventory } from "./Inventory.ts"

export interface Cell {
  readonly inventory: Inventory
  /** Keys that no request uses, for inspection: live and test. */
  readonly witnesses: readonly [live: string, test: string]
  /** Its initial messages. */
  readonly messages: ReadonlyArray<number>
}

export interface CellOptions {
  readonly connection: Connection
  readonly host: string
  readonly operatorToken: string
  readonly receiver: string
  /** Whether the service accepts links to the receiver: without them, a cell has no webhooks. */
  readonly hasWebhooks: boolean
  /** One connected number of each platform, so that requests need not name it. */
  readonly isSingle: boolean
  /** The number has used up its 24-hour quota. */
  readonly isFull: boolean
  /** Plans of all kinds; the usual one has everything. */
  readonly plan: "all" | "little" | "none"
}

class CellFailed extends Error {}

interface Call {
  readonly method: string
  readonly path: string
  readonly token: string
  readonly body?: unknown
  readonly form?: { readonly contentType: string; readonly body: Buffer }
}

/** A plain request that must succeed. */
export const call = async (
  connection: Connection,
  host: string,
  { body, form, method, path, token }: Call,
): Promise<Json> => {
  const content = form?.body ?? (body === undefined ? null : Buffer.from(JSON.stringify(body)))
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${token}`,
    ...(content === null
      ? []
      : [
          `Content-Type: ${form?.contentType ?? "application/json"}`,
          `Content-Length: ${content.length}`,
        ]),
  ]
  const bytes = Buffer.concat([
    Buffer.from(`${lines.join("\r\n")}\r\n\r\n`),
    content ?? Buffer.alloc(0),
  ])
  const outcome = await connection.request({ bytes, method, patienceMillis: 60_000, alone: false })
  if (outcome.kind !== "answer")
    throw new CellFailed(`${method} ${path}: ${JSON.stringify(outcome)}`)
  const text = outcome.answer.body.toString()
  if (outcome.answer.status >= 300) {
    throw new CellFailed(`${method} ${path}: ${outcome.answer.status} ${text.slice(0, 300)}`)
  }
  return JSON.parse(text) as Json
}

const everything = { scopes: "all" }

const keysOfCell: Readonly<Record<Exclude<KeyName, "v1">, Json>> = {
  live: everything,
  other: everything,
  test: { mode: "test" },
  limited: { number_ids: [] },
  sender: { scopes: ["messages:send"] },
  reader: { scopes: ["messages:read"] },
  revoked: everything,
}

/** A number's remaining 24-hour quota after each cell's initial message. */
const dailyLimit = 999

/** How a cell creates its records. */
interface Maker {
  /** As the operator, below `/admin/v1`. */
  operate(method: string, path: string, body?: unknown): Promise<Json>
  /** With a key of version 2. */
  request(token: string, path: string, body?: unknown): Promise<Json>
}

const toMaker = ({ connection, host, operatorToken }: CellOptions): Maker => ({
  operate: (method, path, body) =>
    call(connection, host, { method, path: `/admin/v1${path}`, token: operatorToken, body }),
  request: (token, path, body) =>
    call(connection, host, { method: "POST", path: `/api/v2${path}`, token, body }),
})

/** Records the id of a created record. */
const create = async (ids: Ids, kind: IdKind, record: Promise<Json>): Promise<number> => {
  const id = Number((await record)["id"])
  ids[kind].push(id)
  return id
}

const makeNumbers = async ({ operate }: Maker, ids: Ids, own: string, isSingle: boolean) => {
  const number = (body: Json) =>
    create(ids, "number", operate("POST", `${own}/numbers`, { platform: "whatsapp", ...body }))
  const whatsapp = await number({ phone: "+15550200001" })
  if (!isSingle) await number({ phone: "+15550200002", label: "Second" })
  const telegram = await number({ phone: "+15550200003", platform: "telegram" })
  await number({ phone: "+15550200004", status: "disconnected" })
  return { whatsapp, telegram }
}

const makeKeys = async ({ operate }: Maker, ids: Ids, own: string, whatsapp: number) => {
  const newKey = async (body: Json) => {
    const key = await operate("POST", `${own}/keys`, body)
    ids.key.push(Number(key["id"]))
    return key
  }
  const keys: Record<string, string> = {}
  for (const [name, more] of Object.entries(keysOfCell)) {
    const limit = name === "limited" ? { number_ids: [whatsapp] } : {}
    const key = await newKey({ version: 2, name, ...more, ...limit })
    keys[name] = String(key["key"])
    if (name === "revoked") await operate("DELETE", `${own}/keys/${String(key["id"])}`)
  }
  keys["v1"] = String((await newKey({ version: 1 }))["key"])
  const witness = async (mode: string) =>
    String((await newKey({ version: 2, name: "witness", mode }))["key"])
  const witnesses = [await witness("live"), await witness("test")] as const
  return { keys: keys as Record<KeyName, string>, witnesses }
}

const makeContacts = async ({ operate }: Maker, ids: Ids, own: string) => {
  const contact = (body: Json) => create(ids, "contact", operate("POST", `${own}/contacts`, body))
  await contact({ name: "Ada", phone: "+15550100001" })
  await contact({ name: "Bob", username: "@bob_b" })
}

const to = { phone: "+15550100001" }
const schedule = { cron: "0 9 1 1 *" }

/** Uploads a file; returns the path of its link. */
const makeFile = async ({ connection, host }: CellOptions, ids: Ids, token: string) => {
  const file = await call(connection, host, {
    method: "POST",
    path: "/api/v2/media",
    token,
    form: multipart([filePart("file", "first.png", png, "image/png")]),
  })
  ids.media.push(Number(file["id"]))
  return new URL(String(file["url"])).pathname
}

/** Sent, waiting and test messages; a reminder, a webhook and a number check. */
const makeRecords = async (
  { request }: Maker,
  ids: Ids,
  from: number,
  [live, test]: Cell["witnesses"],
  hook: Json | null,
) => {
  const later = { send_at: "2099-01-01T00:00:00Z" }
  await create(ids, "message", request(live, "/messages", { to, from, text: "first" }))
  await create(ids, "message", request(live, "/messages", { to, from, text: "later", ...later }))
  await create(ids, "message", request(test, "/messages", { to, from, text: "test", ...later }))
  const reminder = { name: "first", to, from, text: reminderText, schedule }
  await create(ids, "reminder", request(live, "/reminders", reminder))
  if (hook !== null) await create(ids, "webhook", request(live, "/webhooks", hook))
  const phones = ["+15550100001", "+15550100000"]
  await create(ids, "check", request(live, "/number-checks", { phones, from }))
}

/** A workspace that requests must not reach; returns the ids of its records and of pending events. */
const makeVictim = async ({ request, operate }: Maker, hook: Json | null) => {
  const victim = noIds()
  const id = await create(victim, "workspace", operate("POST", "/workspaces", { name: "Victim" }))
  const own = `/workspaces/${id}`
  const number = (body: Json) => create(victim, "number", operate("POST", `${own}/numbers`, body))
  await number({ platform: "whatsapp", phone: "+15550300001" })
  await number({ platform: "telegram", phone: "+15550300002" })
  const contact = { name: "Eve", phone: "+15550100009" }
  await create(victim, "contact", operate("POST", `${own}/contacts`, contact))
  const key = await operate("POST", `${own}/keys`, { version: 2, name: "theirs" })
  victim.key.push(Number(key["id"]))
  const token = String(key["key"])
  if (hook !== null) await create(victim, "webhook", request(token, "/webhooks", hook))
  await create(
    victim,
    "reminder",
    request(token, "/reminders", { name: "r", to, text: "first", schedule }),
  )
  const message = { to, text: "first", from: victim.number[0] }
  await create(victim, "message", request(token, "/messages", message))
  const events = await Promise.all(
    victim.webhook.map((each) => request(token, `/webhooks/${each}/test`)),
  )
  return { victim, events: events.map((event) => String(event["event_id"])) }
}

/** The path of a connecting number's QR code; none before the first code. */
const drawQrCode = async (
  { connection, host }: CellOptions,
  number: number,
  token: string,
): Promise<ReadonlyArray<string>> => {
  const path = `/api/v2/numbers/${number}`
  const { connect } = await call(connection, host, { method: "GET", path, token })
  const url = isJson(connect) ? connect["qr_code_url"] : null
  return typeof url === "string" ? [new URL(url).pathname] : []
}

/** Creates the workspaces with everything that requests may name. */
export const makeCell = async (options: CellOptions): Promise<Cell> => {
  const { hasWebhooks, host, isFull, isSingle, operatorToken, plan, receiver } = options
  const maker = toMaker(options)
  const { request, operate } = maker
  const hook = hasWebhooks ? { url: `${receiver}/hook` } : null

  const ids = noIds()
  const workspace = await operate("POST", "/workspaces", { name: "Fuzzed" })
  const id = Number(workspace["id"])
  ids.workspace.push(id)
  const own = `/workspaces/${id}`
  const { telegram, whatsapp } = await makeNumbers(maker, ids, own, isSingle)
  const { keys, witnesses } = await makeKeys(maker, ids, own, whatsapp)
  const [live] = witnesses
  await makeContacts(maker, ids, own)
  const file = await makeFile(options, ids, live)
  await makeRecords(maker, ids, whatsapp, witnesses, hook)

  const messages = [...ids.message]
  if (isFull) {
    const all = Array.from({ length: dailyLimit }, () => to)
    const { data } = await request(live, "/messages/batch", {
      to: all,
      from: whatsapp,
      text: "first",
    })
    messages.push(...(data as ReadonlyArray<Json>).map(({ id: each }) => Number(each)))
  }
  const connecting = await create(ids, "number", request(live, "/numbers", {}))
  const { events, victim } = await makeVictim(maker, hook)
  const links = [file, ...(await drawQrCode(options, connecting, live))]
  const { now } = await operate("GET", "/simulator/clock")
  await limit(plan, (body) => operate("PATCH", own, body))
  return {
    witnesses,
    messages,
    inventory: {
      host,
      operatorToken,
      clientId: Number(workspace["client_id"]),
      keys,
      ids,
      victim,
      whatsapp,
      telegram,
      now: Date.parse(String(now)),
      links,
      cursors: new Map(),
      events,
      receiver,
    },
  }
}

/** Deletes the cell's workspaces, so a long run does not accumulate their work. */
export const endCell = async (connection: Connection, { inventory }: Cell): Promise<void> => {
  const { host, ids, operatorToken, victim } = inventory
  const deleted = (id: number) => {
    const path = `/admin/v1/workspaces/${id}`
    return call(connection, host, { method: "DELETE", path, token: operatorToken })
  }
  for (const id of ids.workspace) await deleted(id)
  // Requests may have deleted these already.
  for (const id of victim.workspace) await deleted(id).catch(() => undefined)
}

/** Reduces the plan, once everything exists. */
const limit = async (plan: CellOptions["plan"], change: (body: Json) => Promise<Json>) => {
  if (plan === "none") await change({ plan: null })
  if (plan === "little") {
    const little = {
      name: "Little",
      messages_remaining: 5,
      reminders: false,
      qr_code_api: false,
      max_numbers: 5,
      media_storage_bytes: 6000,
    }
    await change({ plan: little })
  }
}
