/**
 * People who write to numbers: the platform keeps each message until a process has stored it, gives it again
 * until then, in order, and at times once more afterwards. In calm it gives all that it still has.
 */
import { SessionVault, unknownPerson } from "@messaging-service/core"
import type {
  Incoming,
  IncomingChange,
  IncomingMessage,
  NumberId,
  Person,
  ChatContext,
  UnreadableMessage,
} from "@messaging-service/core"
import { Chance } from "@messaging-service/emulator"
import { Effect } from "effect"
import { oneOf } from "../calls.ts"
import type { Amended, CallRequest, Written } from "../History.ts"
import type { Command, Feature, Mailbox, MailboxItem, Stage } from "./Feature.ts"

const second = 1000
const minute = 60 * second

/** One of so many seeds has a workspace that receives what people write. */
const receivingShare = 3

/** Numbers of that workspace. */
export const receivingNumbers = 2

/** The mailboxes of its numbers; none in a seed without it. */
export const drawMailboxes = (seed: string): ReadonlyArray<Mailbox> => {
  const isReceiving = new Chance(`${seed}/receiving`).below(receivingShare) === 0
  return Array.from({ length: isReceiving ? receivingNumbers : 0 }, () => ({
    waiting: [],
    stored: [],
    copies: new Set(),
    amendedAt: 0,
    locks: 0,
    keyless: [],
    isOpen: false,
  }))
}

/** At most so many in one write. */
const together = 3

/** Tries before the platform waits for the number's next message. */
const tries = 4

/** Of a person by index, under the addresses with which the platform names it this time. */
const addressed = (person: number, by: Written["by"]): Person => ({
  ...unknownPerson,
  phone: by === "lid" ? null : `+1555040000${person}`,
  lid: by === "phone" ? null : `88000${person}`,
})

/** When a message was sent tells which one it is. */
const firstSentAt = 1_600_000_000_000
const sentAt = (index: number): number => firstSentAt + index * second
export const indexAt = (at: number): number => (at - firstSentAt) / second

const toPlace = ({ by, group, isEcho, person }: Written): ChatContext => ({
  mode: "live",
  fromMe: isEcho,
  group: group === null ? null : { remoteId: `group ${group}`, name: group },
  person: isEcho && group !== null ? null : addressed(person, by),
})

const toRemoteId = (index: number): string => `remote ${index}`

const toMessage = (written: Written): IncomingMessage => ({
  ...toPlace(written),
  _tag: "Message",
  remoteId: toRemoteId(written.index),
  kind: "text",
  text: written.text,
  content: null,
  file: null,
  quote: null,
  sentAt: sentAt(written.index),
})

const toUnreadable = (written: Written): UnreadableMessage => ({
  ...toPlace(written),
  _tag: "Unreadable",
  remoteId: toRemoteId(written.index),
  sentAt: sentAt(written.index),
})

/** One that is not by the author is by the other side of the chat, or by another person in the group. */
const toChange = (written: Written, { at, index, isByAuthor, text }: Amended): IncomingChange => {
  const { group, isEcho, person } = written
  const other = group === null ? { isEcho: !isEcho } : { isEcho: false, person: person + 1 }
  return {
    ...toPlace(isByAuthor ? written : { ...written, ...other }),
    _tag: "Change",
    target: { remoteId: toRemoteId(index), fromMe: isEcho },
    isVerified: false,
    change: text === null ? { type: "revocation" } : { type: "edit", text },
    at,
  }
}

/** The key that opens a number's messages: how many were opened. The same message does not open twice. */
const ratchet = { type: "session", id: "ratchet" } as const

/**
 * Whether the number can open a message, or has stored it. One that it opened and has not stored is lost. One that
 * is stored, and would open again, was stored without its key.
 */
const opens = (id: NumberId, { incoming, lock }: MailboxItem, keyless: Array<number>) =>
  SessionVault.use((vault) =>
    Effect.gen(function* () {
      if (lock === null || incoming._tag !== "Message") return true
      const wasStored = yield* vault.needsNoCopy(id, incoming)
      const keys = yield* vault.keys(id, ratchet.type, [ratchet.id])
      const isOpened = Number(keys.get(ratchet.id) ?? 0) > lock
      if (wasStored && !isOpened) keyless.push(indexAt(incoming.sentAt))
      return !isOpened || (yield* vault.needsNoCopy(id, incoming))
    }),
  )

const store = (id: NumberId, items: ReadonlyArray<MailboxItem>) =>
  SessionVault.use((vault) =>
    Effect.gen(function* () {
      const opened = Math.max(0, ...items.map(({ lock }) => (lock ?? -1) + 1))
      const known = yield* vault.keys(id, ratchet.type, [ratchet.id])
      const isNew = opened > Number(known.get(ratchet.id) ?? 0)
      const keys = isNew ? [{ ...ratchet, value: String(opened) }] : []
      const all = items.map(({ incoming }) => incoming)
      yield* vault.write(id, null, keys, all)
    }),
  )

