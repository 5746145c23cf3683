/**
 * What people write is stored once, in the order in which the platform told of it, with one event, which reaches
 * the endpoint that asks for it; and a person has one chat, whatever addresses the platform named.
 */
import type { History, Written } from "../History.ts"
import { getCalls, wasRestored } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

interface WriteCall {
  readonly number: number
  readonly written: Written
  readonly isAcknowledged: boolean
}

const getWrites = (history: History): ReadonlyArray<WriteCall> =>
  getCalls(history).flatMap(({ answer, request }) =>
    request._tag === "Write"
      ? [{ number: request.number, written: request.written, isAcknowledged: answer !== null }]
      : [],
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
      readonly data: { readonly received_message?: { readonly id: number; readonly text: string } }
    }
    const message = data.received_message
    return message === undefined ? [] : [{ ...message, ...entry }]
  })

export const received: JudgedPromise = {
  name: "received",
  check: (history) => {
    const { received: stored } = history.final
    const violations: Array<string> = []
    const writes = getWrites(history)
    const calls = Map.groupBy(getTold(history), ({ id }) => id)
    for (const [number, own] of Map.groupBy(writes, (write) => write.number)) {
      const rows = stored.messages.filter((message) => message.number === number)
      const texts = rows.map(({ text }) => text)
      const expected = own.map(({ written }) => written.text)
      if (texts.join() !== expected.join()) {
        violations.push(`number ${number} stored ${texts.join()} of ${expected.join()}`)
      }
      // A store that went back in time skips sequences, as it does ids.
      const isContiguous = !wasRestored(history)
      rows.forEach(({ sequence, text }, index) => {
        const before = rows[index - 1]?.sequence ?? 0
        const isNext = isContiguous ? sequence === before + 1 : sequence > before
        if (!isNext) violations.push(`${text} has the sequence ${sequence} behind ${before}`)
      })
      const waiting = own.filter(({ isAcknowledged }) => !isAcknowledged)
      for (const { written } of waiting) violations.push(`${written.text} was never acknowledged`)
      const chats = stored.chats.filter((chat) => chat.number === number)
      if (chats.length !== countChats(own)) {
        violations.push(`number ${number} has ${chats.length} chats of ${countChats(own)}`)
      }
    }
    for (const { events, id, isEcho, text } of stored.messages) {
      const type = isEcho ? "message.echo" : "message.received"
      if (events.map((event) => event.type).join() !== type) {
        violations.push(`${text} has the events ${events.map((event) => event.type).join()}`)
      }
      const own = calls.get(id) ?? []
      if (!own.some(({ heard }) => heard)) violations.push(`${type} of ${text} never arrived`)
      const ids = new Set(own.map(({ eventId }) => eventId))
      if (ids.size > 1) violations.push(`${text} was told of under ${ids.size} ids`)
      if (own.some((call) => call.text !== text || call.type !== type)) {
        violations.push(`${text} was told of as another message`)
      }
    }
    return violations
  },
}
