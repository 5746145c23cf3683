/**
 * People who write to numbers: the platform keeps each message until a process has stored it, gives it again
 * until then, in order, and at times once more afterwards. In calm it gives all that it still has.
 */
import { SessionVault, unknownPerson } from "@messaging-service/core"
import type { Incoming, Person } from "@messaging-service/core"
import { Chance } from "@messaging-service/emulator"
import { Effect } from "effect"
import { oneOf } from "../calls.ts"
import type { Written } from "../History.ts"
import type { Command, Feature, Mailbox, Stage } from "./Feature.ts"

const second = 1000

/** One of so many seeds has a workspace that hears what people write. */
const receivingShare = 3

/** Numbers of that workspace. */
export const receivingNumbers = 2

/** The mailboxes of its numbers; none in a seed without it. */
export const drawMailboxes = (seed: string): ReadonlyArray<Mailbox> => {
  const isReceiving = new Chance(`${seed}/receiving`).below(receivingShare) === 0
  return Array.from({ length: isReceiving ? receivingNumbers : 0 }, () => ({
    waiting: [],
    stored: [],
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

const toIncoming = ({ by, group, isEcho, person, text }: Written, at: number): Incoming => ({
  remoteId: `remote ${text}`,
  mode: "live",
  fromMe: isEcho,
  group: group === null ? null : { remoteId: `group ${group}`, name: group },
  person: isEcho && group !== null ? null : addressed(person, by),
  kind: "text",
  text,
  content: null,
  file: null,
  quote: null,
  sentAt: at,
})

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
    const incoming = [...repeated, ...next].map(({ written }) => toIncoming(written, stage.now()))
    const stored = yield* Effect.isSuccess(
      stage.callProcess(
        SessionVault.use((vault) => vault.write(id, null, [], incoming)).pipe(
          Effect.timeout(20 * second),
        ),
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

const write = (number: number, written: Written) => (stage: Stage) =>
  Effect.suspend(() => {
    const call = stage.recordRequest({ _tag: "Write", number, written })
    stage.mailboxes[number]?.waiting.push({ call, written })
    return give(stage, number)
  })

export const receiving: Feature = {
  name: "receiving",
  plan: ({ chance, count, instant }) => {
    const commands: Array<Command> = []
    for (let index = 0; index < count / 2; index++) {
      const number = chance.below(receivingNumbers)
      const written: Written = {
        text: `w${index}`,
        person: chance.below(4),
        by: oneOf(chance, ["phone", "lid", "both"]),
        group: chance.below(5) === 0 ? oneOf(chance, ["Team", "Friends"]) : null,
        isEcho: chance.below(6) === 0,
      }
      commands.push({
        at: instant(),
        name: `write ${written.text} to ${number}`,
        perform: write(number, written),
      })
    }
    return commands
  },
  calm: (stage) =>
    Effect.gen(function* () {
      for (const [number, mailbox] of stage.mailboxes.entries()) {
        // What was under way when calm began ends by itself.
        for (let round = 0; round < 60 && mailbox.waiting.length > 0; round++) {
          yield* give(stage, number)
          yield* Effect.sleep(second)
        }
      }
    }),
}
