/** Messages to new recipients, while a platform lets a number open no new chats. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type {
  ConversationSettings,
  Message,
  Phone,
  Recipient,
  Restrictions,
  SendingNumber,
} from "@messaging-service/core"
import { Effect } from "effect"
import { aRunning, pause, resume, someRows, took } from "../Campaigning.ts"
import { at, ids, present } from "../Expect.ts"
import { brokenBy, lookUp } from "../Reading.ts"
import {
  accepted,
  aMessage,
  anAcceptance,
  anEventId,
  aNumber,
  aPhone,
  aStage,
  hour,
  minute,
  noon,
} from "../Records.ts"
import {
  again,
  cancelled,
  claim,
  claimOne,
  end,
  endedAs,
  expired,
  failed,
  sendFailed,
  sendNext,
  sent,
  settle,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import { aLid, aText, receive, someone, turnOn } from "./receiving.ts"

const closed = (until: number | null = noon + hour): Restrictions => ({
  state: "new_chats_closed",
  until,
  reason: null,
  newChats: null,
  checkedAt: noon,
})

const reported = (state: "none" | "unknown"): Restrictions => ({ ...closed(null), state })

/** As drawn. */
export const newChatsExtra = 2 * minute

const restrict = (
  { id }: SendingNumber,
  restrictions = closed(),
  now = noon,
  extraMillis = newChatsExtra,
) => Store.use(({ numbers }) => numbers.restrict(id, restrictions, now, anEventId(), extraMillis))

const holding = (changes: Partial<ConversationSettings> = {}) => ({
  holdNewChats: true,
  ...changes,
})

/** A number that may open no new chats, of a workspace that lets messages wait for that. */
export const aClosedStage = Effect.tap(aStage(), ({ number, workspace }) =>
  Effect.andThen(turnOn(workspace.id, holding()), restrict(number)),
)

const toPhone = (phone: string): Recipient => ({
  kind: "phone",
  phone: phone as Phone,
  contactId: null,
})

export const aMessageTo = (number: SendingNumber, phone: string, now = noon) =>
  aMessage(number, { now, message: { to: toPhone(phone) } })

/** Someone who wrote to the number. */
export const aWriter = (
  number: SendingNumber,
  known: Partial<Parameters<typeof someone>[0]> = {},
) =>
  Effect.gen(function* () {
    const phone = aPhone()
    yield* receive(number, [aText({ person: someone({ phone, ...known }) })])
    return phone
  })

/** What leaves at `now`, one after the other. */
export const leaving = (number: SendingNumber, now = noon) =>
  Effect.gen(function* () {
    const left: Array<Message["id"]> = []
    for (;;) {
      const [claimed] = yield* claim([number], { now })
      if (claimed === undefined) return [...left]
      yield* settle([sent(claimed, now)], now)
      left.push(claimed.message.id)
    }
  })

export const findWait = ({ id, workspaceId }: Message, now = noon) =>
  Effect.map(
    Store.use(({ messages }) =>
      messages.timeline({ id, workspaceId, now, limit: 10, mostAhead: 10 }),
    ),
    (facts) => present(facts).newChatsUntil,
  )

export const openNewChats = (now: number) => Store.use(({ queue }) => queue.openNewChats(now, 1000))

const mayWait = ({ from, id }: Message, now = noon) =>
  Store.use(({ queue }) => queue.mayAwaitNewChats(from.id, id, now))

