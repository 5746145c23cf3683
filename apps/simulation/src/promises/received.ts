/**
 * What people write is stored once, in the order in which the platform told of it, with one event, which reaches
 * the endpoint that asks for it, and so is each edit and revocation by its author; what cannot be read is kept as
 * unreadable until a copy comes; and a person has one chat, whatever addresses the platform named.
 */
import type { History, Written } from "../History.ts"
import { getCalls } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

interface WriteCall {
  readonly number: number
  readonly written: Written
}

const getWrites = (history: History): ReadonlyArray<WriteCall> =>
  getCalls(history).flatMap(({ request }) =>
    request._tag === "Write" ? [{ number: request.number, written: request.written }] : [],
  )

/** How many chats there are once all that was written is stored. */
const countChats = (writes: ReadonlyArray<WriteCall>): number => {
  const groups = new Set(writes.flatMap(({ written }) => written.group ?? []))
  const chats = [...groups]
  // A person's addresses are known as one once a message, also one in a group, told both.
  for (const [person, own] of Map.groupBy(writes, ({ written }) => written.person)) {
    const named = own.filter(({ written }) => written.group === null || !written.isEcho)
    const isOne = named.some(({ written }) => written.by === "both")
    const alone = new Set(
      own.flatMap(({ written: { by, group } }) => (group === null ? [isOne ? "" : by] : [])),
    )
    chats.push(...Array.from(alone, (by) => `${person} ${by}`))
  }
  return chats.length
}

/** The events of stored messages, as receivers got them: by the id of the message. */
const getTold = ({ entries }: History) =>
  entries.flatMap((entry) => {
    if (entry._tag !== "Told" || entry.kind !== "webhook") return []
    const { data } = JSON.parse(entry.body) as {
      readonly data: { readonly received_message?: { readonly id: number } }
    }
    const message = data.received_message
    return message === undefined ? [] : [{ ...message, ...entry }]
  })

/** A store that went back in time skips more sequences than a seed has, as it does ids. */
const skipped = 1_000_000

/** What a message should have become, and what should have been told of it. */
const getExpected = (
  { written: { copyAfter, index, isEcho, text } }: WriteCall,
  history: History,
): { readonly texts: ReadonlyArray<string>; readonly events: ReadonlyArray<string> } => {
  const first = isEcho ? "message.echo" : "message.received"
  if (copyAfter !== undefined) {
    const hasCopy = getCalls(history).some(
      ({ request }) => request._tag === "Copy" && request.index === index,
    )
    if (!hasCopy) return { texts: [""], events: [first] }
    // A wait that was over before the copy came.
    return { texts: [text], events: [first, `${first},message.recovered`] }
  }
  const types = [first]
  let latest = text
  for (const { request } of getCalls(history)) {
    if (request._tag !== "Amend" || request.amended.index !== index) continue
    const { isByAuthor, text: next } = request.amended
    if (!isByAuthor || types.includes("message.revoked")) continue
    types.push(next === null ? "message.revoked" : "message.edited")
    latest = next ?? ""
  }
  return { texts: [latest], events: [types.join()] }
}

export const received: JudgedPromise = {
  name: "received",
  check: (history) => {
    const { received: stored } = history.final
    const violations = stored.keyless.map((index) => `w${index} was stored without its key`)
    const writes = getWrites(history)
    const calls = Map.groupBy(getTold(history), ({ id }) => id)
    for (const [number, own] of Map.groupBy(writes, (write) => write.number)) {
      const rows = stored.messages.filter((message) => message.number === number)
      // Those that could not be read have their place once their wait has ended.
      const inOrder = new Set(
        own.flatMap(({ written }) => (written.copyAfter === undefined ? [written.index] : [])),
      )
      const ordered = rows.map(({ index }) => index).filter((index) => inOrder.has(index))
      if (ordered.join() !== [...inOrder].join()) {
        violations.push(`number ${number} stored ${ordered.join()} of ${[...inOrder].join()}`)
      }
      if (rows.length !== own.length) {
        violations.push(`number ${number} stored ${rows.length} of ${own.length}`)
      }
      rows.forEach(({ index, sequence }, at) => {
        const before = rows[at - 1]?.sequence ?? 0
        const isNext = sequence === before + 1 || sequence > before + skipped
        if (!isNext) violations.push(`w${index} has the sequence ${sequence} behind ${before}`)
      })
      const chats = stored.chats.filter((chat) => chat.number === number)
      if (chats.length !== countChats(own)) {
        violations.push(`number ${number} has ${chats.length} chats of ${countChats(own)}`)
      }
    }
    for (const { answer, request } of getCalls(history)) {
      if (request._tag !== "Write" && request._tag !== "Amend" && request._tag !== "Copy") continue
      if (answer === null) violations.push(`${JSON.stringify(request)} was never acknowledged`)
    }
    for (const write of writes) {
      const { index } = write.written
      const row = stored.messages.find((one) => one.index === index)
      if (row === undefined) continue
      const { events, texts } = getExpected(write, history)
      const types = row.events.map((event) => event.type).join()
      if (!events.includes(types)) violations.push(`w${index} has the events ${types}`)
      if (!texts.includes(row.text)) violations.push(`w${index} has the text ${row.text}`)
      if ((row.kind === "unreadable") !== (row.text === "" && !types.includes("revoked"))) {
        violations.push(`w${index} is ${row.kind}`)
      }
      const own = calls.get(row.id) ?? []
      for (const event of row.events) {
        const heard = own.filter(({ eventId }) => eventId === event.eventId)
        if (!heard.some((call) => call.heard)) {
          violations.push(`${event.type} of w${index} never arrived`)
        }
        if (heard.some((call) => call.type !== event.type)) {
          violations.push(`w${index} was told of as another event`)
        }
      }
      const known = new Set(row.events.map(({ eventId }) => eventId))
      if (own.some(({ eventId }) => !known.has(eventId))) {
        violations.push(`w${index} was told of under another id`)
      }
    }
    return violations
  },
}
