/** `MessageStore.insertRefused`: stores a refused message. */
import { assert } from "@effect/vitest"
import { refusedMessage, Store } from "@messaging-service/core"
import type {
  MessageChange,
  MessageError,
  NewMessage,
  SendingNumber,
} from "@messaging-service/core"
import { Effect } from "effect"
import { only, present } from "../Expect.ts"
import { followOutbox } from "../follow.ts"
import { atOnce } from "../Races.ts"
import { brokenBy, readExactQuota, lookUp, readQuota, remaining, toScope } from "../Reading.ts"
import {
  anEndpoint,
  aStageWithKey,
  claimTheOne,
  delivered,
  settleDeliveries,
} from "../Delivering.ts"
import { aLink, cancelled, claim, end } from "../Sending.ts"
import type { Topic } from "../Topic.ts"
import {
  aMediaFile,
  aNewMessage,
  anAcceptance,
  anEra,
  anEventId,
  aPlan,
  aStage,
  accepted,
  day,
  hour,
  minute,
  noon,
} from "../Records.ts"

const dailyLimit: MessageError = { code: "send_failed", message: "Daily limit reached" }

/** Stores a refused message of that number; null when the number is gone. */
const refuse = (number: SendingNumber, overrides: Partial<NewMessage> = {}, now = noon) => {
  const message = aNewMessage(number, { createdAt: now, dueAt: now, ...overrides })
  return Store.use(({ messages: store }) =>
    store.insertRefused({
      workspaceId: number.workspaceId,
      numberId: number.id,
      ended: (id): MessageChange =>
        refusedMessage({ ...message, id }, dailyLimit, anEventId(), now, aLink),
    }),
  )
}

const refused = (number: SendingNumber, overrides: Partial<NewMessage> = {}, now = noon) =>
  Effect.map(refuse(number, overrides, now), present)

