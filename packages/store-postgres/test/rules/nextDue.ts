/** The rules of when there is next something to do in a lane. */
import type { Vitest } from "@effect/vitest"
import {
  hasExpired,
  holdsUntil,
  isOutcomeUnknown,
  nextDueAfter,
  stoppedUntil,
} from "@messaging-service/core"
import type { LaneChange, LaneDue } from "@messaging-service/core"
import { Effect } from "effect"
import type { PgConnection } from "@effect/sql-pg"
import { compare, draw, iso, toMillisSql } from "./compare.ts"
import { aMessage, aStanding } from "./lanes.ts"

export const nextDueRules = (it: Vitest.MethodsNonLive<PgConnection.PgConnection>) => {
  it.effect("which messages are the first that wait in a lane", () =>
    compare("first", {
      rows: { l: "lanes", q: "(now timestamptz, since timestamptz)" },
      inserted: ["messages"],
      sql: `json_build_array(
        ${toMillisSql("(select first.due_at from first_waiting(l.number_id, q.now) first)")},
        (
          select coalesce(json_agg(${toMillisSql("next.due_at")} order by next.due_at), '[]')
          from next_waiting(l.number_id, q.since, q.now, 2) next
        )
      )`,
      draw: Effect.gen(function* () {
        const [now, since] = [yield* draw.time, yield* draw.time]
        const messages = yield* Effect.replicateEffect(
          Effect.gen(function* () {
            return {
              id: yield* draw.id,
              state: yield* draw.from(["waiting", "waiting", "sent"] as const),
              dueAt: yield* draw.time,
              expiresAt: yield* draw.maybe(draw.time),
            }
          }),
          yield* draw.below(6),
        )
        const waiting = messages
          .filter((one) => one.state === "waiting" && !hasExpired(one, now))
          .map(({ dueAt }) => dueAt)
        const numberId = yield* draw.id
        return {
          facts: {
            l: { number_id: numberId },
            q: { now: iso(now), since: iso(since) },
            messages: messages.map(({ dueAt, expiresAt, id, state }) => ({
              ...aMessage,
              id,
              number_id: numberId,
              state,
              due_at: iso(dueAt),
              expires_at: iso(expiresAt),
            })),
          },
          core: [
            waiting.length === 0 ? null : Math.min(...waiting),
            waiting
              .filter((dueAt) => dueAt >= since)
              .toSorted((a, b) => a - b)
              .slice(0, 2),
          ],
        }
      }),
    }),
  )

  it.effect("when a lane is next due after a change", () =>
    compare("next due", {
      rows: {
        l: "lanes",
        q: `(
          change text, at timestamptz, other timestamptz, first timestamptz, again boolean,
          interrupted integer
        )`,
      },
      inserted: ["messages"],
      sql: toMillisSql(`case q.change
        when 'Accepted' then next_due_accepted(l, q.at)
        when 'HandedOut' then ${claimed("true")}
        when 'PassedOver' then ${claimed("false")}
        when 'Ended' then next_due_ended(l, q.first)
        when 'Settled' then next_due_settled(
          l, q.at, q.again, l.interruptions + q.interrupted > 0, l.hold_until, l.limited_until,
          q.first
        )
        when 'Changed' then next_due_changed(
          l,
          holds_until(l, stopped_until(l.disabled, l.paused_until), may_have_left(l), is_open(l)),
          q.first
        )
        when 'Removed' then next_due_removed(l, q.at)
      end`),
      cases: 3000,
      draw: aChange,
    }),
  )
}

const claimed = (handsOut: string): string =>
  `next_due_claimed(${handsOut}, q.at, q.other, q.first)`

/** Infinite now and then: what only an operator ends. */
const timeOrNever = Effect.flatMap(draw.below(4), (bit) =>
  bit === 0 ? Effect.succeed(Infinity) : draw.time,
)
const orNever = (instant: number | null) => (instant === Infinity ? "infinity" : iso(instant))

/** A lane and something that happens to it. */
const aChange = Effect.gen(function* () {
  const { row: standingRow, ...standing } = yield* aStanding
  const { removed } = standing
  const headId = yield* draw.maybe(draw.id)
  // A head alone has attempts.
  const before = headId === null ? 0 : yield* draw.below(2)
  const [again, interrupted] = [yield* draw.flag, yield* draw.below(2)]
  const pausedUntil = removed ? null : yield* draw.maybe(timeOrNever)
  const isDisabled = !removed && (yield* draw.below(4)) === 0
  const stopped = stoppedUntil(pausedUntil, isDisabled)
  const expiresAt = headId === null ? null : yield* draw.maybe(draw.time)
  const heldAfter = (interruptions: number) =>
    holdsUntil(stopped, standing, { interruptions, expiresAt })
  const lane: LaneDue = {
    nextDue: yield* draw.maybe(draw.time),
    leaseUntil: yield* draw.maybe(draw.time),
    pacedUntil: yield* draw.maybe(draw.time),
    limitedUntil: yield* draw.maybe(draw.time),
    heldUntil: heldAfter(before),
    mayHaveLeft: isOutcomeUnknown({ interruptions: before }),
    removed,
  }
  const [at, other] = [yield* draw.time, yield* draw.maybe(timeOrNever)]
  const firstDueAt = yield* draw.maybe(draw.time)
  const settled = { mayHaveLeft: isOutcomeUnknown({ interruptions: before + interrupted }) }
  const change = yield* draw.from<LaneChange>([
    { _tag: "Accepted", dueAt: at },
    { _tag: "HandedOut", leaseUntil: at },
    { _tag: "PassedOver", until: other, firstDueAt },
    { _tag: "Ended", firstDueAt },
    { _tag: "Settled", now: at, again: again ? settled : null, firstDueAt },
    { _tag: "Changed", firstDueAt },
    { _tag: "Removed", now: at, mayHaveLeft: isOutcomeUnknown({ interruptions: before }) },
  ])
  return {
    facts: {
      l: {
        next_due: iso(lane.nextDue),
        lease_until: iso(lane.leaseUntil),
        hold_until: iso(lane.pacedUntil),
        limited_until: iso(lane.limitedUntil),
        paused_until: orNever(pausedUntil),
        disabled: isDisabled,
        has_chats: false,
        ...standingRow,
        head_id: headId,
        interruptions: before,
      },
      q: {
        change: change._tag,
        at: iso(at),
        other: orNever(other),
        first: iso(firstDueAt),
        again,
        interrupted,
      },
      messages:
        headId === null
          ? []
          : [{ ...aMessage, id: headId, number_id: headId, expires_at: iso(expiresAt) }],
    },
    core: nextDueAfter(
      change._tag === "Settled"
        ? { ...lane, heldUntil: heldAfter(again ? before + interrupted : 0) }
        : lane,
      change,
    ),
  }
})
