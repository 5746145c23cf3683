/** Plan allowance and the number's 24-hour quota, and sends that exceed them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { decideRefused, plannedQuota } from "../../src/model/accept.ts"
import { dailyQuota } from "../../src/model/Message.ts"
import type { QuotaFacts } from "../../src/model/Message.ts"
import { unlimitedPlan } from "../../src/model/Workspace.ts"
import type { Plan } from "../../src/model/Workspace.ts"
import {
  now,
  second,
  day,
  aSender,
  emptyQuota,
  factsFor,
  aRequest,
  countingIds,
  decide,
  verdict,
  getRefusal,
  iso,
  to,
} from "./Accepting.ts"

describe("plan allowance", () => {
  const plan = (messagesRemaining: number | null): Plan => ({ ...unlimitedPlan, messagesRemaining })
  const send = (count: number, input: Plan | null, sender = aSender()) =>
    verdict(
      decide(
        aRequest({ to: Array.from({ length: count }, () => to.phone) }),
        { plan: input },
        { sender },
      ),
    )

  it.effect("refuses a list that exceeds the plan's remaining messages: no_credits", () =>
    Effect.sync(() => {
      assert.strictEqual(send(3, plan(3)), "accepted")
      assert.deepStrictEqual(send(4, plan(3)), ["no_credits", null])
      assert.deepStrictEqual(send(1, plan(0)), ["no_credits", null])
      assert.strictEqual(send(1000, plan(null)), "accepted")
    }),
  )

  it.effect("a workspace without an active plan has no messages left", () =>
    Effect.sync(() => assert.deepStrictEqual(send(1, null), ["no_credits", null])),
  )

  it.effect("a test key needs allowance too", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(send(1, plan(0), aSender({ mode: "test" })), ["no_credits", null])
    }),
  )

  it.effect("no_credits is 402", () =>
    Effect.sync(() =>
      assert.strictEqual(
        getRefusal(decide(aRequest({ to: to.phone }), { plan: null })).status,
        402,
      ),
    ),
  )
})

describe("the number's 24-hour quota", () => {
  const full = (roomAt: number, planned = 1000): QuotaFacts => ({
    bound: 1000,
    fullUntil: null,
    exact: { planned, roomAt },
  })
  const send = (count: number, quota: QuotaFacts, overrides: object = {}, sender = aSender()) =>
    decide(
      aRequest({ to: Array.from({ length: count }, () => to.phone), ...overrides }),
      { quota },
      { sender },
    )

  it.effect("refuses as a whole a list that does not fit", () =>
    Effect.sync(() => {
      assert.strictEqual(verdict(send(1000, emptyQuota)), "accepted")
      assert.strictEqual(verdict(send(1, full(now, 999))), "accepted")
      assert.strictEqual(verdict(send(2, full(now, 998))), "accepted")
      assert.deepStrictEqual(verdict(send(2, full(now + 1, 999))), [
        "number_daily_cap_reached",
        null,
      ])
    }),
  )

  it.effect("a refusal tells the free quota, and when the whole request fits", () =>
    Effect.sync(() => {
      const getDetails = (count: number, quota: QuotaFacts, overrides: object = {}) => {
        const { details, message, retryAfter } = getRefusal(send(count, quota, overrides))
        return [message, details, retryAfter] as const
      }
      // It is a quarter past the second: answers show whole seconds, and only the next one has room.
      const [at, later] = ["2026-03-02T12:00:00Z", "2026-03-03T12:00:01Z"]
      assert.deepStrictEqual(getDetails(2, full(now + day, 999)), [
        `The number has room for 1 more in the 24 hours around ${at}. All of this request fits from ${later} on: send it then, or schedule it for then.`,
        { room: 1, roomAt: later },
        86_400,
      ])
      const sendAt = "2026-03-02T12:00:10Z"
      assert.deepStrictEqual(getDetails(1, full(now + day), { sendAt }), [
        `The number has room for 0 more in the 24 hours around ${sendAt}. All of this request fits from ${later} on: schedule it for then or later.`,
        { room: 0, roomAt: later },
        86_400,
      ])
      const expiring = (expiresAt: string) =>
        getDetails(1, full(now + day), { sendAt, expiresAt })[0]
      assert.match(
        expiring(later),
        /: schedule it for then or later, and let it expire after that\.$/,
      )
      assert.match(expiring("2026-03-03T12:00:02Z"), /: schedule it for then or later\.$/)
      const soon = getDetails(1, full(now + 750))
      assert.deepStrictEqual(soon.slice(1), [{ room: 0, roomAt: "2026-03-02T12:00:01Z" }, 1])
    }),
  )

  it.effect("Retry-After is the seconds until the number has room, rounded up", () =>
    Effect.sync(() => {
      const retryAfter = (roomAt: number) => {
        const { retryAfter: seconds, status } = getRefusal(send(1, full(roomAt)))
        assert.strictEqual(status, 429)
        return seconds
      }
      assert.strictEqual(retryAfter(now + day), 86_400)
      assert.strictEqual(retryAfter(now + 10 * second), 10)
      assert.strictEqual(retryAfter(now + 10 * second + 1), 11)
      assert.strictEqual(retryAfter(now + 1), 1)
    }),
  )

  it.effect("a number known to be full until later is refused without counting", () =>
    Effect.sync(() => {
      const quota: QuotaFacts = { bound: 1000, fullUntil: now + 90 * second, exact: null }
      const refusal = getRefusal(send(1, quota))
      assert.deepStrictEqual([refusal.code, refusal.retryAfter], ["number_daily_cap_reached", 90])
      assert.strictEqual(verdict(send(1, quota, { sendAt: iso(now + 90 * second) })), "accepted")
    }),
  )

  it.effect("planned time counts: sendAt, else now", () =>
    Effect.sync(() => {
      const at = (overrides: object) =>
        plannedQuota(aRequest({ to: [to.phone, to.phone], ...overrides }), now, dailyQuota)
      assert.deepStrictEqual(at({}), { plannedAt: now, count: 2, limit: dailyQuota })
      assert.deepStrictEqual(at({ sendAt: iso(now + day) }), {
        plannedAt: now + day,
        count: 2,
        limit: dailyQuota,
      })
      assert.deepStrictEqual(dailyQuota, { messages: 1000, windowMillis: day })
    }),
  )

  it.effect("a test key needs quota too", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(verdict(send(1, full(now + 1), {}, aSender({ mode: "test" }))), [
        "number_daily_cap_reached",
        null,
      ]),
    ),
  )
})

describe("a request refused for quota", () => {
  const context = () => ({
    sender: aSender(),
    now,
    ids: countingIds(),
    idempotency: null,
    linkAllowed: true,
    dailyLimit: dailyQuota,
  })
  const full = { bound: 1000, fullUntil: now + day, exact: null }

  it.effect("yields the same messages as an accepted one, but takes nothing", () =>
    Effect.sync(() => {
      const request = aRequest({ to: to.contactWithPhone, sendAt: iso(now + second) })
      const refused = decideRefused(request, factsFor(request, { quota: full }), context())
      assert.deepStrictEqual(Result.getOrThrow(refused), {
        ...Result.getOrThrow(decide(request)),
        allowance: 0,
        quota: null,
      })
    }),
  )

  it.effect("is still refused for every other problem", () =>
    Effect.sync(() => {
      const request = aRequest({ to: { contactId: 99 } })
      const refused = decideRefused(request, factsFor(request, { quota: full }), context())
      assert.deepStrictEqual(verdict(refused), ["contact_not_found", "to.contactId"])
    }),
  )
})