export const refusedMessages: Topic = (it, { parallel }) => {
  it.effect("stores it as failed, for all recipients and contents", () =>
    Effect.gen(function* () {
      const store = (yield* Store).messages
      const { number, workspace } = yield* aStage()
      const file = yield* aMediaFile(workspace.id)
      const carried: ReadonlyArray<Partial<NewMessage>> = [
        {},
        { mode: "test" },
        { to: { kind: "group", group: 'Team "Süd" \\ 🏔' }, text: "" },
        { sendAt: noon + hour, dueAt: noon + hour, expiresAt: noon + day },
        {
          callbackUrl: null,
          reference: "order 4711",
          media: {
            mediaId: null,
            attachmentId: file.id,
            url: null,
            type: "image",
            fileName: "ä.png",
          },
        },
      ]
      for (const overrides of carried) {
        const { message } = yield* refused(number, overrides)
        assert.deepStrictEqual([message.state, message.error], ["failed", dailyLimit])
        assert.deepStrictEqual(yield* store.byIds([message.id]), [message])
        assert.deepStrictEqual(yield* lookUp(message), { message, inFlight: false })
        const page = yield* store.list(
          toScope(workspace.id, message.mode),
          {
            statuses: ["failed"],
            from: number.id,
            phone: null,
            reference: null,
            error: null,
            since: null,
            until: null,
          },
          { before: message.id + 1, limit: 1 },
          noon,
        )
        assert.deepStrictEqual(page.items, [message])
      }
    }),
  )

  it.effect("announces its failure once, under its own id, also to webhook endpoints", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const era = anEra()
      const { key, number } = yield* aStageWithKey(era)
      const endpoint = yield* anEndpoint(key, { createdAt: era })
      const { event, message } = yield* refused(number, {}, era)
      const announced = only(yield* follow(number.workspaceId))
      assert.deepStrictEqual(
        [announced.type, announced.messageId, announced.body, announced.eventId],
        ["message.failed", message.id, event.body, event.id],
      )
      assert.include(event.body, `"id":${message.id}`)
      const delivery = yield* claimTheOne({ now: era })
      assert.deepStrictEqual([delivery.targetId, delivery.eventId], [endpoint.id, event.id])
    }).pipe(Effect.scoped),
  )

  it.effect("reports its failure in its callback", () =>
    Effect.gen(function* () {
      const era = anEra()
      const { number } = yield* aStage({ createdAt: era })
      const callbackUrl = "https://example.com/refused"
      const { callback, message } = yield* refused(number, { callbackUrl }, era)
      const called = yield* claimTheOne({ now: era })
      yield* settleDeliveries(delivered(called))
      assert.deepStrictEqual(
        [called.url, called.body, called.eventId, called.workspaceId],
        [callbackUrl, callback?.body, callback?.eventId, number.workspaceId],
      )
      const body = new URLSearchParams(called.body)
      assert.deepStrictEqual(
        [body.get("msg_id"), body.get("status"), body.get("error")],
        [String(message.id), "FAILED", "Daily limit reached"],
      )
    }),
  )

  it.effect("takes nothing: no allowance, no quota, and nothing waits to be sent", () =>
    Effect.gen(function* () {
      const work = (yield* Store).queue
      const era = anEra()
      const limit = { messages: 2, windowMillis: day }
      const { number, workspace } = yield* aStage({ plan: aPlan(5), createdAt: era })
      yield* refused(number, {}, era)
      yield* refused(number, {}, era)
      assert.strictEqual(yield* remaining(workspace), 5)
      assert.strictEqual(
        (yield* readExactQuota(number, { plannedAt: era, now: era, limit })).planned,
        0,
      )
      assert.strictEqual((yield* readQuota(number, era)).bound, 0)
      assert.deepStrictEqual(yield* claim([number], { now: era + minute }), [])
      const due = yield* work.nextDue("lanes")
      assert.isTrue(due === null || due > era + minute)

      // Only the others use up quota.
      yield* accepted(number, { now: era + 1, limit, count: 2 })
      yield* refused(number, {}, era + 2)
      const full = yield* readExactQuota(number, { plannedAt: era + 2, now: era + 2, limit })
      assert.deepStrictEqual(full, { planned: 2, roomAt: era + 1 + day })
      assert.strictEqual((yield* readQuota(number, era + 2)).fullUntil, era + 1 + day)
      assert.isNull(yield* brokenBy(anAcceptance(number, { now: era + 1 + day, limit })))
    }),
  )

  it.effect("has ended it: nothing ends it again", () =>
    Effect.gen(function* () {
      const { number } = yield* aStage()
      const { message } = yield* refused(number)
      assert.deepStrictEqual(yield* end(cancelled({ ...message, state: "waiting" })), [])
      assert.deepStrictEqual((yield* lookUp(message)).message, message)
    }),
  )

  it.effect("stores nothing of a number that is another workspace's or gone", () =>
    Effect.gen(function* () {
      const follow = yield* followOutbox
      const { number, workspace } = yield* aStage()
      const other = yield* aStage()
      assert.isNull(yield* refuse({ ...number, workspaceId: other.workspace.id }))
      yield* Store.use(({ numbers: store }) => store.remove(workspace.id, number.id, noon))
      yield* Store.use(({ workspaces: store }) => store.delete(other.workspace.id, noon))
      for (const gone of [number, other.number]) {
        assert.isNull(yield* refuse(gone))
        assert.deepStrictEqual(yield* follow(gone.workspaceId), [])
      }
    }),
  )

  it.effect("concurrent acceptances fill the quota exactly", () =>
    Effect.gen(function* () {
      for (let round = 0; round < (parallel ? 5 : 1); round++) {
        const { number } = yield* aStage()
        const limit = { messages: 5, windowMillis: day }
        const outcomes = yield* Effect.all(
          Array.from({ length: 20 }, (_, index) =>
            index % 2 === 0
              ? Effect.as(refused(number), "refused")
              : brokenBy(anAcceptance(number, { limit })),
          ),
          atOnce,
        )
        assert.lengthOf(
          outcomes.filter((outcome) => outcome === null),
          5,
        )
        assert.strictEqual((yield* readExactQuota(number, { plannedAt: noon, limit })).planned, 5)
      }
    }),
  )
}