const waiting: Topic = (it) => {
  it.effect(
    "messages to new recipients wait while new chats are closed, and others pass them",
    () =>
      Effect.gen(function* () {
        const { number } = yield* aClosedStage
        const known = yield* aWriter(number)
        const messages = yield* Effect.forEach([aPhone(), known, aPhone(), known], (phone) =>
          aMessageTo(number, phone),
        )
        const [first, second, third, fourth] = messages
        assert.deepStrictEqual(yield* leaving(number), [second?.id, fourth?.id])
        for (const one of [first, third]) {
          const before = present(one)
          assert.deepStrictEqual(yield* lookUp(before), { message: before, inFlight: false })
          assert.strictEqual(yield* findWait(before), noon + hour + newChatsExtra)
        }
        assert.isNull(yield* findWait(present(second)))
      }),
  )

  it.effect("a turn has known recipients alone", () =>
    Effect.gen(function* () {
      const { number } = yield* aClosedStage
      const known = yield* aWriter(number)
      const messages = yield* Effect.forEach([known, aPhone(), known, aPhone(), known], (phone) =>
        aMessageTo(number, phone),
      )
      const claimed = yield* claimOne(number, { turn: 16 })
      assert.deepStrictEqual(
        [claimed.message, ...claimed.rest].map(({ id }) => id),
        [0, 2, 4].map((index) => at(messages, index).id),
      )
    }),
  )

  it.effect("without the setting they leave, and a number without restrictions holds nothing", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      yield* turnOn(workspace.id)
      yield* restrict(number)
      const message = yield* aMessage(number)
      assert.isNull(yield* findWait(message))
      assert.deepStrictEqual(yield* leaving(number), [message.id])
      yield* turnOn(workspace.id, holding())
      const free = yield* aMessage(other)
      assert.deepStrictEqual(yield* leaving(other), [free.id])
    }),
  )

  it.effect(
    "known are those who wrote, to whom the owner wrote, who got a message, groups and chats",
    () =>
      Effect.gen(function* () {
        const { number, workspace } = yield* aStage()
        yield* turnOn(workspace.id, holding())
        const before = yield* aMessage(number)
        yield* sendNext(number)
        yield* restrict(number)
        const writer = yield* aWriter(number, { lid: aLid() })
        const owners = aPhone()
        yield* receive(number, [aText({ fromMe: true, person: someone({ phone: owners }) })])
        const lid = aLid()
        const [inChat] = yield* receive(number, [aText({ person: someone({ lid }) })])
        const chatId = yield* Store.use(({ chats }) =>
          chats.getReceived(
            { workspaceId: workspace.id, mode: "live", restriction: null },
            present(inChat?.id ?? null),
          ),
        ).pipe(Effect.map((found) => present(found).chat.id))
        const inGroup = aPhone()
        const group = { remoteId: "team", name: "Team" }
        yield* receive(number, [aText({ group, person: someone({ phone: inGroup }) })])
        const tos: ReadonlyArray<Recipient> = [
          before.to,
          toPhone(writer),
          toPhone(owners),
          { kind: "group", group: "Team" },
          { kind: "chat", chatId, address: `lid:${lid}` },
        ]
        const known = yield* Effect.forEach(tos, (to) => aMessage(number, { message: { to } }))
        // In a group people write to the group.
        const unknown = yield* aMessageTo(number, inGroup)
        const failedBefore = yield* aMessage(yield* aNumber(workspace.id))
        yield* aMessage(number, { message: { to: failedBefore.to } })
        assert.deepStrictEqual(yield* leaving(number), ids(known))
        assert.strictEqual(yield* findWait(unknown), noon + hour + newChatsExtra)
      }),
  )

  it.effect("test messages never wait for new chats", () =>
    Effect.gen(function* () {
      const { number } = yield* aClosedStage
      const test = yield* aMessage(number, { mode: "test" })
      const due = yield* Store.use(({ messages }) => messages.dueTest(noon, 100_000, 100_000))
      assert.include(ids(due), test.id)
      assert.isNull(yield* findWait(test))
    }),
  )

  it.effect(
    "what may have left is never set aside, and makes its recipient known once it was sent",
    () =>
      Effect.gen(function* () {
        const { number, workspace } = yield* aStage()
        yield* turnOn(workspace.id, holding())
        const phone = aPhone()
        const first = yield* aMessageTo(number, phone)
        const claimed = yield* claimOne(number)
        yield* settle([again(claimed, { interrupted: true })])
        yield* restrict(number)
        const second = yield* aMessageTo(number, phone)
        const repeat = yield* claimOne(number)
        assert.strictEqual(repeat.message.id, first.id)
        yield* settle([sent(repeat)])
        assert.deepStrictEqual(yield* leaving(number), [second.id])
      }),
  )

  it.effect("more than one claim may set aside are set aside by the next ones", () =>
    Effect.gen(function* () {
      const { number } = yield* aClosedStage
      const known = yield* aWriter(number)
      yield* accepted(number, { count: 501 })
      const last = yield* aMessageTo(number, known)
      assert.deepStrictEqual(yield* claim([number], { turn: 16 }), [])
      const claimed = yield* claimOne(number, { turn: 16 })
      assert.deepStrictEqual([claimed.message.id, claimed.rest], [last.id, []])
    }),
  )

  it.effect("closing new chats ends the turn under way", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      yield* turnOn(workspace.id, holding())
      yield* accepted(number, { count: 3 })
      const claimed = yield* claimOne(number, { turn: 16 })
      assert.lengthOf(claimed.rest, 2)
      yield* restrict(number)
      yield* settle([sent(claimed)])
      assert.deepStrictEqual(yield* leaving(number), [])
    }),
  )

  it.effect("waiting ones expire, are cancelled, and count in the quota", () =>
    Effect.gen(function* () {
      const { number } = yield* aClosedStage
      const limit = { messages: 2, windowMillis: hour }
      const [one, other] = yield* accepted(number, { count: 2, expiresAt: noon + minute })
      assert.deepStrictEqual(yield* claim([number]), [])
      assert.strictEqual(yield* brokenBy(anAcceptance(number, { limit })), "quota")
      const due = yield* Store.use(({ messages }) => messages.expired(noon + minute, 100_000))
      assert.includeMembers([...ids(due)], [present(one).id, present(other).id])
      const changes = [expired(present(one), noon + minute), cancelled(present(other))]
      assert.deepStrictEqual(yield* end(...changes), ids([present(one), present(other)]))
      assert.isNull(yield* findWait(present(one), noon))
      yield* openNewChats(noon + 2 * hour)
      assert.deepStrictEqual(yield* leaving(number, noon + 2 * hour), [])
    }),
  )
}

