/** Delivery logs with their bodies and filters, changed endpoints, and recovered events. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { DeliveryFilter, WebhookEndpoint } from "@messaging-service/core"
import { Effect } from "effect"
import {
  anEndpoint,
  anEvent,
  aStageWithKey,
  claimDue,
  claimTheOne,
  delivered,
  everyAttempt,
  getEvents,
  readLog,
  lookUpEndpoint,
  refused,
  toScope,
  settleDeliveries,
} from "../Delivering.ts"
import { ids, only, present } from "../Expect.ts"
import { atOnce } from "../Races.ts"
import type { Topic } from "../Topic.ts"
import { someIds, turnOn } from "./conversations.ts"
import { aWorkspace, day, hour, minute, noon } from "../Records.ts"

const attempt = (endpoint: WebhookEndpoint, id: number) =>
  Store.use(({ webhooks }) => webhooks.attempt(endpoint.id, id))

const undelivered = (endpoint: WebhookEndpoint, since: number, limit = 100) =>
  Store.use(({ webhooks }) => webhooks.undelivered(toScope(endpoint), endpoint.id, since, limit))

/** Looks for what is undelivered since, and recovers it. */
const recover = (endpoint: WebhookEndpoint, since: number, now: number) =>
  Effect.flatMap(undelivered(endpoint, since), (found) =>
    Store.use(({ webhooks }) => webhooks.recover(toScope(endpoint), endpoint.id, found, now)),
  )

const queued = (count: number) => ({ _tag: "Queued", count }) as const

