/**
 * A count of messages: the service lists exactly the messages that its answers reported. So a
 * refused send has left nothing behind.
 */
import { isJson } from "@messaging-service/testkit/openapi"
import type { Json } from "@messaging-service/testkit/openapi"
import type { Connection } from "../wire/Connection.ts"
import { call } from "../world/makeCell.ts"
import type { Cell } from "../world/makeCell.ts"
import { reminderText } from "../world/Inventory.ts"
import { finding } from "./Finding.ts"
import type { Finding } from "./Finding.ts"
import type { Created } from "./harvest.ts"

interface Listed {
  readonly id: number
  readonly text: string
}

/** Pages are read with keys that allow 60 requests a minute. */
const maximumPages = 25

/** Undefined when there are more pages than the key may read. */
const listAll = async (
  path: string,
  read: (path: string) => Promise<Json>,
): Promise<ReadonlyArray<Listed> | undefined> => {
  const listed: Array<Listed> = []
  let cursor: unknown = ""
  for (let page = 0; page < maximumPages; page++) {
    const more = cursor === "" ? "" : `&cursor=${encodeURIComponent(String(cursor))}`
    const { data, next_cursor: next } = await read(`${path}?limit=100${more}`)
    for (const each of Array.isArray(data) ? data : []) {
      if (isJson(each)) listed.push({ id: Number(each["id"]), text: String(each["text"]) })
    }
    if (next === null) return listed
    cursor = next
  }
  return undefined
}

/** The result of the count; null when it cannot be taken. */
export const takeCensus = async (
  connection: Connection,
  { messages: first, witnesses, inventory }: Cell,
  created: Created,
): Promise<ReadonlyArray<Finding> | null> => {
  if (created.isUncertain) return null
  const messages: Array<Listed> = []
  const texts = new Set([reminderText, ...created.reminderTexts])
  for (const token of witnesses) {
    const read = (path: string) => call(connection, inventory.host, { method: "GET", path, token })
    const reminders = await listAll("/api/v2/reminders", read)
    const listed = await listAll("/api/v2/messages", read)
    if (reminders === undefined || listed === undefined) return null
    for (const { text } of reminders) texts.add(text)
    messages.push(...listed)
  }
  const known = new Set([...created.messages, ...first])
  const ids = new Set(messages.map(({ id }) => id))
  const untold = messages.filter(({ id, text }) => !known.has(id) && !texts.has(text))
  const lost = [...known].filter((id) => !ids.has(id))
  return [
    ...untold.map(({ id, text }) =>
      finding("census: a message that no answer reported", `message ${id}: ${text.slice(0, 60)}`),
    ),
    ...lost.map((id) => finding("census: an accepted message is not listed", `message ${id}`)),
  ]
}