const ending: Topic = (it) => {
  it.effect("once the wait is over they leave in their order, with what came later", () =>
    Effect.gen(function* () {
      const { number } = yield* aClosedStage
      const known = yield* aWriter(number)
      const first = yield* aMessage(number)
      const second = yield* aMessage(number)
      assert.deepStrictEqual(yield* leaving(number), [])
      const later = yield* aMessageTo(number, known, noon + 2 * minute)
      const over = noon + hour + newChatsExtra
      yield* openNewChats(over - 1)
      assert.deepStrictEqual(yield* leaving(number, noon + 2 * minute - 1), [])
      yield* openNewChats(over)
      assert.isNull(yield* findWait(first, over))
      assert.deepStrictEqual(yield* leaving(number, over), ids([first, second, later]))
    }),
  )

  it.effect("a claim after the end of the wait hands out what waited, first", () =>
    Effect.gen(function* () {
      const { number } = yield* aClosedStage
      const phone = aPhone()
      const first = yield* aMessageTo(number, phone)
      assert.deepStrictEqual(yield* leaving(number), [])
      const over = noon + hour + newChatsExtra
      const second = yield* aMessageTo(number, phone, over)
      assert.deepStrictEqual(yield* leaving(number, over), ids([first, second]))
    }),
  )

  it.effect("the wait ends as drawn for its restriction, however often that is reported", () =>
    Effect.gen(function* () {
      const { number } = yield* aClosedStage
      const message = yield* aMessage(number)
      yield* restrict(number, closed(), noon + minute, 3 * minute)
      yield* restrict(number, reported("unknown"), noon + minute, 3 * minute)
      yield* restrict(number, closed(), noon + minute, 3 * minute)
      assert.strictEqual(yield* findWait(message), noon + hour + newChatsExtra)
      yield* restrict(number, closed(noon + 2 * hour), noon + minute, 3 * minute)
      assert.strictEqual(yield* findWait(message), noon + 2 * hour + 3 * minute)
      yield* restrict(number, closed(null), noon + minute, 3 * minute)
      assert.strictEqual(yield* findWait(message), Infinity)
    }),
  )

  const ends = [
    ["none is reported", reported("none")],
    ["no end is known", reported("unknown")],
  ] as const
  it.effect.each(ends)("when %s the wait goes on for as long as drawn", ([, restrictions]) =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      yield* turnOn(workspace.id, holding())
      yield* restrict(number, closed(null))
      const message = yield* aMessage(number)
      assert.deepStrictEqual(yield* leaving(number), [])
      yield* restrict(number, restrictions, noon + minute, newChatsExtra)
      yield* restrict(number, restrictions, noon + minute + 1, newChatsExtra)
      const over = noon + minute + newChatsExtra
      assert.strictEqual(yield* findWait(message), over)
      yield* openNewChats(over)
      assert.deepStrictEqual(yield* leaving(number, over), [message.id])
    }),
  )

  const offs = [
    ["the setting is", (id: Message["workspaceId"]) => turnOn(id)],
    [
      "conversations are",
      (id: Message["workspaceId"]) => Store.use(({ chats }) => chats.deleteConversations(id, noon)),
    ],
  ] as const
  it.effect.each(offs)("what waits leaves at once when %s turned off", ([, turnOff]) =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aClosedStage
      const message = yield* aMessage(number)
      assert.deepStrictEqual(yield* leaving(number), [])
      yield* turnOff(workspace.id)
      assert.isNull(yield* findWait(message))
      assert.deepStrictEqual(yield* leaving(number), [message.id])
    }),
  )

  it.effect("turning the setting on holds from then on, until the end that was drawn before", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      yield* turnOn(workspace.id)
      yield* restrict(number)
      yield* turnOn(workspace.id, holding())
      const message = yield* aMessage(number)
      assert.deepStrictEqual(yield* leaving(number), [])
      assert.strictEqual(yield* findWait(message), noon + hour + newChatsExtra)
    }),
  )

  it.effect("who writes to the number gets what waited, in its order; others go on waiting", () =>
    Effect.gen(function* () {
      const { number } = yield* aClosedStage
      const [phone, other] = [aPhone(), aPhone()]
      const messages = yield* Effect.forEach([phone, other, phone], (to) => aMessageTo(number, to))
      assert.deepStrictEqual(yield* leaving(number), [])
      const lid = aLid()
      yield* receive(number, [aText({ person: someone({ lid }) })])
      assert.deepStrictEqual(yield* leaving(number), [])
      // Now the phone is known that belongs to it.
      yield* receive(number, [aText({ person: someone({ lid, phone }) })])
      assert.deepStrictEqual(yield* leaving(number), [at(messages, 0).id, at(messages, 2).id])
      assert.strictEqual(yield* findWait(at(messages, 1)), noon + hour + newChatsExtra)
    }),
  )
}

