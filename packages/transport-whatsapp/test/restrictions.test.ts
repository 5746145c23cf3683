/** What WhatsApp lets a number do with new people: asked for, told by itself, and stored. */
import { assert, describe, it as plainIt, layer } from "@effect/vitest"
import { noteConversations, Store, unknownRestrictions } from "@messaging-service/core"
import type { Restrictions } from "@messaging-service/core"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect, Latch } from "effect"
import { TestClock } from "effect/testing"
import { fromCap, fromTimelock, makeRestrictionChecks } from "../src/restrictions.ts"
import { logins } from "./People.ts"
import {
  aLinkedNumber,
  aPerson,
  aText,
  layerWorld,
  sendNow,
  to,
  Told,
  untilSo,
  withConversations,
} from "./LiveWorld.ts"
import type { LinkedNumber } from "./LiveWorld.ts"

const until = 4_000_000_000_000

const stored = ({ id }: LinkedNumber) =>
  Effect.gen(function* () {
    const { numbers } = yield* Store
    const number = yield* numbers.find(id)
    return number && (yield* numbers.restrictions(number.workspaceId, id))
  }).pipe(Effect.orDie)

/** What is stored once it is as expected. */
const becomes = (number: LinkedNumber, isExpected: (known: Restrictions) => boolean) =>
  Effect.gen(function* () {
    yield* untilSo(Effect.map(stored(number), (known) => known !== null && isExpected(known)))
    const known = yield* stored(number)
    assert.isNumber(known?.checkedAt)
    const { checkedAt: _, ...rest } = known!
    return rest
  })

const isOpen = ({ state }: Restrictions) => state === "none"
const isClosed = ({ state }: Restrictions) => state === "new_chats_closed"

const noCap = { limit: null, used: 0, resetsAt: null, warning: "none" } as const

const aConversingNumber = Effect.gen(function* () {
  const number = yield* Effect.flatMap(aLinkedNumber, (linked) => withConversations(linked))
  yield* becomes(number, isOpen)
  return number
})

layer(layerWorld)("restrictions of a number", (it) => {
  it.effect("are asked for at open, in a workspace with conversations", () =>
    Effect.gen(function* () {
      const number = yield* Effect.flatMap(aLinkedNumber, (linked) => withConversations(linked))
      assert.deepStrictEqual(yield* becomes(number, isOpen), {
        state: "none",
        until: null,
        reason: null,
        newChats: noCap,
      })
    }),
  )

  it.effect("are neither asked for nor stored while conversations are off", () =>
    Effect.gen(function* () {
      const number = yield* aLinkedNumber
      const server = yield* WhatsAppServer
      yield* server.closeNewChats(number.digits, { until })
      const stranger = yield* aPerson
      assert.strictEqual((yield* sendNow(aText(number, to(stranger))))._tag, "Refused")
      // Another number's questions show that those of this one would have come by now.
      yield* aConversingNumber
      const heard = yield* Told
      const own = heard.filter((event) => event.numberId === number.id)
      assert.isFalse(own.some(({ _tag }) => _tag === "RestrictionsChanged"))
      assert.isNull(yield* stored(number))
      yield* withConversations(number)
      yield* becomes(number, isClosed)
    }),
  )

  it.effect("are as WhatsApp tells by itself, at once", () =>
    Effect.gen(function* () {
      const number = yield* aConversingNumber
      const server = yield* WhatsAppServer
      yield* server.closeNewChats(number.digits, { until, reason: "BIZ_QUALITY" })
      assert.deepStrictEqual(yield* becomes(number, isClosed), {
        state: "new_chats_closed",
        until,
        reason: "BIZ_QUALITY",
        newChats: noCap,
      })
      const cap = { limit: 50, used: 40, from: 1000, until, status: "FIRST_WARNING" } as const
      yield* server.capNewChats(number.digits, cap)
      const capped = yield* becomes(number, ({ newChats }) => newChats?.used === 40)
      assert.deepStrictEqual(capped.newChats, {
        limit: 50,
        used: 40,
        resetsAt: until,
        warning: "first",
      })
      yield* server.openNewChats(number.digits)
      assert.isNull((yield* becomes(number, isOpen)).until)
    }),
  )

  it.effect("are unknown after a question that WhatsApp refuses, and messages pass", () =>
    Effect.gen(function* () {
      const number = yield* aLinkedNumber
      const server = yield* WhatsAppServer
      const friend = yield* aPerson
      const before = (yield* logins(number))()
      yield* server.refuseNext("closed chats", 500)
      yield* server.refuseNext("chat cap", 500)
      yield* withConversations(number)
      const known = yield* becomes(number, ({ state }) => state === "unknown")
      const { checkedAt: _, ...unknown } = unknownRestrictions(null)
      assert.deepStrictEqual(known, unknown)
      assert.strictEqual((yield* sendNow(aText(number, to(friend))))._tag, "Accepted")
      assert.strictEqual((yield* logins(number))(), before)
    }),
  )
})