/** Gives what a number's mailbox has, the first ones first, until it is stored or the tries are over. */
const give = Effect.fnUntraced(function* give(stage: Stage, number: number) {
  const { chance, mailboxes } = stage
  const mailbox = mailboxes[number]
  const id = stage.receivers[number]
  if (mailbox === undefined || id === undefined || mailbox.isOpen) return
  mailbox.isOpen = true
  for (let failures = 0; failures < tries && mailbox.waiting.length > 0;) {
    const next = mailbox.waiting.slice(0, 1 + chance.below(together))
    // At times one that is stored comes again, as after a receipt that was lost.
    const again = mailbox.stored.slice(-1 - chance.below(2))
    const repeated = chance.below(4) === 0 ? again : []
    const stored = yield* Effect.isSuccess(
      stage.callProcess(
        Effect.gen(function* () {
          const all = [...repeated, ...next]
          const opened = yield* Effect.filter(all, (item) => opens(id, item, mailbox.keyless))
          yield* store(id, opened)
        }).pipe(Effect.timeout(20 * second)),
        // A transport that opens one message after the other leaves none under way behind a later one.
        stage.ordersWrites,
      ),
    )
    if (stored) {
      mailbox.waiting.splice(0, next.length)
      mailbox.stored.push(...next)
      for (const { call } of next) stage.answered(call, { _tag: "Done" })
    } else {
      failures++
      yield* Effect.sleep(chance.below(oneOf(chance, [50, 3 * second])))
    }
  }
  mailbox.isOpen = false
})

const deliver = (stage: Stage, number: number, request: CallRequest, incoming: Incoming) =>
  Effect.suspend(() => {
    const call = stage.recordRequest(request)
    const mailbox = stage.mailboxes[number]
    const isLocked = stage.ordersWrites && request._tag === "Write" && incoming._tag === "Message"
    const lock = isLocked && mailbox !== undefined ? mailbox.locks++ : null
    mailbox?.waiting.push({ call, incoming, lock })
    return give(stage, number)
  })

const tellCopy = (stage: Stage, number: number, written: Written) =>
  deliver(stage, number, { _tag: "Copy", number, index: written.index }, toMessage(written))

const write = (number: number, written: Written) =>
  Effect.fnUntraced(function* writeMessage(stage: Stage) {
    const { copyAfter } = written
    const incoming = copyAfter === undefined ? toMessage(written) : toUnreadable(written)
    const copies = stage.mailboxes[number]?.copies
    if (typeof copyAfter === "number") copies?.add(written)
    yield* deliver(stage, number, { _tag: "Write", number, written }, incoming)
    if (typeof copyAfter !== "number") return
    yield* Effect.sleep(copyAfter)
    // Calm takes what is left.
    if (copies?.delete(written) === true) yield* tellCopy(stage, number, written)
  })

const amend = (number: number, written: Written, change: Omit<Amended, "at" | "index">) =>
  Effect.fnUntraced(function* amendMessage(stage: Stage) {
    const mailbox = stage.mailboxes[number]
    if (mailbox === undefined) return
    mailbox.amendedAt = Math.max(mailbox.amendedAt + 1, stage.now())
    const amended = { ...change, index: written.index, at: mailbox.amendedAt }
    yield* deliver(stage, number, { _tag: "Amend", number, amended }, toChange(written, amended))
  })

/** Waits for a copy have ended. */
const longerThanWaits = 11 * minute

/** What was under way when calm began ends by itself, and another process may have the number. */
const giveEverything = (stage: Stage) =>
  Effect.gen(function* () {
    for (const [number, mailbox] of stage.mailboxes.entries()) {
      for (let round = 0; round < 60 && mailbox.waiting.length > 0; round++) {
        yield* give(stage, number)
        yield* Effect.sleep(second)
      }
    }
  })

export const receiving: Feature = {
  name: "receiving",
  plan: ({ chance, count, instant }) => {
    const commands: Array<Command> = []
    for (let index = 0; index < count / 2; index++) {
      const number = chance.below(receivingNumbers)
      const written: Written = {
        index,
        text: `w${index}`,
        person: chance.below(4),
        by: oneOf(chance, ["phone", "lid", "both"]),
        group: chance.below(5) === 0 ? oneOf(chance, ["Team", "Friends"]) : null,
        isEcho: chance.below(6) === 0,
        copyAfter:
          chance.below(6) === 0
            ? oneOf(chance, [null, second, minute, longerThanWaits])
            : undefined,
      }
      const at = instant()
      commands.push({
        at,
        name: `write ${written.text} to ${number}`,
        perform: write(number, written),
      })
      if (written.copyAfter !== undefined || chance.below(3) > 0) continue
      for (let change = 0; change <= chance.below(3); change++) {
        const text = chance.below(4) === 0 ? null : `w${index} edit ${change}`
        commands.push({
          at: at + 1 + chance.below(minute),
          name: `${text === null ? "revoke" : "edit"} ${written.text}`,
          perform: amend(number, written, { text, isByAuthor: chance.below(5) > 0 }),
        })
      }
    }
    return commands
  },
  calm: (stage) =>
    Effect.gen(function* () {
      yield* giveEverything(stage)
      const late = stage.mailboxes.map(({ copies }) => [...copies])
      for (const { copies } of stage.mailboxes) copies.clear()
      if (late.every((copies) => copies.length === 0)) return
      yield* Effect.sleep(longerThanWaits)
      for (const [number, copies] of late.entries()) {
        for (const written of copies) yield* tellCopy(stage, number, written)
      }
      yield* giveEverything(stage)
    }),
}
