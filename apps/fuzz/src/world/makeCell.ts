/**
 * A cell: the workspaces that a run of consecutive requests uses. It is made anew for each run, with
 * records of every kind, so that what one run spoils no other one meets.
 */
import { isJson } from "@messaging-service/testkit/openapi"
import type { Json } from "@messaging-service/testkit/openapi"
import { multipart, filePart, png } from "../request/multipart.ts"
import type { Connection } from "../wire/Connection.ts"
import { noIds, reminderText } from "./Inventory.ts"
import type { IdKind, Ids, KeyName, Inventory } from "./Inventory.ts"

export interface Cell {
  readonly inventory: Inventory
  /** Keys that no request uses, for looking at what there is: live and test. */
  readonly witnesses: readonly [live: string, test: string]
  /** The messages that it begins with. */
  readonly messages: ReadonlyArray<number>
}

export interface CellOptions {
  readonly connection: Connection
  readonly host: string
  readonly operatorToken: string
  readonly receiver: string
  /** Whether the service takes links to the receiver: without, a cell has no webhooks. */
  readonly hasWebhooks: boolean
  /** One connected number of each platform, so that requests need not name it. */
  readonly isSingle: boolean
  /** The number has sent all that it may in 24 hours. */
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
  const outcome = await connection.ask({ bytes, method, patienceMillis: 60_000, alone: false })
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

/** What a number may still send in its 24 hours after the message that each cell begins with. */
const dailyLimit = 999

/** Makes the workspaces with all that requests may name. */
export const makeCell = async (options: CellOptions): Promise<Cell> => {
  const { connection, hasWebhooks, host, isFull, isSingle, operatorToken, plan, receiver } = options
  const operate = (method: string, path: string, body?: unknown) =>
    call(connection, host, { method, path: `/admin/v1${path}`, token: operatorToken, body })
  const made = async (ids: Ids, kind: IdKind, record: Promise<Json>): Promise<number> => {
    const id = Number((await record)["id"])
    ids[kind].push(id)
    return id
  }

  const ids = noIds()
  const workspace = await operate("POST", "/workspaces", { name: "Fuzzed" })
  const id = Number(workspace["id"])
  ids.workspace.push(id)
  const own = `/workspaces/${id}`
  const number = (body: Json) =>
    made(ids, "number", operate("POST", `${own}/numbers`, { platform: "whatsapp", ...body }))
  const whatsapp = await number({ phone: "+15550200001" })
  if (!isSingle) await number({ phone: "+15550200002", label: "Second" })
  const telegram = await number({ phone: "+15550200003", platform: "telegram" })
  await number({ phone: "+15550200004", status: "disconnected" })

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

  await made(
    ids,
    "contact",
    operate("POST", `${own}/contacts`, { name: "Ada", phone: "+15550100001" }),
  )
  await made(
    ids,
    "contact",
    operate("POST", `${own}/contacts`, { name: "Bob", username: "@bob_b" }),
  )

  const ask = (path: string, body: unknown, token = witnesses[0]) =>
    call(connection, host, { method: "POST", path: `/api/v2${path}`, token, body })
  const to = { phone: "+15550100001" }
  const links: Array<string> = []
  const file = await call(connection, host, {
    method: "POST",
    path: "/api/v2/media",
    token: witnesses[0],
    form: multipart([filePart("file", "first.png", png, "image/png")]),
  })
  ids.media.push(Number(file["id"]))
  links.push(new URL(String(file["url"])).pathname)
  const schedule = { cron: "0 9 1 1 *" }
  await made(ids, "message", ask("/messages", { to, from: whatsapp, text: "first" }))
  await made(
    ids,
    "message",
    ask("/messages", { to, from: whatsapp, text: "later", send_at: "2099-01-01T00:00:00Z" }),
  )
  await made(
    ids,
    "message",
    ask(
      "/messages",
      { to, from: whatsapp, text: "test", send_at: "2099-01-01T00:00:00Z" },
      witnesses[1],
    ),
  )
  await made(
    ids,
    "reminder",
    ask("/reminders", { name: "first", to, from: whatsapp, text: reminderText, schedule }),
  )
  const hook = { url: `${receiver}/hook` }
  if (hasWebhooks) await made(ids, "webhook", ask("/webhooks", hook))
  await made(
    ids,
    "check",
    ask("/number-checks", { phones: ["+15550100001", "+15550100000"], from: whatsapp }),
  )

  const messages = [...ids.message]
  if (isFull) {
    const all = Array.from({ length: dailyLimit }, () => to)
    const { data } = await ask("/messages/batch", { to: all, from: whatsapp, text: "first" })
    messages.push(...(data as ReadonlyArray<Json>).map(({ id: each }) => Number(each)))
  }
  const connecting = await made(ids, "number", ask("/numbers", {}))

  const victim = noIds()
  const second = await made(victim, "workspace", operate("POST", "/workspaces", { name: "Victim" }))
  const theirs = `/workspaces/${second}`
  await made(
    victim,
    "number",
    operate("POST", `${theirs}/numbers`, { platform: "whatsapp", phone: "+15550300001" }),
  )
  await made(
    victim,
    "number",
    operate("POST", `${theirs}/numbers`, { platform: "telegram", phone: "+15550300002" }),
  )
  await made(
    victim,
    "contact",
    operate("POST", `${theirs}/contacts`, { name: "Eve", phone: "+15550100009" }),
  )
  const theirKey = await operate("POST", `${theirs}/keys`, { version: 2, name: "theirs" })
  victim.key.push(Number(theirKey["id"]))
  const theirToken = String(theirKey["key"])
  if (hasWebhooks) await made(victim, "webhook", ask("/webhooks", hook, theirToken))
  await made(
    victim,
    "reminder",
    ask("/reminders", { name: "r", to, text: "first", schedule }, theirToken),
  )
  const message = ask("/messages", { to, text: "first", from: victim.number[0] }, theirToken)
  await made(victim, "message", message)

  const events = await Promise.all(
    victim.webhook.map((each) => ask(`/webhooks/${each}/test`, undefined, theirToken)),
  )
  const { connect } = await call(connection, host, {
    method: "GET",
    path: `/api/v2/numbers/${connecting}`,
    token: witnesses[0],
  })
  const qrCode = isJson(connect) ? connect["qr_code_url"] : null
  if (typeof qrCode === "string") links.push(new URL(qrCode).pathname)
  const { now } = await operate("GET", "/simulator/clock")
  await limit(plan, (body) => operate("PATCH", own, body))
  return {
    witnesses,
    messages,
    inventory: {
      host,
      operatorToken,
      clientId: Number(workspace["client_id"]),
      keys: keys as Record<KeyName, string>,
      ids,
      victim,
      whatsapp,
      telegram,
      now: Date.parse(String(now)),
      links,
      cursors: new Map(),
      events: events.map((event) => String(event["event_id"])),
      receiver,
    },
  }
}

/** Deletes the cell's workspaces, so that a long run does not pile up their work. */
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

/** Takes from the plan, once all is there. */
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