export const deliveryBodies: Topic = (it) => {
  it.effect("an attempt has what was sent and answered, and no other endpoint has it", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const [endpoint, other] = [yield* anEndpoint(key), yield* anEndpoint(key)]
      const event = yield* anEvent(number)
      const claimed = yield* claimDue()
      const answers = [`größer\n"✓"`, null]
      const results = claimed.map((each) =>
        refused(each, noon + minute, {
          responseBody: answers[each.targetId === endpoint.id ? 0 : 1] ?? null,
        }),
      )
      yield* settleDeliveries(...results)
      const created = yield* Store.use(({ webhooks }) => webhooks.created(endpoint.id))
      assert.isNull(present(created).lastAttempt)
      for (const [at, one] of [endpoint, other].entries()) {
        const line = only(yield* readLog(one))
        assert.deepStrictEqual(yield* attempt(one, line.id), {
          attempt: line,
          requestBody: event.body,
          responseBody: answers[at] ?? null,
        })
        assert.isNull(yield* attempt(at === 0 ? other : endpoint, line.id))
      }
      const again = yield* claimDue({ now: noon + 2 * hour })
      yield* settleDeliveries(...again.map((each) => delivered(each, { responseBody: "" })))
      const latest = present((yield* readLog(endpoint))[0])
      assert.strictEqual(present(yield* attempt(endpoint, latest.id)).responseBody, "")
      yield* Store.use(({ webhooks }) => webhooks.remove(toScope(key), endpoint.id, noon))
      yield* Store.use(({ webhooks }) => webhooks.forgetAttempts(noon + day))
      assert.isNull(yield* attempt(endpoint, latest.id))
    }),
  )

  it.effect("the log passes filters by type, failure and time, alone and together", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      for (let createdCount = 0; createdCount < 4; createdCount++) yield* anEvent(number)
      const claimed = yield* claimDue()
      for (const [at, each] of claimed.entries()) {
        const attemptedAt = noon + at * minute
        const result = at % 2 === 0 ? delivered(each) : refused(each, null)
        yield* settleDeliveries({ ...result, attemptedAt })
      }
      const all = (yield* readLog(endpoint)).toReversed()
      const shown = (filter: Partial<DeliveryFilter>) =>
        Effect.map(
          store.attempts(endpoint.id, { ...everyAttempt, ...filter }, { before: null, limit: 3 }),
          ({ items, next }) => [
            items.map(({ id }) => all.findIndex((line) => line.id === id)),
            next !== null,
          ],
        )
      assert.deepStrictEqual(yield* shown({}), [[3, 2, 1], true])
      assert.deepStrictEqual(yield* shown({ failed: true }), [[3, 1], false])
      assert.deepStrictEqual(yield* shown({ types: ["message.sent", "ping"] }), [[], false])
      const types = ["message.cancelled"] as const
      const [since, until] = [noon + minute, noon + 3 * minute]
      assert.deepStrictEqual(yield* shown({ types, since, until }), [[2, 1], false])
      assert.deepStrictEqual(yield* shown({ types, since, until, failed: true }), [[1], false])
    }),
  )

  it.effect("a change replaces what it gives, for later attempts, and keeps the secret", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const event = yield* anEvent(number)
      const change = { url: "https://other.example/hook", events: ["message.failed"] as const }
      const changed = yield* store.update(toScope(key), endpoint.id, change)
      assert.deepStrictEqual(changed, { ...endpoint, ...change })
      const described = yield* store.update(toScope(key), endpoint.id, { description: "" })
      assert.deepStrictEqual(described, { ...endpoint, ...change, description: "" })
      assert.deepStrictEqual(yield* lookUpEndpoint(endpoint), described)
      assert.deepStrictEqual(yield* store.created(endpoint.id), endpoint)
      // What was queued before goes to the new place; what the new types leave out is not queued.
      yield* anEvent(number)
      const { eventId, secretSalt, url } = yield* claimTheOne()
      assert.deepStrictEqual(
        [eventId, url, secretSalt],
        [event.id, change.url, endpoint.secretSalt],
      )
      const elsewhere = { workspaceId: (yield* aWorkspace()).id, mode: null }
      assert.isNull(yield* store.update(elsewhere, endpoint.id, change))
      yield* store.remove(toScope(key), endpoint.id, noon)
      assert.isNull(yield* store.update(toScope(key), endpoint.id, change))
    }),
  )

  it.effect(
    "a recovery queues what no attempt has delivered, oldest first, and nothing twice",
    () =>
      Effect.gen(function* () {
        const { key, number } = yield* aStageWithKey()
        const endpoint = yield* anEndpoint(key)
        const [gone, retried, got] = [
          yield* anEvent(number),
          yield* anEvent(number),
          yield* anEvent(number),
        ]
        const [first, second, third] = yield* claimDue()
        yield* settleDeliveries(
          refused(present(first), null),
          refused(present(second), noon + day),
          delivered(present(third)),
        )
        const inFlight = yield* anEvent(number)
        const claimedDelivery = yield* claimTheOne({ now: noon + hour, leaseUntil: noon + day })
        const fresh = yield* anEvent(number)
        const at = noon + 2 * hour
        assert.deepStrictEqual(yield* recover(endpoint, noon, at), queued(2))
        // The line of the retried one no longer names its former next attempt.
        const lines = yield* readLog(endpoint)
        assert.isTrue(lines.every(({ nextAttemptAt }) => nextAttemptAt === null))
        assert.deepStrictEqual(yield* recover(endpoint, noon, at), queued(0))
        const again = yield* claimDue({ now: at, leaseUntil: noon + day })
        assert.sameMembers(getEvents(again, endpoint), [gone.id, retried.id, fresh.id])
        assert.isTrue(again.every((each) => each.attempt === 1))
        assert.deepStrictEqual(yield* recover(endpoint, noon, at), queued(0))
        yield* settleDeliveries(...again.map((each) => delivered(each)), delivered(claimedDelivery))
        assert.deepStrictEqual(yield* undelivered(endpoint, noon), {
          positions: [],
          seen: present(ids(yield* readLog(endpoint))[0]),
        })
        assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * day }), [])
        const log = (yield* readLog(endpoint)).filter(({ error }) => error === null)
        assert.sameMembers(
          log.map(({ eventId }) => eventId),
          [gone, retried, got, inFlight, fresh].map(({ id }) => id),
        )
      }),
  )

  it.effect("a recovery begins a redelivery again, and leaves the call that it overtook", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const event = yield* anEvent(number)
      const overtaken = yield* claimTheOne({ now: noon, leaseUntil: noon + day })
      yield* store.redeliver(toScope(key), endpoint.id, event.id, noon)
      assert.deepStrictEqual(yield* recover(endpoint, noon, noon), queued(0))
      const again = yield* claimTheOne({ now: noon, leaseUntil: noon + day })
      assert.deepStrictEqual(yield* recover(endpoint, noon, noon), queued(0))
      yield* settleDeliveries(refused(again, noon + day))
      assert.deepStrictEqual(yield* recover(endpoint, noon, noon + hour), queued(1))
      const recovered = yield* claimTheOne({ now: noon + hour })
      assert.deepStrictEqual([recovered.eventId, recovered.attempt], [event.id, 1])
      yield* settleDeliveries(refused(overtaken, noon + hour), delivered(recovered))
      assert.lengthOf(yield* readLog(endpoint), 3)
      assert.deepStrictEqual(yield* claimDue({ now: noon + 2 * day }), [])
    }),
  )

  it.effect("a recovery queues nothing that was delivered since it was looked for", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      yield* anEvent(number)
      yield* settleDeliveries(refused(yield* claimTheOne(), noon + hour))
      const found = yield* undelivered(endpoint, noon)
      assert.lengthOf(found.positions, 1)
      const late = yield* claimTheOne({ now: noon + 2 * hour })
      yield* settleDeliveries(delivered(late))
      const scope = toScope(endpoint)
      assert.deepStrictEqual(yield* store.recover(scope, endpoint.id, found, noon), queued(0))
      assert.deepStrictEqual(yield* claimDue({ now: noon + day }), [])
    }),
  )

  it.effect("a recovery finds events from its time on that fit the endpoint, while it runs", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      yield* anEvent(number, { now: noon - hour })
      const createdAt = noon - minute
      const endpoint = yield* anEndpoint(key, { createdAt, events: ["message.cancelled"] })
      yield* Store.use(({ workspaces }) => workspaces.revokeKey(key.workspaceId, key.id, noon))
      for (const at of [0, 1, 2, 3]) yield* anEvent(number, { now: noon + at * minute })
      yield* anEvent(number, { mode: "test" })
      assert.deepStrictEqual(yield* recover(endpoint, noon, noon), { _tag: "Stopped" })
      yield* store.resume(toScope(endpoint), endpoint.id, 1000, noon)
      const { positions } = yield* undelivered(endpoint, noon - day)
      assert.deepStrictEqual(
        positions,
        positions.toSorted((a, b) => a - b),
      )
      assert.lengthOf(positions, 4)
      const late = yield* undelivered(endpoint, noon + minute, 2)
      assert.deepStrictEqual(late.positions, positions.slice(1, 3))
      assert.deepStrictEqual(yield* recover(endpoint, noon + 2 * minute, noon), queued(2))
      yield* store.update(toScope(endpoint), endpoint.id, { events: ["message.failed"] })
      assert.deepStrictEqual((yield* undelivered(endpoint, noon - day)).positions, [])
      yield* store.remove(toScope(endpoint), endpoint.id, noon)
      assert.deepStrictEqual(yield* recover(endpoint, noon, noon), { _tag: "NoEndpoint" })
    }),
  )

  it.effect("concurrent recoveries, redeliveries and results queue each event once", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      for (let createdCount = 0; createdCount < 6; createdCount++) yield* anEvent(number)
      const claimed = yield* claimDue({ leaseUntil: noon + day })
      const found = yield* undelivered(endpoint, noon)
      const once = Store.use(({ webhooks }) =>
        webhooks.recover(toScope(endpoint), endpoint.id, found, noon + hour),
      )
      const [, ...outcomes] = yield* Effect.all(
        [settleDeliveries(...claimed.map((each) => refused(each, null))), once, once, once],
        atOnce,
      )
      const last = yield* once
      const total = [...outcomes, last].reduce(
        (sum, outcome) => sum + (outcome._tag === "Queued" ? outcome.count : 0),
        0,
      )
      assert.strictEqual(total, 6)
      assert.lengthOf(yield* claimDue({ now: noon + 2 * hour }), 6)
    }),
  )

  it.effect("events of conversations are queued again only while those are on", () =>
    Effect.gen(function* () {
      const { chats, numbers, webhooks } = yield* Store
      const { key, number, workspace } = yield* aStageWithKey()
      yield* turnOn(workspace.id)
      const endpoint = yield* anEndpoint(key, {
        events: ["message.cancelled", "number.disconnected"],
      })
      const event = yield* anEvent(number)
      yield* numbers.setStatus(number.id, "disconnected", undefined, noon, null, null, someIds())
      const claimed = yield* claimDue()
      assert.lengthOf(claimed, 2)
      yield* settleDeliveries(...claimed.map((each) => refused(each, null)))
      const other = present(claimed.find(({ eventId }) => eventId !== event.id))
      const redeliver = webhooks.redeliver(toScope(endpoint), endpoint.id, other.eventId, noon)
      const both = yield* undelivered(endpoint, noon)
      assert.lengthOf(both.positions, 2)
      assert.isTrue(yield* chats.deleteConversations(workspace.id, noon))
      assert.lengthOf((yield* undelivered(endpoint, noon)).positions, 1)
      assert.deepStrictEqual(yield* redeliver, { _tag: "NoEvent" })
      const recovered = webhooks.recover(toScope(endpoint), endpoint.id, both, noon)
      assert.deepStrictEqual(yield* recovered, queued(1))
      yield* turnOn(workspace.id)
      assert.deepStrictEqual(yield* redeliver, { _tag: "Queued", type: "number.disconnected" })
      assert.lengthOf(yield* claimDue(), 2)
    }),
  )
}