const others: Topic = (it) => {
  it.effect("a pause of the campaign and closed new chats release nothing of one another", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aClosedStage
      const campaign = yield* aRunning(workspace.id, someRows(1, 2))
      const messages = yield* took(campaign, number, [1, 2], { now: noon })
      assert.deepStrictEqual(yield* leaving(number), [])
      const paused = yield* pause(campaign)
      yield* openNewChats(noon + 2 * hour)
      assert.deepStrictEqual(yield* leaving(number, noon + 2 * hour), [])
      yield* restrict(number, closed(noon + 5 * hour), noon + 2 * hour)
      yield* resume(paused)
      assert.deepStrictEqual(yield* leaving(number, noon + 2 * hour), [])
      yield* openNewChats(noon + 6 * hour)
      assert.deepStrictEqual(yield* leaving(number, noon + 6 * hour), ids(messages))
    }),
  )

  it.effect("resuming a campaign leaves its messages waiting for new chats", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aClosedStage
      const campaign = yield* aRunning(workspace.id, someRows(1, 1))
      const messages = yield* took(campaign, number, [1], { now: noon })
      assert.deepStrictEqual(yield* leaving(number), [])
      yield* resume(yield* pause(campaign))
      assert.deepStrictEqual(yield* leaving(number), [])
      yield* openNewChats(noon + 2 * hour)
      assert.deepStrictEqual(yield* leaving(number, noon + 2 * hour), ids(messages))
    }),
  )

  it.effect("what waits for new chats is nothing that an operator has to release", () =>
    Effect.gen(function* () {
      const { number } = yield* aClosedStage
      const message = yield* aMessage(number)
      assert.deepStrictEqual(yield* leaving(number), [])
      const { system } = yield* Store
      assert.isFalse(yield* system.isHeld(message.id))
      assert.deepStrictEqual(yield* system.releaseHeld([message], noon), new Set())
      assert.deepStrictEqual(yield* leaving(number), [])
    }),
  )
}

