/** `MessageStore.timeline`: what a message's row, its attempts, its event and deliveries tell. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { Message, TimelineQuery } from "@messaging-service/core"
import { Effect } from "effect"
import { aCallbackUrl } from "../Calling.ts"
import {
  anEndpoint,
  anEvent,
  aStageWithKey,
  claimDue,
  claimTheOne,
  delivered,
  refused,
  settleDeliveries,
} from "../Delivering.ts"
import { present } from "../Expect.ts"
import { followOutbox } from "../follow.ts"
import { again, cancelled, claimOne, end, failed, sendNext, sent, settle } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  accepted,
  aMessage,
  anEra,
  aNumber,
  aStage,
  aWorkspace,
  hour,
  minute,
  noon,
  oneSecond,
} from "../Records.ts"

const readTimeline = (message: Message, overrides: Partial<TimelineQuery> = {}) =>
  Store.use(({ messages: store }) =>
    store.timeline({
      workspaceId: message.workspaceId,
      id: message.id,
      now: noon,
      limit: 10,
      mostAhead: 10,
      ...overrides,
    }),
  )

const getTimeline = (message: Message, overrides: Partial<TimelineQuery> = {}) =>
  Effect.map(readTimeline(message, overrides), present)

const quiet = {
  deliveredAt: null,
  readAt: null,
  newChatsUntil: null,
  attempts: [],
  deliveries: [],
}

const tick = (message: Message, status: "delivered" | "read", now: number) =>
  Store.use(({ messages: store }) => store.tick(message.from.id, message.transportId, status, now))

export const timelines: Topic = (it) => {
  it.effect("a message that waits has no event, and no other workspace has it", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const other = yield* aWorkspace()
      const message = yield* aMessage(number)
      const test = yield* aMessage(number, { mode: "test" })
      const facts = { ...quiet, event: null, ahead: 0 }
      assert.deepStrictEqual(yield* getTimeline(message), { ...facts, message })
      assert.deepStrictEqual(yield* getTimeline(test), { ...facts, message: test })
      assert.isNull(yield* readTimeline(message, { workspaceId: other.id }))
      assert.isNull(yield* readTimeline({ ...message, id: 9_999_999 as Message["id"] }))
    }),
  )

  it.effect("one that goes through at once has its event and no attempt", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { number, workspace } = yield* aStage()
      const message = yield* aMessage(number)
      yield* sendNext(number, noon + minute)
      const [event] = yield* follow(workspace.id)
      assert.deepStrictEqual(yield* getTimeline(message), {
        ...quiet,
        message: { ...message, state: "sent", sentAt: noon + minute },
        event: { id: present(event).eventId, type: "message.sent", createdAt: noon + minute },
        ahead: 0,
      })
    }),
  )

  it.effect("every other end has its event too, each its own", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { number, workspace } = yield* aStage()
      const messages = yield* accepted(number, { count: 3 })
      yield* settle([failed(yield* claimOne(number))])
      yield* end(...messages.slice(1).map((message) => cancelled(message)))
      const events = yield* follow(workspace.id)
      for (const message of messages) {
        const told = events.find(({ messageId }) => messageId === message.id)
        const { event } = yield* getTimeline(message)
        assert.deepStrictEqual(event?.id, told?.eventId)
        assert.deepStrictEqual(event?.type, told?.type)
      }
    }),
  )

  it.effect(
    "a tick that moves the message leaves its time, and one that does not leaves none",
    () =>
      Effect.gen(function* () {
        const { number } = yield* aStage()
        const [stepwise, atOnce] = yield* accepted(number, { count: 2 })
        const [first, second] = [present(stepwise), present(atOnce)]
        yield* tick(first, "delivered", noon)
        assert.isNull((yield* getTimeline(first)).deliveredAt)
        yield* sendNext(number)
        yield* sendNext(number)
        yield* tick(first, "delivered", noon + 1)
        yield* tick(first, "delivered", noon + 2)
        yield* tick(first, "read", noon + 3)
        yield* tick(second, "read", noon + 4)
        yield* tick(second, "delivered", noon + 5)
        const { deliveredAt, readAt } = yield* getTimeline(first)
        assert.deepStrictEqual([deliveredAt, readAt], [noon + 1, noon + 3])
        const skipped = yield* getTimeline(second)
        assert.deepStrictEqual([skipped.deliveredAt, skipped.readAt], [null, noon + 4])
      }),
  )

  it.effect("attempts that do not end it are kept, newest first, with what they wait for", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const message = yield* aMessage(number)
      const next = (now: number) => claimOne(number, { now, leaseUntil: now + minute })
      const rest = noon + 5 * oneSecond
      yield* settle([again(yield* next(noon), { unfinished: "postponed", notBefore: rest })])
      const full = { until: rest + minute, inARow: 1 }
      yield* settle([again(yield* next(rest), { unfinished: "no_room", diskRest: full })], rest)
      yield* settle([again(yield* next(full.until), { unfinished: "not_connected" })], full.until)
      const away = { until: full.until + oneSecond, inARow: 1 }
      yield* settle(
        [again(yield* next(full.until), { unfinished: "no_file", diskRest: away })],
        full.until,
      )
      // Handed back without an attempt.
      yield* settle([again(yield* next(away.until))], away.until)
      const attempts = [
        { at: full.until, unfinished: "no_file", nextAttemptAt: away.until },
        { at: full.until, unfinished: "not_connected", nextAttemptAt: null },
        { at: rest, unfinished: "no_room", nextAttemptAt: full.until },
        { at: noon, unfinished: "postponed", nextAttemptAt: rest },
      ]
      assert.deepStrictEqual((yield* getTimeline(message)).attempts, attempts as never)
      const two = yield* getTimeline(message, { limit: 2 })
      assert.deepStrictEqual(two.attempts, attempts.slice(0, 2) as never)
      // They stay once it is sent, and that adds none.
      yield* settle([sent(yield* next(away.until))], away.until)
      assert.lengthOf((yield* getTimeline(message)).attempts, 4)
    }),
  )

  it.effect("an attempt whose worker died is known once its lane is claimed again", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const message = yield* aMessage(number)
      const lost = yield* claimOne(number, { leaseUntil: noon + minute })
      const later = noon + 2 * minute
      assert.lengthOf((yield* getTimeline(message)).attempts, 0)
      yield* claimOne(number, { now: later, leaseUntil: later + minute })
      const broken = { at: later, unfinished: "interrupted" as const, nextAttemptAt: null }
      assert.deepStrictEqual((yield* getTimeline(message)).attempts, [broken])
      // Its own settlement comes too late to count.
      yield* settle([again(lost, { unfinished: "postponed" })], later)
      assert.deepStrictEqual((yield* getTimeline(message)).attempts, [broken])
    }),
  )

  it.effect("counts the due messages of its number and mode that leave before it", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      yield* accepted(number, { count: 3 })
      yield* aMessage(number, { mode: "test" })
      yield* aMessage(number, { sendAt: noon + hour })
      yield* accepted(other, { count: 2 })
      const expiring = yield* aMessage(number, { expiresAt: noon + oneSecond })
      const message = yield* aMessage(number)
      yield* aMessage(number)
      assert.strictEqual((yield* getTimeline(message)).ahead, 4)
      assert.strictEqual((yield* getTimeline(message, { mostAhead: 2 })).ahead, 2)
      assert.strictEqual((yield* getTimeline(message, { now: noon + oneSecond })).ahead, 3)
      assert.strictEqual((yield* getTimeline(expiring)).ahead, 3)
      const planned = yield* aMessage(number, { sendAt: noon + 2 * hour })
      assert.strictEqual((yield* getTimeline(planned)).ahead, 6)
      assert.strictEqual((yield* getTimeline(planned, { now: noon + hour })).ahead, 6)
      yield* end(cancelled(message))
      assert.strictEqual((yield* getTimeline(message)).ahead, 0)
    }),
  )

  it.effect("has every attempt of a webhook or callback to tell its event", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { key, number } = yield* aStageWithKey(era)
      const endpoint = yield* anEndpoint(key)
      const callbackUrl = aCallbackUrl()
      const message = yield* aMessage(number, { now: era, message: { callbackUrl } })
      yield* sendNext(number, era)
      const claimed = yield* claimDue({ now: era, leaseUntil: era + minute })
      assert.deepStrictEqual(
        claimed.map(({ kind }) => kind).toSorted((a, b) => (a < b ? -1 : 1)),
        ["callback", "webhook"],
      )
      const webhook = present(claimed.find(({ kind }) => kind === "webhook"))
      const callback = present(claimed.find(({ kind }) => kind === "callback"))
      const retryAt = era + minute
      yield* settleDeliveries(refused(webhook, retryAt, { attemptedAt: era }))
      yield* settleDeliveries(delivered(callback, { attemptedAt: era + 1 }))
      const retried = yield* claimTheOne({ now: retryAt, leaseUntil: retryAt + minute })
      yield* settleDeliveries(delivered(retried, { attemptedAt: retryAt }))
      // Another event, to the same endpoint.
      yield* anEvent(number)
      const other = yield* claimTheOne({ now: noon, leaseUntil: noon + minute })
      yield* settleDeliveries(delivered(other))

      const { deliveries } = yield* getTimeline(message)
      assert.deepStrictEqual(
        deliveries.map(({ attempt, attemptedAt, error, nextAttemptAt, url, webhookId }) => ({
          attempt,
          attemptedAt,
          isDelivered: error === null,
          nextAttemptAt,
          url,
          webhookId,
        })),
        [
          {
            attempt: 2,
            attemptedAt: retryAt,
            isDelivered: true,
            nextAttemptAt: null,
            url: endpoint.url,
            webhookId: endpoint.id,
          },
          {
            attempt: 1,
            attemptedAt: era + 1,
            isDelivered: true,
            nextAttemptAt: null,
            url: callbackUrl,
            webhookId: null,
          },
          {
            attempt: 1,
            attemptedAt: era,
            isDelivered: false,
            nextAttemptAt: retryAt,
            url: endpoint.url,
            webhookId: endpoint.id,
          },
        ],
      )
      const newest = yield* getTimeline(message, { limit: 1 })
      assert.deepStrictEqual(newest.deliveries, deliveries.slice(0, 1))
    }),
  )

  it.effect("goes with the message", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aStage()
      const message = yield* aMessage(number)
      const claimed = yield* claimOne(number)
      yield* settle([again(claimed, { unfinished: "postponed" })])
      yield* sendNext(number)
      yield* Store.use(({ system: store }) =>
        store.eraseEnded([{ workspaceId: workspace.id, endedBefore: noon + hour }]),
      )
      assert.isNull(yield* readTimeline(message))
    }),
  )
}
