/** Callbacks: written with a message's end, a workspace's share, and their log. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { ClaimedDelivery, SaturatedTenants, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import { aCallback, aCallbackUrl, aCallingStage, sortedEventIds } from "../Calling.ts"
import {
  anEndpoint,
  anEvent,
  aStageWithKey,
  claimDue,
  claimTheOne,
  delivered,
  getEvents,
  refused,
  settleAndClaimDue,
  settleDeliveries,
  sharing,
} from "../Delivering.ts"
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
} from "../Records.ts"

export const callbacks: Topic = (it) => {
  it.effect("writes a callback with every end of a message that reports, and with no other's", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const callbackUrl = aCallbackUrl()
      const input = { message: { callbackUrl } }
      const [first, second] = yield* accepted(number, { count: 2, ...input })
      const success = sent(yield* claimOne(number))
      yield* settle([success])
      const failure = endedAs(yield* claimOne(number), {
        trigger: "send_failed",
        error: { ...sendFailed, message: "Größe & more" },
      })
      yield* settle([failure])
      const cancel = cancelled(yield* aMessage(number, input))
      const expiry = expired(yield* aMessage(number, input))
      yield* end(cancel, cancelled(yield* aMessage(number)), expiry)
      yield* aMessage(number)
      yield* settle([sent(yield* claimOne(number))])

      const bodies = new Map((yield* claimDue()).map((claimed) => [claimed.eventId, claimed.body]))
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
      const claimed = yield* claimTheOne()
      assert.deepStrictEqual(claimed, {
        id: claimed.id,
        kind: "callback",
        targetId: claimed.targetId,
        lease: claimed.lease,
        eventId: cancel.event.id,
        workspaceId: workspace.id,
        url: callbackUrl,
        body,
        attempt: 1,
        secretSalt: null,
      })
      assert.isBelow(claimed.targetId, 0)
    }),
  )

  it.effect("a commit that does not end a message reports nothing", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const message = yield* aMessage(number, { message: { callbackUrl: aCallbackUrl() } })
      const claimed = yield* claimOne(number)
      // In flight; back in its lane; and under a lost lease.
      yield* end(cancelled(message))
      yield* settle([again(claimed)])
      yield* settle([sent(claimed)])
      assert.deepStrictEqual(yield* claimDue(), [])
      const cancel = cancelled(message)
      yield* end(cancel, expired(message))
      yield* end(change(message, { trigger: "expire" }))
      assert.strictEqual((yield* claimTheOne()).eventId, cancel.event.id)
    }),
  )

  it.effect("an origin is the target of one workspace's callbacks, whatever the path", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const { number: stranger } = yield* aCallingStage()
      const slow = aCallbackUrl()
      const created = yield* Effect.forEach(range(9), (index) =>
        aCallback(number, `${slow}/${index}`),
      )
      const other = yield* aCallback(number, aCallbackUrl(), noon + minute)
      const same = yield* aCallback(stranger, slow, noon + 2 * minute)
      const limits = { perTarget: 3, leaseUntil: noon + day }
      const claimed = yield* claimDue(limits)
      assert.deepStrictEqual(
        sortedEventIds(claimed),
        sortedEventIds([...created.slice(0, 3), other, same]),
      )
      assert.deepStrictEqual(yield* claimDue(limits), [])
      const first = claimed.find(({ eventId }) => eventId === at(created, 0).eventId)
      yield* settleDeliveries(delivered(present(first)))
      assert.deepStrictEqual(
        sortedEventIds(yield* claimDue(limits)),
        sortedEventIds([at(created, 3)]),
      )
    }),
  )

  it.effect("claims no more than a workspace's share, over all its targets", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const { number: stranger } = yield* aCallingStage()
      const created = yield* Effect.forEach(range(9), (index) =>
        aCallback(number, aCallbackUrl(), noon + index),
      )
      const later = yield* aCallback(stranger, aCallbackUrl(), noon + minute)
      const ofWorkspace = (claimed: ReadonlyArray<ClaimedDelivery>) =>
        claimed.filter(({ workspaceId }) => workspaceId === number.workspaceId)
      const limits = { leaseUntil: noon + day }
      // Callbacks above the share take nothing of the limit.
      const claimed = yield* claimDue({ ...limits, ...sharing(4), limit: 5 })
      assert.deepStrictEqual(
        sortedEventIds(claimed),
        sortedEventIds([...created.slice(0, 4), later]),
      )
      const claimedDeliveries = ofWorkspace(claimed)
      assert.deepStrictEqual(yield* claimDue({ ...limits, ...sharing(4, claimedDeliveries) }), [])
      const [lost, ended, ...rest] = claimedDeliveries
      const results = [delivered(present(ended)), refused(present(lost), noon + 2 * hour)]
      const next = yield* settleAndClaimDue(results, { ...limits, ...sharing(4, rest) })
      assert.deepStrictEqual(sortedEventIds(next), sortedEventIds(created.slice(4, 6)))
      yield* settleDeliveries(...[...rest, ...next].map((each) => delivered(each)))
      // The failed one is due again, after those that have waited longer.
      const last = yield* claimDue({ ...limits, ...sharing(3), now: noon + 2 * hour })
      assert.deepStrictEqual(sortedEventIds(last), sortedEventIds(created.slice(6, 9)))
      const fourth = yield* claimDue({ ...limits, ...sharing(4, last), now: noon + 2 * hour })
      assert.deepStrictEqual(sortedEventIds(fourth), [present(lost).eventId])
    }),
  )

  it.effect("claims no more callbacks than requested; webhooks are not delayed", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const { number: calling } = yield* aCallingStage()
      const url = aCallbackUrl()
      const created = yield* Effect.forEach(range(3), (index) =>
        aCallback(calling, url, noon + index),
      )
      yield* aCallback(calling, aCallbackUrl(), noon + minute)
      const event = yield* anEvent(number, { now: noon + minute })
      const max = (limit: number) => ({ callbacks: { limit, perWorkspace: 9, held: new Map() } })
      const none = yield* claimDue({ ...max(0), leaseUntil: noon + day })
      assert.deepStrictEqual(getEvents(none, endpoint), [event.id])
      assert.lengthOf(none, 1)
      const two = yield* claimDue(max(2))
      assert.deepStrictEqual(sortedEventIds(two), sortedEventIds(created.slice(0, 2)))
    }),
  )

  it.effect("a target without an answer wastes no part of its workspace's share", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const slow = aCallbackUrl()
      // Two fill their target, two of other targets the share.
      const hanging = yield* Effect.forEach(range(2), () => aCallback(number, slow))
      const others = yield* Effect.forEach(range(2), () => aCallback(number))
      const limits = { perTarget: 2, leaseUntil: noon + day }
      const claimedDeliveries = yield* claimDue({ ...limits, ...sharing(4) })
      assert.deepStrictEqual(
        sortedEventIds(claimedDeliveries),
        sortedEventIds([...hanging, ...others]),
      )
      for (let more = 0; more < 5; more++) yield* aCallback(number, slow, noon + more)
      const waiting = yield* Effect.forEach(range(3), (index) =>
        aCallback(number, aCallbackUrl(), noon + minute + index),
      )
      assert.deepStrictEqual(yield* claimDue({ ...limits, ...sharing(4, claimedDeliveries) }), [])
      const isHanging = ({ eventId }: ClaimedDelivery) =>
        hanging.some((callback) => callback.eventId === eventId)
      const hang = claimedDeliveries.filter(isHanging)
      const quick = claimedDeliveries.filter((each) => !isHanging(each))
      yield* settleDeliveries(...quick.map((each) => delivered(each)))
      const next = yield* claimDue({ ...limits, ...sharing(4, hang) })
      assert.deepStrictEqual(sortedEventIds(next), sortedEventIds(waiting.slice(0, 2)))
      yield* settleDeliveries(...next.map((each) => delivered(each)))
      const last = yield* claimDue({ ...limits, ...sharing(4, hang) })
      assert.deepStrictEqual(sortedEventIds(last), sortedEventIds(waiting.slice(2)))
    }),
  )

  it.effect(
    "everything that waits for its workspace's share gets its turn, and none of the share is wasted",
    () =>
      Effect.gen(function* () {
        const { number } = yield* aCallingStage()
        const urls = range(5).map(() => aCallbackUrl())
        const created = yield* Effect.forEach(range(40), (index) =>
          aCallback(number, at(urls, (index * index) % 5)),
        )
        const received: Array<string> = []
        /** The claimable rest: two of each target, three in total. */
        const claimable = () =>
          urls.reduce((sum, target) => {
            const left = created.filter(
              ({ eventId, url }) => url === target && !received.includes(eventId),
            )
            return Math.min(3, sum + Math.min(2, left.length))
          }, 0)
        for (;;) {
          const claimed = yield* claimDue({ perTarget: 2, limit: 7, ...sharing(3) })
          assert.lengthOf(claimed, claimable())
          if (claimed.length === 0) break
          received.push(...sortedEventIds(claimed))
          yield* settleDeliveries(...claimed.map((each) => delivered(each)))
        }
        assert.deepStrictEqual(received.toSorted(), sortedEventIds(created))
      }),
  )

  it.effect("a workspace with many targets delays no other one", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const { number: stranger } = yield* aCallingStage()
      yield* Effect.forEach(range(12), () => aCallback(number))
      const later = yield* aCallback(stranger, aCallbackUrl(), noon + minute)
      assert.deepStrictEqual(yield* claimDue({ now: noon + minute, ...sharing(0) }), [])
      // It has more lanes than a claim reads.
      const claimed = yield* claimDue({ limit: 3, ...sharing(2) })
      assert.lengthOf(claimed, 3)
      assert.include(sortedEventIds(claimed), later.eventId)
    }),
  )

  it.effect("callbacks that wait for their workspace's share are not due for its loop", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number, workspace } = yield* aCallingStage(era)
      yield* aCallback(number, aCallbackUrl(), era)
      // Read by a claim that may take none.
      assert.deepStrictEqual(yield* claimDue({ now: era, ...sharing(0) }), [])
      const due = (saturated: SaturatedTenants) =>
        Effect.map(
          Store.use(({ queue: status }) => status.nextDue("deliveries", saturated)),
          (instant) => instant !== null && instant <= era,
        )
      assert.isTrue(yield* due([]))
      assert.isFalse(yield* due([workspace.id]))
      assert.isFalse(yield* due("all"))
    }),
  )

  it.effect("one that arrives brings forward those to its URL alone, whatever their origin", () =>
    Effect.gen(function* () {
      const { number } = yield* aCallingStage()
      const url = aCallbackUrl()
      const waiting = yield* aCallback(number, url)
      yield* aCallback(number, `${url}/other`)
      const failing = yield* claimDue()
      yield* settleDeliveries(...failing.map((each) => refused(each, noon + day)))
      yield* aCallback(number, url)
      yield* settleDeliveries(delivered(yield* claimTheOne()))
      assert.strictEqual((yield* claimTheOne()).eventId, waiting.eventId)
    }),
  )

  it.effect("the log of its workspace has every attempt, newest first", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { number, workspace } = yield* aCallingStage()
      const { number: stranger } = yield* aCallingStage()
      const { eventId, url } = yield* aCallback(number)
      yield* settleDeliveries(
        refused(yield* claimTheOne(), noon + 2 * hour, {
          attemptedAt: noon + 1,
          durationMillis: 3,
        }),
      )
      yield* settleDeliveries(
        delivered(yield* claimTheOne({ now: noon + 2 * hour }), { attemptedAt: noon + 2 * hour }),
      )
      const others = yield* aCallback(stranger)
      yield* settleDeliveries(refused(yield* claimTheOne(), null))
      const readLog = (id: WorkspaceId, before: number | null = null, limit = 9) =>
        store.callbackAttempts(id, { before, limit })
      const { items } = yield* readLog(workspace.id)
      const same = { eventId, type: "message.cancelled", url } as const
      assert.deepStrictEqual(items, [
        {
          ...same,
          id: present(items[0]).id,
          attempt: 2,
          attemptedAt: noon + 2 * hour,
          responseStatus: 204,
          error: null,
          durationMillis: 7,
          nextAttemptAt: null,
        },
        {
          ...same,
          id: present(items[1]).id,
          attempt: 1,
          attemptedAt: noon + 1,
          responseStatus: 500,
          error: "http_status",
          durationMillis: 3,
          nextAttemptAt: noon + 2 * hour,
        },
      ])
      const first = yield* readLog(workspace.id, null, 1)
      assert.deepStrictEqual(first.items, items.slice(0, 1))
      assert.deepStrictEqual((yield* readLog(workspace.id, first.next)).items, items.slice(1))
      const [foreign] = (yield* readLog(stranger.workspaceId)).items
      assert.deepStrictEqual(
        [present(foreign).eventId, present(foreign).nextAttemptAt],
        [others.eventId, null],
      )
    }),
  )

  it.effect("stores the seed of a workspace's secret, and returns it with each claim", () =>
    Effect.gen(function* () {
      const salts = (yield* Store).workspaces
      const { number, workspace } = yield* aCallingStage()
      assert.isNull(yield* salts.callbackSalt(workspace.id))
      yield* aCallback(number)
      const first = yield* claimTheOne()
      assert.isNull(first.secretSalt)
      const salt = `salt ${fresh()}`
      assert.isTrue(yield* salts.putCallbackSalt(workspace.id, salt))
      assert.strictEqual(yield* salts.callbackSalt(workspace.id), salt)
      yield* settleDeliveries(refused(first, noon))
      assert.strictEqual((yield* claimTheOne()).secretSalt, salt)
      const other = yield* aWorkspace()
      assert.isNull(yield* salts.callbackSalt(other.id))
      yield* Store.use(({ workspaces: store }) => store.delete(other.id, noon))
      for (const id of [other.id, 999_999_999 as WorkspaceId]) {
        assert.isFalse(yield* salts.putCallbackSalt(id, salt))
        assert.isNull(yield* salts.callbackSalt(id))
      }
    }),
  )

  it.effect(
    "a deleted workspace's callbacks are gone, in flight or not, and no further ones come",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).workspaces
        const { number: bystander } = yield* aCallingStage()
        const url = aCallbackUrl()
        const stays = yield* aCallback(bystander, url)
        const workspace = yield* aWorkspace()
        const number = yield* aNumber(workspace.id)
        for (let index = 0; index < 4; index++) yield* aCallback(number, url)
        const claimedDeliveries = yield* claimDue({ perTarget: 2 })
        assert.lengthOf(claimedDeliveries, 3)
        const input = { message: { callbackUrl: url } }
        yield* aMessage(number, input)
        const inFlight = yield* claimOne(number)
        const waiting = yield* aMessage(number, input)
        yield* store.delete(workspace.id, noon)
        yield* end(cancelled(waiting))
        yield* settle([sent(inFlight)])
        yield* settleDeliveries(...claimedDeliveries.map((each) => refused(each, noon)))
        const left = yield* claimTheOne()
        assert.deepStrictEqual([left.eventId, left.attempt], [stays.eventId, 2])
        yield* settleDeliveries(delivered(left))
        assert.deepStrictEqual(yield* claimDue({ now: noon + day }), [])
      }),
  )
}
