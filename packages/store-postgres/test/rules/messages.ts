/** The rules of messages. */
import type { Vitest } from "@effect/vitest"
import {
  countExactly,
  countsInQuota,
  fitsByBound,
  fitsExactly,
  fullUntil,
  fullUntilAfter,
  hasExpired,
  hasLeft,
  isInBound,
  nextTestTick,
  visibleModes,
  quotaVerdict,
  statusAt,
  transitions,
} from "@messaging-service/core"
import type { MessageState, Phone } from "@messaging-service/core"
import { noon } from "@messaging-service/testkit"
import { Effect } from "effect"
import type { PgConnection } from "@effect/sql-pg"
import { compare, draw, iso, toMillisSql } from "./compare.ts"

const states = Object.keys(transitions) as ReadonlyArray<MessageState>

export const messageRules = (it: Vitest.MethodsNonLive<PgConnection.PgConnection>) => {
  it.effect("which messages have left", () =>
    compare("left", {
      rows: { m: "messages" },
      sql: "has_left(m)",
      draw: Effect.map(draw.from(states), (state) => ({
        facts: { m: { state } },
        core: hasLeft({ state }),
      })),
    }),
  )

  it.effect("which messages count in the quota", () =>
    compare("counts", {
      rows: { m: "messages" },
      sql: "counts_in_quota(m)",
      draw: Effect.gen(function* () {
        const mode = yield* draw.from(visibleModes("test"))
        const state = yield* draw.from(states)
        const refused = yield* draw.flag
        return {
          facts: { m: { mode, state, refused } },
          core: countsInQuota({ mode, state }, refused),
        }
      }),
    }),
  )

  it.effect("which tick a test message gets next, and when", () =>
    compare("test ticks", {
      rows: { m: "messages" },
      sql: `case when test_tick(m) is not null then array[test_tick(m), ${toMillisSql("test_tick_at(m)")}::text] end`,
      draw: Effect.gen(function* () {
        const mode = yield* draw.from(visibleModes("test"))
        const state = yield* draw.from(states)
        const phone = `+1500555000${yield* draw.from([1, 2, 3, 9])}` as Phone
        const sentAt = yield* draw.time
        const deliveredAt = yield* draw.maybe(draw.time)
        const next = nextTestTick(
          { mode, state, to: { kind: "phone", phone, contactId: null } },
          deliveredAt ?? sentAt,
        )
        return {
          facts: {
            m: {
              mode,
              state,
              to_phone: phone,
              sent_at: iso(sentAt),
              delivered_at: iso(deliveredAt),
            },
          },
          core: next && [next.tick, next.at.toString()],
        }
      }),
    }),
  )

  it.effect("whether a message has expired", () =>
    compare("expired", {
      rows: { m: "messages", q: "(now timestamptz)" },
      sql: "array[coalesce(has_expired(m, q.now), false), not not_expired(m, q.now)]",
      draw: Effect.gen(function* () {
        const expiresAt = yield* draw.maybe(draw.time)
        const now = yield* draw.time
        return {
          facts: { m: { expires_at: iso(expiresAt) }, q: { now: iso(now) } },
          core: [hasExpired({ expiresAt }, now), hasExpired({ expiresAt }, now)],
        }
      }),
    }),
  )

  it.effect("whether a waiting message is queued or scheduled", () =>
    compare("statuses", {
      rows: { m: "messages", q: "(now timestamptz)" },
      sql: `case when is_queued(m.send_at, q.now) then 'queued'
        when is_scheduled(m.send_at, q.now) then 'scheduled' end`,
      draw: Effect.gen(function* () {
        const sendAt = yield* draw.maybe(draw.time)
        const now = yield* draw.time
        return {
          facts: { m: { send_at: iso(sendAt) }, q: { now: iso(now) } },
          core: statusAt({ state: "waiting", sendAt }, now),
        }
      }),
    }),
  )

  it.effect("what is known of a quota without a count", () =>
    compare("known quota", {
      rows: { l: "lanes", q: "(at timestamptz, count integer, most integer, planned integer)" },
      sql: `json_build_array(
        coalesce(is_known_full(l.quota_full_until, q.at), false),
        fits_by_bound(l.quota_bound, q.count, q.most),
        fits_exactly(q.planned, q.count, q.most),
        ${toMillisSql(`case
          when takes_promised_room(l.quota_full_until, q.at, interval '5 milliseconds') then null
          else l.quota_full_until
        end`)}
      )`,
      draw: Effect.gen(function* () {
        const [plannedAt, fullUntil] = [yield* draw.time, yield* draw.maybe(draw.time)]
        const [bound, count] = [yield* draw.below(9), 1 + (yield* draw.below(3))]
        const facts = { bound, fullUntil, exact: null }
        const planned = { plannedAt, count, limit: { messages: 5, windowMillis: 5 } }
        const exact = { planned: yield* draw.below(9) }
        return {
          facts: {
            l: { quota_full_until: iso(fullUntil), quota_bound: bound },
            q: { at: iso(plannedAt), count, most: 5, planned: exact.planned },
          },
          core: [
            quotaVerdict(facts, planned)._tag === "Full",
            fitsByBound(facts, planned),
            fitsExactly(exact, planned),
            fullUntilAfter(fullUntil, planned),
          ],
        }
      }),
    }),
  )

  it.effect("what an exact count of a quota finds", () =>
    compare("counted quota", {
      cases: 1000,
      rows: {
        q: `(
          number_id bigint, at timestamptz, now timestamptz, count integer, most integer,
          width interval, pending_at timestamptz[], pending_count integer[]
        )`,
      },
      inserted: ["messages"],
      sql: `(
        select json_build_array(
          with_pending.planned, with_pending.bound, stored.planned,
          ${toMillisSql("quota_room_at(q.number_id, q.at, q.count, q.most, q.width)")},
          ${toMillisSql("nullif(quota_room_at(q.number_id, q.now, 1, q.most, q.width), q.now)")}
        )
        from count_planned(
          q.number_id, q.at, q.now, q.width, q.pending_at, q.pending_count
        ) with_pending
        cross join count_planned(q.number_id, q.at, q.now, q.width, '{}', '{}') stored
      )`,
      draw: aCount,
    }),
  )
}

