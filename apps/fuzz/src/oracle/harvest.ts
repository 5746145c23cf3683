/** Results of an answer for the run: ids and links for later requests, and created messages. */
import { isJson } from "@messaging-service/testkit/openapi"
import type { Json, Operation } from "@messaging-service/testkit/openapi"
import type { Shot } from "../request/Shot.ts"
import type { WireAnswer } from "../wire/AnswerReader.ts"
import type { IdKind, Inventory } from "../world/Inventory.ts"

/** What the requests of a cell have created, as their answers say. */
export interface Created {
  readonly messages: Set<number>
  /** Texts of reminders: a message with one of them may come from a run. */
  readonly reminderTexts: Set<string>
  /** Successes that may have stored a file. */
  files: number
  /** A request that creates messages got no answer: it may have created some. */
  isUncertain: boolean
}

export const nothingCreated = (): Created => ({
  messages: new Set(),
  reminderTexts: new Set(),
  files: 0,
  isUncertain: false,
})

/** Keeps a bounded number of ids: the newest are as good as all. */
const storedIds = 50

const kindsByField: Readonly<
  Record<string, readonly [kind: IdKind, field: string, isVictims: boolean]>
> = {
  connectNumber: ["number", "id", false],
  createReminder: ["reminder", "id", false],
  v1ReminderCreate: ["reminder", "reminder_id", false],
  uploadMedia: ["media", "id", false],
  createWebhook: ["webhook", "id", false],
  createNumberCheck: ["check", "id", false],
  v1VerificationCreate: ["check", "campaign_id", false],
  v1WhatsappConnect: ["number", "whatsapp_client", false],
  sendMessage: ["message", "id", false],
  v1SendMsg: ["message", "msg_id", false],
  createWorkspace: ["workspace", "id", true],
  createKey: ["key", "id", true],
  createNumber: ["number", "id", true],
  createContact: ["contact", "id", true],
}

const keep = <A>(into: Array<A>, value: A): void => {
  if (into.length >= storedIds) into.splice(5, 1)
  into.push(value)
}

const messageIds = (body: Json): ReadonlyArray<unknown> => {
  const data = Array.isArray(body["data"])
    ? body["data"].map((each) => (isJson(each) ? each["id"] : null))
    : []
  const several = Array.isArray(body["msg_ids"]) ? body["msg_ids"] : []
  return [...data, ...several, body["msg_id"]]
}

const makesMessages =
  /^(?:sendMessage|sendBatch|v1SendMsg|v1SendMsgGroup|v1SendMsgMulti|v1ScheduleMsg)$/

export const mayMakeMessages = ({ id }: Operation): boolean => makesMessages.test(id)

const keepLinks = (inventory: Inventory, body: Json): void => {
  const connect = isJson(body["connect"]) ? body["connect"]["qr_code_url"] : null
  for (const url of [body["url"], connect]) {
    if (typeof url !== "string" || !URL.canParse(url)) continue
    const { pathname } = new URL(url)
    if (/^\/(?:media|qr)\//.test(pathname)) keep(inventory.links, pathname)
  }
}

/** Reads one answer of an operation. */
export const harvest = (
  inventory: Inventory,
  created: Created,
  operation: Operation,
  shot: Shot,
  { body, status }: WireAnswer,
): void => {
  const { id } = operation
  const isStored = status === 429 && mayMakeMessages(operation)
  if (status >= 300 && !isStored) return
  const value = parsed(body)
  if (!isJson(value)) return
  if (mayMakeMessages(operation)) {
    const single = id === "sendMessage" ? [value["id"]] : messageIds(value)
    for (const each of single) if (typeof each === "number") created.messages.add(each)
  }
  if (status >= 300) return
  if (holdsFile(shot)) created.files++
  const text = value["text"]
  if (/Reminder/.test(id) && typeof text === "string") created.reminderTexts.add(text)
  const [kind, field, isVictims] = kindsByField[id] ?? []
  const of = field === undefined ? undefined : value[field]
  if (kind !== undefined && typeof of === "number") {
    keep((isVictims === true ? inventory.victim : inventory.ids)[kind], of)
  }
  const cursor = value["next_cursor"]
  if (typeof cursor === "string") {
    const cursors = inventory.cursors.get(id) ?? []
    keep(cursors, cursor)
    inventory.cursors.set(id, cursors)
  }
  if (typeof value["event_id"] === "string") keep(inventory.events, value["event_id"])
  keepLinks(inventory, value)
}

/** Version 1 fetches links while it answers and stores what it fetched. */
const holdsFile = ({ aim, body, headers }: Shot): boolean =>
  aim.part !== "open" &&
  body !== null &&
  (headers.some(([, value]) => /multipart/i.test(value)) || /url/.test(body.toString("latin1")))

const parsed = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString()) as unknown
  } catch {
    return undefined
  }
}