const refusals: Topic = (it) => {
  it.effect("a refused new recipient waits for new chats, once", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      yield* turnOn(workspace.id, holding())
      const message = yield* aMessage(number)
      const claimed = yield* claimOne(number)
      assert.isFalse(yield* mayWait(message))
      yield* restrict(number)
      assert.isTrue(yield* mayWait(message))
      yield* settle([again(claimed, { unfinished: "new_chats_closed" })])
      assert.deepStrictEqual(yield* leaving(number), [])
      assert.strictEqual(yield* findWait(message), noon + hour + newChatsExtra)
      assert.isFalse(yield* mayWait(message))
      const over = noon + hour + newChatsExtra
      yield* openNewChats(over)
      const repeat = yield* claimOne(number, { now: over })
      assert.deepStrictEqual([repeat.message.id, repeat.interruptions], [message.id, 0])
      yield* restrict(number, closed(over + hour), over)
      assert.isFalse(yield* mayWait(message, over))
      yield* settle([failed(repeat, over)], over)
    }),
  )

  it.effect("one that was refused waits no more when new chats opened meanwhile", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      yield* turnOn(workspace.id, holding())
      const message = yield* aMessage(number)
      const claimed = yield* claimOne(number)
      yield* settle([again(claimed, { unfinished: "new_chats_closed" })])
      assert.strictEqual((yield* claimOne(number)).message.id, message.id)
    }),
  )

  it.effect(
    "of 200 new and 200 known recipients one is refused, and none that is known waits",
    () =>
      Effect.gen(function* () {
        const { number, workspace } = yield* aStage()
        yield* turnOn(workspace.id, holding())
        const writers = yield* Effect.forEach(Array.from({ length: 200 }), () => aWriter(number))
        const messages = yield* Effect.forEach(
          writers.flatMap((writer) => [aPhone(), writer]),
          (phone) => aMessageTo(number, phone),
        )
        const known = new Set<string>(writers)
        const counts = { refused: 0, sent: 0 }
        let isTold = false
        // As WhatsApp has it, which closes new chats before anybody here knows.
        const isClosed = (now: number) => now < noon + hour
        const sendAll = (now: number) =>
          Effect.gen(function* () {
            for (;;) {
              const [claimed] = yield* claim([number], { now })
              if (claimed === undefined) return
              const { to } = claimed.message
              const isKnown = known.has("phone" in to ? (to.phone ?? "") : "")
              if (isKnown || !isClosed(now)) {
                counts.sent++
                yield* settle([sent(claimed, now)], now)
                continue
              }
              counts.refused++
              if (!isTold) yield* restrict(number, closed(), now)
              isTold = true
              yield* settle(
                (yield* mayWait(claimed.message, now))
                  ? [again(claimed, { unfinished: "new_chats_closed" })]
                  : [endedAs(claimed, { trigger: "send_failed", error: sendFailed }, now)],
                now,
              )
            }
          })
        yield* sendAll(noon)
        assert.deepStrictEqual({ ...counts }, { refused: 1, sent: 200 })
        yield* sendAll(noon + hour)
        assert.strictEqual(counts.sent, 200)
        yield* openNewChats(noon + hour + newChatsExtra)
        yield* sendAll(noon + hour + newChatsExtra)
        assert.deepStrictEqual({ ...counts }, { refused: 1, sent: 400 })
        for (const message of messages) {
          assert.strictEqual((yield* lookUp(message)).message.state, "sent")
        }
      }),
  )
}

export const newChats: Topic = (it, options) => {
  waiting(it, options)
  ending(it, options)
  others(it, options)
  refusals(it, options)
}