// By the test's clock

const minute = 60_000
const hour = 60 * minute

/** Checks over questions that a test answers. */
const checks = Effect.gen(function* () {
  const live = {
    conversing: Latch.makeUnsafe(false),
    notConversing: Latch.makeUnsafe(true),
  }
  const answers = { isActive: false, end: 0, isRefused: false, hangs: false }
  const log: Array<Restrictions> = []
  let questions = 0
  const all = makeRestrictionChecks(
    {
      fetchAccountReachoutTimelock: async () => {
        questions++
        if (answers.hangs) await new Promise(() => {})
        if (answers.isRefused) throw new Error("refused")
        const { end, isActive } = answers
        return { isActive, ...(end > 0 && { timeEnforcementEnds: new Date(end) }) }
      },
      fetchNewChatMessageCap: async () => ({ total_quota: -1, used_quota: 0 }),
    },
    live,
    (restrictions) => Effect.sync(() => void log.push(restrictions)),
  )
  const fiber = yield* Effect.forkScoped(all.run)
  const settle = Effect.gen(function* () {
    // Questions are promises.
    for (let step = 0; step < 20; step++) {
      yield* Effect.promise(() => Promise.resolve())
      yield* Effect.yieldNow
    }
  })
  return {
    ...all,
    answers,
    log,
    fiber,
    asked: () => questions,
    turn: (isOn: boolean) => Effect.andThen(noteConversations(live, isOn), settle),
    advance: (millis: number) => Effect.andThen(TestClock.adjust(millis), settle),
    settle,
  }
})

