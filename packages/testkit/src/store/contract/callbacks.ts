/** Callbacks: what is written with a message's end, how many go out at once, and what a lease is worth. */
import { assert } from "@effect/vitest"
import { CallbackQueue, CallbackSalts, WorkspaceStore, WorkStatus } from "@messaging-service/core"
import type { WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import {
  aCallback,
  aCallbackUrl,
  aCallingStage,
  claimCallbacks,
  claimTheCallback,
  eventsOf,
  over,
  settleCallbacks,
  tryAgain,
} from "../Calling.ts"
import { at, present } from "../Expect.ts"
import { range } from "../Races.ts"
import {
  again,
  cancelled,
  change,
  claimOne,
  end,
  endedAs,
  expired,
  sendFailed,
  sent,
  settle,
} from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  aMessage,
  anEra,
  aNumber,
  aWorkspace,
  day,
  fresh,
  hour,
  minute,
  noon,
} from "../World.ts"

/** When a callback loop must look again, if that is within 50 days of `era`. */
const nextDue = (era: number) =>
  Effect.map(
    WorkStatus.use((status) => status.nextDue("callbacks")),
    (due) => (due !== null && due < era + 50 * day ? due : null),
  )

export const callbacks: Topic = (it) => {
  it.effect("every end of a message that reports is written with it, the others' is not", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const callbackUrl = aCallbackUrl()
      const given = { message: { callbackUrl } }
      const [first, second] = yield* accepted(number, { count: 2, ...given })
      const success = sent(yield* claimOne(number))
      yield* settle([success])
      const failure = endedAs(yield* claimOne(number), {
        trigger: "send_failed",
        error: { ...sendFailed, message: "Größe & more" },
      })
      yield* settle([failure])
      const cancel = cancelled(yield* aMessage(number, given))
      const expiry = expired(yield* aMessage(number, given))
      yield* end(cancel, cancelled(yield* aMessage(number)), expiry)
      yield* aMessage(number)
      yield* settle([sent(yield* claimOne(number))])

      const bodies = new Map(
        (yield* claimCallbacks()).map((claimed) => [claimed.eventId, claimed.body]),
      )
      const expected = [success, failure].map((settlement) =>
        settlement._tag === "Ended" ? settlement.change : assert.fail("it has not ended"),
      )
      assert.deepStrictEqual(
        bodies,
        new Map([
          [at(expected, 0).event.id, `msg_id=${present(first).id}&status=SENT`],
          [
            at(expected, 1).event.id,
            `msg_id=${present(second).id}&status=FAILED&error=Gr%C3%B6%C3%9Fe+%26+more`,
          ],
          [cancel.event.id, `msg_id=${cancel.message.id}&status=CANCELLED`],
          [expiry.event.id, `msg_id=${expiry.message.id}&status=EXPIRED`],
        ]),
      )
    }),
  )

  it.effect("a callback carries the frozen body, and where to send it", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aCallingStage()
      const callbackUrl = aCallbackUrl()
      const cancel = cancelled(yield* aMessage(number, { message: { callbackUrl } }))
      const callback = present(cancel.callback)
      const body = `${callback.body}&text=%20+"quoted"\n\\ – 🦉`
      yield* end({ ...cancel, callback: { ...callback, body } })
      const claimed = yield* claimTheCallback()
      assert.deepStrictEqual(claimed, {
        id: claimed.id,
        lease: claimed.lease,
        eventId: cancel.event.id,
        workspaceId: workspace.id,
        url: callbackUrl,
        body,
        attempt: 1,
        storedSalt: null,
      })
    }),
  )

  it.effect("what a commit did not end is not reported", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const message = yield* aMessage(number, { message: { callbackUrl: aCallbackUrl() } })
      const claimed = yield* claimOne(number)
      // In the hands of a transport; back in its lane; and under a lease that is no more.
      yield* end(cancelled(message))
      yield* settle([again(claimed)])
      yield* settle([sent(claimed)])
      assert.deepStrictEqual(yield* claimCallbacks(), [])
      const cancel = cancelled(message)
      yield* end(cancel, expired(message))
      yield* end(change(message, { trigger: "expire" }))
      assert.strictEqual((yield* claimTheCallback()).eventId, cancel.event.id)
    }),
  )

  it.effect("nothing is due before its own time; the longest due comes first", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const later = yield* aCallback(number, aCallbackUrl(), noon + minute)
      const first = yield* aCallback(number)
      const second = yield* aCallback(number)
      assert.deepStrictEqual(yield* claimCallbacks({ now: noon - 1 }), [])
      const claimed = yield* claimCallbacks({ now: noon, leaseUntil: noon + hour, limit: 1 })
      assert.deepStrictEqual(eventsOf(claimed), eventsOf([first]))
      assert.deepStrictEqual(
        eventsOf(yield* claimCallbacks({ now: noon + minute })),
        eventsOf([second, later]),
      )
    }),
  )

  it.effect("of one target a few are in flight at once, each settlement makes room for one", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const url = aCallbackUrl()
      // The path is not the target.
      const made = yield* Effect.forEach(range(9), (index) => aCallback(number, `${url}/${index}`))
      const limits = { perTarget: 3, leaseUntil: noon + day }
      const two = yield* claimCallbacks({ ...limits, limit: 2 })
      const held = [...two, ...(yield* claimCallbacks(limits))]
      assert.deepStrictEqual(eventsOf(held), eventsOf(made.slice(0, 3)))
      assert.deepStrictEqual(yield* claimCallbacks(limits), [])
      yield* settleCallbacks(over(at(held, 0)), tryAgain(at(held, 2), noon + 2 * hour))
      assert.deepStrictEqual(eventsOf(yield* claimCallbacks(limits)), eventsOf(made.slice(3, 5)))
      assert.deepStrictEqual(yield* claimCallbacks(limits), [])
      yield* settleCallbacks(over(at(held, 1)))
      assert.deepStrictEqual(eventsOf(yield* claimCallbacks(limits)), eventsOf([at(made, 5)]))
    }),
  )

  it.effect("a target that does not answer delays no other, nor another workspace's", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const { number: stranger } = yield* aCallingStage()
      const slow = aCallbackUrl()
      for (let index = 0; index < 12; index++) yield* aCallback(number, slow)
      const other = yield* aCallback(number, aCallbackUrl(), noon + minute)
      const same = yield* aCallback(stranger, slow, noon + 2 * minute)
      const claimed = yield* claimCallbacks({ perTarget: 2, limit: 4 })
      assert.deepStrictEqual(eventsOf(claimed).slice(2), eventsOf([other, same]))
    }),
  )

  it.effect("everything that was put aside for want of room has its turn", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const urls = [aCallbackUrl(), aCallbackUrl()]
      const made = yield* Effect.forEach(range(20), (index) =>
        aCallback(number, at(urls, index % 2)),
      )
      const seen: Array<string> = []
      for (;;) {
        const claimed = yield* claimCallbacks({ perTarget: 3, limit: 4 })
        if (claimed.length === 0) break
        seen.push(...eventsOf(claimed))
        yield* settleCallbacks(...claimed.map(over))
      }
      assert.deepStrictEqual(seen.toSorted(), eventsOf(made).toSorted())
    }),
  )

  it.effect("of one workspace no more than its share is in flight, over all its targets", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const { number: stranger } = yield* aCallingStage()
      const made = yield* Effect.forEach(range(9), () => aCallback(number))
      const later = yield* aCallback(stranger, aCallbackUrl(), noon + minute)
      const limits = { perWorkspace: 4, leaseUntil: noon + day }
      // What is put aside takes nothing of the limit.
      const held = yield* claimCallbacks({ ...limits, limit: 5 })
      assert.deepStrictEqual(eventsOf(held), eventsOf([...made.slice(0, 4), later]))
      assert.deepStrictEqual(yield* claimCallbacks(limits), [])
      yield* settleCallbacks(over(at(held, 0)), tryAgain(at(held, 2), noon + 2 * hour))
      const next = yield* claimCallbacks(limits)
      assert.deepStrictEqual(eventsOf(next), eventsOf(made.slice(4, 6)))
      assert.deepStrictEqual(yield* claimCallbacks(limits), [])
      yield* settleCallbacks(...[at(held, 1), at(held, 3), ...next].map(over))
      // The one that failed is due again, after those that have waited longer.
      assert.deepStrictEqual(
        eventsOf(
          yield* claimCallbacks({ ...limits, now: noon + 2 * hour, leaseUntil: noon + day }),
        ),
        eventsOf([...made.slice(6, 9), at(made, 2)]),
      )
    }),
  )

  it.effect("a target that does not answer keeps no place of its workspace's share unused", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const slow = aCallbackUrl()
      // Two fill their target, two of other targets the share; the others are put aside.
      const hanging = yield* Effect.forEach(range(2), () => aCallback(number, slow))
      const others = yield* Effect.forEach(range(2), () => aCallback(number))
      const limits = { perTarget: 2, perWorkspace: 4, leaseUntil: noon + day }
      const held = yield* claimCallbacks(limits)
      assert.deepStrictEqual(eventsOf(held), eventsOf([...hanging, ...others]))
      for (let more = 0; more < 5; more++) yield* aCallback(number, slow, noon + more)
      const waiting = yield* Effect.forEach(range(3), () =>
        aCallback(number, aCallbackUrl(), noon + minute),
      )
      assert.deepStrictEqual(yield* claimCallbacks(limits), [])
      yield* settleCallbacks(...held.slice(2).map(over))
      const next = yield* claimCallbacks(limits)
      assert.deepStrictEqual(eventsOf(next), eventsOf(waiting.slice(0, 2)))
      yield* settleCallbacks(...next.map(over))
      assert.deepStrictEqual(eventsOf(yield* claimCallbacks(limits)), eventsOf(waiting.slice(2)))
    }),
  )

  it.effect("everything that was put aside for its workspace has its turn", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const urls = range(5).map(() => aCallbackUrl())
      const made = yield* Effect.forEach(range(40), (index) =>
        aCallback(number, at(urls, (index * index) % 5)),
      )
      const seen: Array<string> = []
      /** What could be claimed of what is left: two of each target, three in all. */
      const claimable = () =>
        urls.reduce((sum, target) => {
          const left = made.filter(({ eventId, url }) => url === target && !seen.includes(eventId))
          return Math.min(3, sum + Math.min(2, left.length))
        }, 0)
      for (;;) {
        const claimed = yield* claimCallbacks({ perTarget: 2, perWorkspace: 3, limit: 7 })
        if (claimed.length === 0) break
        assert.lengthOf(claimed, claimable())
        seen.push(...eventsOf(claimed))
        yield* settleCallbacks(...claimed.map(over))
      }
      assert.deepStrictEqual(seen.toSorted(), eventsOf(made).toSorted())
    }),
  )

  it.effect("when a lease runs out the same attempt is handed out again, under another lease", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      yield* aCallback(number)
      const first = yield* claimTheCallback({ now: noon, leaseUntil: noon + minute })
      assert.deepStrictEqual(yield* claimCallbacks({ now: noon + minute - 1 }), [])
      const second = yield* claimTheCallback({ now: noon + minute })
      assert.deepStrictEqual(second, { ...first, lease: second.lease })
      assert.notStrictEqual(second.lease, first.lease)
      // The first holder comes too late, whatever it says.
      yield* settleCallbacks(over(first))
      yield* settleCallbacks(tryAgain(first, noon))
      assert.deepStrictEqual(yield* claimCallbacks({ now: noon + minute }), [])
      yield* settleCallbacks(tryAgain(second, noon + hour))
      // Settled once, however often that is repeated.
      yield* settleCallbacks(over(second))
      assert.deepStrictEqual(yield* claimCallbacks({ now: noon + hour - 1 }), [])
      const third = yield* claimTheCallback({ now: noon + hour })
      assert.deepStrictEqual(third, { ...first, lease: third.lease, attempt: 2 })
      yield* settleCallbacks(over(third))
      assert.deepStrictEqual(yield* claimCallbacks({ now: noon + day }), [])
    }),
  )

  it.effect("the room that a dead worker held is free when its leases are over", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const url = aCallbackUrl()
      const made = yield* Effect.forEach(range(5), () => aCallback(number, url))
      const dead = yield* claimCallbacks({ now: noon, leaseUntil: noon + minute, perTarget: 2 })
      assert.lengthOf(dead, 2)
      assert.deepStrictEqual(yield* claimCallbacks({ now: noon + 1, perTarget: 2 }), [])
      const seen: Array<string> = []
      for (;;) {
        const claimed = yield* claimCallbacks({ now: noon + minute, perTarget: 2 })
        if (claimed.length === 0) break
        assert.isAtMost(claimed.length, 2)
        seen.push(...eventsOf(claimed))
        yield* settleCallbacks(...claimed.map(over))
      }
      assert.deepStrictEqual(seen.toSorted(), eventsOf(made).toSorted())
    }),
  )

  it.effect("a loop must look when the next is due, or a lease ends; not for want of room", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aCallingStage(era)
      const until = Effect.map(
        WorkStatus.use((status) => status.workload(era)),
        ({ deliveringUntil: latest }) =>
          latest !== null && latest < era + 50 * day ? latest : null,
      )
      assert.isNull(yield* nextDue(era))
      const url = aCallbackUrl()
      for (let index = 0; index < 3; index++) yield* aCallback(number, url, era + minute)
      assert.strictEqual(yield* nextDue(era), era + minute)
      const limits = { now: era + minute, leaseUntil: era + hour, perTarget: 2 }
      const held = yield* claimCallbacks(limits)
      assert.lengthOf(held, 2)
      assert.strictEqual(yield* nextDue(era), era + hour)
      assert.strictEqual(yield* until, era + hour)
      yield* settleCallbacks(tryAgain(at(held, 0), era + 2 * minute))
      // Room for the third.
      assert.strictEqual(yield* nextDue(era), era + minute)
      const third = yield* claimTheCallback({ ...limits, leaseUntil: era + 2 * hour })
      assert.strictEqual(yield* nextDue(era), era + 2 * minute)
      yield* settleCallbacks(over(at(held, 1)), over(third))
      assert.isNull(yield* until)
      yield* settleCallbacks(over(yield* claimTheCallback({ now: era + 2 * minute })))
      assert.isNull(yield* nextDue(era))
    }),
  )

  it.effect("commits of this process are heard of", () =>
    Effect.gen(function* () {
      const { queued } = yield* CallbackQueue
      const { number } = yield* aCallingStage()
      yield* aCallback(number)
      yield* queued
      const hearing = yield* Effect.forkChild(queued, { startImmediately: true })
      yield* end(cancelled(yield* aMessage(number)))
      assert.isUndefined(hearing.pollUnsafe())
      yield* aMessage(number, { message: { callbackUrl: aCallbackUrl() } })
      yield* settle([sent(yield* claimOne(number))])
      yield* Effect.yieldNow
      while (hearing.pollUnsafe() === undefined) yield* Effect.yieldNow
    }),
  )

  it.effect("what a workspace's secret is made from is kept, and goes out with each claim", () =>
    Effect.gen(function* () {
      const salts = yield* CallbackSalts
      const { number, workspace } = yield* aCallingStage()
      assert.isNull(yield* salts.get(workspace.id))
      yield* aCallback(number)
      const first = yield* claimTheCallback()
      assert.isNull(first.storedSalt)
      const salt = `salt ${fresh()}`
      assert.isTrue(yield* salts.put(workspace.id, salt))
      assert.strictEqual(yield* salts.get(workspace.id), salt)
      yield* settleCallbacks(tryAgain(first, noon))
      assert.strictEqual((yield* claimTheCallback()).storedSalt, salt)
      const other = yield* aWorkspace()
      assert.isNull(yield* salts.get(other.id))
      yield* WorkspaceStore.use((store) => store.delete(other.id, noon))
      for (const id of [other.id, 999_999_999 as WorkspaceId]) {
        assert.isFalse(yield* salts.put(id, salt))
        assert.isNull(yield* salts.get(id))
      }
    }),
  )

  it.effect("a deleted workspace's are gone, in flight or not, and no further ones come", () =>
    Effect.gen(function* () {
      const store = yield* WorkspaceStore
      const { number: bystander } = yield* aCallingStage()
      const url = aCallbackUrl()
      const stays = yield* aCallback(bystander, url)
      const workspace = yield* aWorkspace()
      const number = yield* aNumber(workspace.id)
      for (let index = 0; index < 4; index++) yield* aCallback(number, url)
      const held = yield* claimCallbacks({ perTarget: 2 })
      assert.lengthOf(held, 3)
      const given = { message: { callbackUrl: url } }
      yield* aMessage(number, given)
      const inHands = yield* claimOne(number)
      const waiting = yield* aMessage(number, given)
      yield* store.delete(workspace.id, noon)
      yield* end(cancelled(waiting))
      yield* settle([sent(inHands)])
      yield* settleCallbacks(...held.map((each) => tryAgain(each, noon)))
      const left = yield* claimTheCallback()
      assert.deepStrictEqual([left.eventId, left.attempt], [stays.eventId, 2])
      yield* settleCallbacks(over(left))
      assert.deepStrictEqual(yield* claimCallbacks({ now: noon + day }), [])
    }),
  )
}