const aMessage = {
  workspace_id: 1,
  created_at: iso(noon),
  allowance_taken: false,
  refused: false,
  mode: "live",
  platform: "whatsapp",
  to_kind: "phone",
  text: "",
  transport_id: "",
}

const ascending = (times: ReadonlyArray<number>) => times.toSorted((a, b) => a - b)

/** A number with its messages, and what is to be planned. */
const aCount = Effect.gen(function* () {
  const numberId = yield* draw.id
  const time = Effect.map(draw.below(20), (millis) => noon + millis)
  const states = yield* Effect.replicateEffect(
    draw.from(["waiting", "sent", "failed", "cancelled", "expired"] as const),
    yield* draw.below(14),
  )
  const messages = yield* Effect.forEach(states, (state) =>
    Effect.all({
      state: Effect.succeed(state),
      dueAt: time,
      // Sent at any time: an operator may say that one left before it was planned.
      sent_at: state === "sent" ? Effect.map(time, iso) : Effect.succeed(null),
      mode: Effect.map(draw.below(6), (drawn) => (drawn === 0 ? "test" : "live")),
      refused: Effect.map(draw.below(6), (drawn) => drawn === 0 && state === "failed"),
    }),
  )
  const pending = yield* Effect.replicateEffect(time, yield* draw.below(3))
  const counts = yield* Effect.forEach(pending, () => Effect.map(draw.below(3), (more) => more + 1))
  const [plannedAt, now] = [yield* time, yield* time]
  const limit = { messages: 1 + (yield* draw.below(5)), windowMillis: 1 + (yield* draw.below(12)) }
  const planned = { plannedAt, count: 1 + (yield* draw.below(6)), limit }
  const stored = messages
    .filter(({ mode, refused, state }) => countsInQuota({ mode, state }, refused))
    .map(({ dueAt }) => dueAt)
  const all = [
    ...stored,
    ...pending.flatMap((at, index) => Array.from({ length: counts[index] ?? 0 }, () => at)),
  ]
  const { planned: found, roomAt } = countExactly(ascending(stored), planned)
  return {
    facts: {
      q: {
        number_id: numberId,
        at: iso(plannedAt),
        now: iso(now),
        count: planned.count,
        most: limit.messages,
        width: `${limit.windowMillis} milliseconds`,
        pending_at: pending.map(iso),
        pending_count: counts,
      },
      messages: yield* Effect.forEach(messages, ({ dueAt, ...message }) =>
        Effect.map(draw.id, (id) => ({
          ...aMessage,
          ...message,
          id,
          number_id: numberId,
          due_at: iso(dueAt),
        })),
      ),
    },
    core: [
      countExactly(ascending(all), planned).planned,
      stored.filter((at) => isInBound(at, now, limit.windowMillis)).length,
      found,
      roomAt,
      fullUntil(ascending(stored), now, limit),
    ],
  }
})