describe("questions about restrictions", () => {
  plainIt.effect("come at open and every six hours, and not while conversations are off", () =>
    Effect.gen(function* () {
      const { advance, asked, turn } = yield* checks
      yield* advance(7 * hour)
      assert.strictEqual(asked(), 0)
      yield* turn(true)
      assert.strictEqual(asked(), 1)
      yield* advance(6 * hour - 1)
      assert.strictEqual(asked(), 1)
      yield* advance(1)
      assert.strictEqual(asked(), 2)
      yield* turn(false)
      yield* advance(12 * hour)
      assert.strictEqual(asked(), 2)
      yield* turn(true)
      assert.strictEqual(asked(), 3)
    }),
  )

  plainIt.effect("come after a refusal, at most once a minute", () =>
    Effect.gen(function* () {
      const { advance, asked, refused, turn } = yield* checks
      yield* turn(true)
      yield* advance(10 * minute)
      for (const expected of [2, 2, 2]) {
        yield* Effect.forkChild(refused)
        yield* advance(1000)
        assert.strictEqual(asked(), expected)
      }
      yield* advance(minute)
      assert.strictEqual(asked(), 3)
      yield* advance(hour)
      assert.strictEqual(asked(), 3)
    }),
  )

  plainIt.effect("hold a refusal until their answer is stored, 5 seconds at most", () =>
    Effect.gen(function* () {
      const { advance, answers, log, refused, turn } = yield* checks
      // Nothing is asked.
      yield* refused
      yield* turn(true)
      yield* advance(10 * minute)
      answers.isActive = true
      yield* refused
      assert.strictEqual(log.at(-1)?.state, "new_chats_closed")
      // Asked less than a minute ago.
      yield* refused
      yield* advance(2 * minute)
      answers.hangs = true
      const waiting = yield* Effect.forkChild(refused)
      yield* advance(4999)
      assert.isUndefined(waiting.pollUnsafe())
      yield* advance(1)
      assert.isDefined(waiting.pollUnsafe())
    }),
  )

  plainIt.effect("leave a refusal without an answer a second for the notice that explains it", () =>
    Effect.gen(function* () {
      const { advance, log, refused, settle, told, turn } = yield* checks
      yield* turn(true)
      const early = yield* Effect.forkChild(refused)
      yield* advance(999)
      assert.isUndefined(early.pollUnsafe())
      yield* advance(1)
      assert.isDefined(early.pollUnsafe())
      const explained = yield* Effect.forkChild(refused)
      yield* settle
      assert.isUndefined(explained.pollUnsafe())
      yield* told(fromTimelock({ isActive: true, timeEnforcementEnds: new Date(2 * hour) }))
      yield* settle
      assert.isDefined(explained.pollUnsafe())
      assert.strictEqual(log.at(-1)?.state, "new_chats_closed")
      // That new chats are closed is known.
      yield* refused
    }),
  )

  plainIt.effect("come at the end of closed new chats, also of an end that a notice told", () =>
    Effect.gen(function* () {
      const { advance, answers, asked, log, told, turn } = yield* checks
      yield* turn(true)
      yield* told(fromTimelock({ isActive: true, timeEnforcementEnds: new Date(2 * hour) }))
      yield* advance(2 * hour - 1)
      assert.strictEqual(asked(), 1)
      assert.strictEqual(log.at(-1)?.state, "new_chats_closed")
      yield* advance(1)
      assert.strictEqual(asked(), 2)
      assert.strictEqual(log.at(-1)?.state, "none")
      answers.isActive = true
      answers.end = 9 * hour
      yield* advance(6 * hour)
      assert.strictEqual(log.at(-1)?.until, 9 * hour)
      yield* advance(hour)
      assert.strictEqual(asked(), 4)
    }),
  )

  plainIt.effect("store the same answer once when a notice repeats it", () =>
    Effect.gen(function* () {
      const { log, settle, told, turn } = yield* checks
      yield* turn(true)
      const before = log.length
      yield* told(fromTimelock({ isActive: false }))
      yield* settle
      assert.strictEqual(log.length, before)
    }),
  )
})

describe("what WhatsApp says of restrictions", () => {
  plainIt("has a reason and an end only while new chats are closed", () => {
    const end = new Date(until)
    const reason = "BIZ_QUALITY" as never
    assert.deepStrictEqual(
      fromTimelock({ isActive: true, enforcementType: reason, timeEnforcementEnds: end }),
      { state: "new_chats_closed", until, reason },
    )
    assert.deepStrictEqual(fromTimelock({ isActive: true }), {
      state: "new_chats_closed",
      until: null,
      reason: null,
    })
    assert.deepStrictEqual(
      fromTimelock({ isActive: false, enforcementType: reason, timeEnforcementEnds: end }),
      { state: "none", until: null, reason: null },
    )
  })

  plainIt("has a cap with its end, none, or does not say", () => {
    const cap = { total_quota: 100, used_quota: 7, cycle_end_timestamp: "4000000000" }
    for (const [status, warning] of [
      ["NONE", "none"],
      ["FIRST_WARNING", "first"],
      ["SECOND_WARNING", "second"],
      ["CAPPED", "capped"],
    ] as const) {
      assert.deepStrictEqual(fromCap({ ...cap, capping_status: status as never }), {
        limit: 100,
        used: 7,
        resetsAt: until,
        warning,
      })
    }
    assert.deepStrictEqual<unknown>(fromCap({ total_quota: -1, used_quota: 0 }), noCap)
    assert.isNull(fromCap({}))
  })
})
