/**
 * An answer in a form that two stores share: ids by their names, sets and maps in an order of their
 * own, effects and functions by what they show.
 */
import type { Kind, Side } from "./Side.ts"

/** Fields that hold an id, or several. */
const fields: Readonly<Record<string, Kind>> = {
  workspaceId: "workspace",
  numberId: "number",
  numberIds: "number",
  keyId: "key",
  webhookId: "webhook",
  contactId: "contact",
  contactIds: "contact",
  contactIdByPhone: "contact",
  contacts: "contact",
  mediaId: "media",
  attachmentId: "media",
  messageId: "message",
  chatId: "chat",
  chatIds: "chat",
  chats: "chat",
  current: "chat",
  mergedInto: "chat",
  activity: "activity",
  receivedMessageId: "received",
  readUpTo: "received",
  previousNumberId: "number",
  targetId: "target",
  runId: "run",
  workerId: "worker",
  position: "place",
  positions: "place",
}

/** What the `id` of a record in that field is of. */
const parents: Readonly<Record<string, Kind>> = {
  from: "number",
  number: "number",
  named: "number",
  chat: "chat",
  message: "message",
  rest: "message",
  workspace: "workspace",
  key: "key",
  endpoint: "webhook",
  reminder: "reminder",
  campaign: "campaign",
  contact: "contact",
  file: "media",
  lastAttempt: "attempt",
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** Of sets and maps: their order says nothing. */
const sorted = (texts: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  texts.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

type Name = (kind: Kind, id: number) => unknown

/** `kind`: of the ids that no field names, such as those of the records themselves. */
const canonicalBy = (name: Name, value: unknown, kind: Kind | null): unknown => {
  const named = (id: unknown, of: Kind | null): unknown =>
    typeof id === "number" && of !== null ? name(of, id) : id
  const walk = (one: unknown, of: Kind | null): unknown => {
    if (typeof one === "number") return named(one, of)
    if (typeof one === "function") return Reflect.get(one, "shows") ?? "a function"
    if (one instanceof Set) return sorted([...one].map((each) => named(each, of ?? kind)))
    if (one instanceof Map) {
      return sorted([...one].map(([key, each]) => [named(key, of ?? kind), walk(each, of)]))
    }
    if (Array.isArray(one))
      return one.map((each) => (isPlain(each) ? walk(each, of) : named(each, of)))
    if (one instanceof Date || !isPlain(one)) return one
    return Object.fromEntries(
      Object.entries(one)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([field, each]) => [field, inField(field, each, of)]),
    )
  }
  const inField = (field: string, each: unknown, of: Kind | null): unknown => {
    if (field === "id" || field === "next" || field === "ids") return listed(each, of ?? kind)
    const known = fields[field]
    if (known !== undefined) return listed(each, known)
    return walk(each, parents[field] ?? (field === "items" ? of : null))
  }
  const listed = (each: unknown, of: Kind | null): unknown =>
    Array.isArray(each)
      ? each.map((one) => named(one, of))
      : isPlain(each)
        ? walk(each, of)
        : named(each, of)
  return walk(value, Array.isArray(value) || typeof value === "number" ? kind : null)
}

export const canonical = (answer: unknown, side: Side, kind: Kind | null): unknown =>
  canonicalBy((of, id) => side.toName(of, id), answer, kind)

/** What a call was given, for a reader; it names nothing. */
export const asGiven = (input: unknown, side: Side, kind: Kind | null): unknown =>
  canonicalBy((of, id) => side.nameSoFar(of, id) ?? id, input, kind)
