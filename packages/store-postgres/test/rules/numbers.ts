/** The rules of numbers: how many there may be, attempts at linking them, their phone and their status. */
import type { Vitest } from "@effect/vitest"
import {
  awaySinceAfter,
  canBeLinked,
  changedTo,
  connectionReasons,
  gapEvent,
  hasEnded,
  hasPhone,
  ownsAllNumbers,
  linksItself,
  numberEvent,
  numberStatuses,
  phoneWithStatus,
  platforms,
  statusReport,
  phoneWithoutLink,
} from "@messaging-service/core"
import type { EventId, NumberId, WorkspaceId } from "@messaging-service/core"
import { noon } from "@messaging-service/testkit"
import { Effect } from "effect"
import type { PgConnection } from "@effect/sql-pg"
import { compare, draw, iso, toMillisSql } from "./compare.ts"
import { aNumberId, someShards, sqlOwned } from "./lanes.ts"

/** A number and its attempt, as rows have them and as the core does. */
const aNumberBeingLinked = Effect.gen(function* () {
  const phone = yield* draw.maybe(draw.from(["1", "2"]))
  const before = yield* draw.maybe(draw.from(["", "1", "2"]))
  const id = (yield* draw.from([1, 2])) as NumberId
  const platform = yield* draw.from(["whatsapp", "telegram"] as const)
  const mode = yield* draw.from(["live", "test"] as const)
  return {
    row: { id, phone, platform, mode },
    before,
    attempt: before === null ? null : { replaced: { phone: before === "" ? null : before } },
  }
})

/** What a row of `numbers` must have. */
const aNumberRow = {
  label: "",
  platform: "whatsapp",
  status: "connected",
  login_method: "qr",
  mode: "live",
  created_at: iso(noon),
}

export const numberRules = (it: Vitest.MethodsNonLive<PgConnection.PgConnection>) => {
  it.effect("what phone a number has without its link", () =>
    compare("phone without link", {
      rows: { n: "numbers", q: "(before text)" },
      sql: "phone_without_link(n.phone, q.before)",
      draw: Effect.map(aNumberBeingLinked, ({ attempt, before, row }) => ({
        facts: { n: row, q: { before } },
        core: phoneWithoutLink(row, attempt),
      })),
    }),
  )

  it.effect("whether another number has the phone that one was linked to", () =>
    compare("phones that are had", {
      rows: { other: "numbers", n: "numbers", q: "(before text, phone text)" },
      sql: "coalesce(has_phone(other, q.before, n, q.phone), false)",
      draw: Effect.gen(function* () {
        const other = yield* aNumberBeingLinked
        const linked = yield* aNumberBeingLinked
        const phone = yield* draw.from(["1", "2"])
        return {
          facts: { other: other.row, n: linked.row, q: { before: other.before, phone } },
          core: hasPhone(other.row, other.attempt, linked.row, phone),
        }
      }),
    }),
  )

  it.effect("what phone a number has with another status", () =>
    compare("phone with status", {
      rows: { n: "numbers", q: "(before text, status text, phone text)" },
      sql: "phone_with_status(n, q.before, q.status, q.phone)",
      draw: Effect.gen(function* () {
        const { attempt, before, row } = yield* aNumberBeingLinked
        const status = yield* draw.from(numberStatuses)
        const phone = yield* draw.maybe(draw.from(["1", "2"]))
        return {
          facts: { n: row, q: { before, status, phone } },
          core: phoneWithStatus(row, attempt, status, phone),
        }
      }),
    }),
  )

  it.effect("what is reported of a number's status", () =>
    compare("reported statuses", {
      rows: { n: "numbers", q: "(id text, before text, now timestamptz)" },
      sql: `(
        select number_event_body(
          q.id, 'number.' || n.status, n, case when n.status <> 'connected' then n.status_reason end, q.now, q.now
        )
        where tells_of_status(q.before, n.status)
      )`,
      draw: Effect.gen(function* () {
        const [before, status] = [
          yield* draw.from(numberStatuses),
          yield* draw.from(numberStatuses),
        ]
        const reason = yield* draw.maybe(draw.from(connectionReasons))
        const now = yield* draw.time
        const number = {
          id: yield* aNumberId,
          workspaceId: 1 as WorkspaceId,
          mode: "live" as const,
          label: "",
          loginMethod: "qr" as const,
          createdAt: noon,
          phone: yield* draw.maybe(draw.from(["1", "491512345678"])),
          platform: yield* draw.from(platforms),
          status,
        }
        const id = `evt_${"0".repeat(24)}` as EventId
        const report = statusReport(before, status, reason, now)
        return {
          facts: {
            n: {
              id: number.id,
              phone: number.phone,
              platform: number.platform,
              status,
              status_reason: reason,
            },
            q: { id, before, now: iso(now) },
          },
          core: report === undefined ? null : numberEvent(id, report, number, now).body,
        }
      }),
    }),
  )

  it.effect("since when a number has its status, and why", () =>
    compare("statuses of numbers", {
      rows: { n: "numbers", q: "(status text, reason text, now timestamptz)" },
      sql: `json_build_array(
        ${toMillisSql("status_since_after(n, q.status, q.reason, q.now)")},
        status_reason_after(n, q.status, q.reason)
      )`,
      draw: Effect.gen(function* () {
        const aReason = draw.maybe(draw.from(connectionReasons.slice(0, 3)))
        const at = yield* draw.maybe(draw.time)
        const changed = at === null ? null : { at, reason: yield* aReason }
        const number = { status: yield* draw.from(numberStatuses) }
        const [status, reason, now] = [
          yield* draw.from(numberStatuses),
          yield* aReason,
          yield* draw.time,
        ]
        const after = changedTo({ changed, number }, status, reason, now)
        return {
          facts: {
            n: {
              status: number.status,
              status_since: iso(at),
              status_reason: changed?.reason ?? null,
            },
            q: { status, reason, now: iso(now) },
          },
          core: [after?.at ?? null, after?.reason ?? null],
        }
      }),
    }),
  )

  it.effect("since when a number is away", () =>
    compare("numbers that are away", {
      rows: { n: "numbers", q: "(status text, now timestamptz)" },
      sql: toMillisSql("away_since_after(n, q.status, q.now)"),
      draw: Effect.gen(function* () {
        const before = {
          status: yield* draw.from(numberStatuses),
          awaySince: yield* draw.maybe(draw.time),
        }
        const [status, now] = [yield* draw.from(numberStatuses), yield* draw.time]
        return {
          facts: {
            n: { status: before.status, away_since: iso(before.awaySince) },
            q: { status, now: iso(now) },
          },
          core: awaySinceAfter(before, status, now),
        }
      }),
    }),
  )

  it.effect("what the event of a gap says", () =>
    compare("events of gaps", {
      rows: { q: "(id text, number bigint, reason text, since timestamptz, now timestamptz)" },
      sql: "gap_event_body(q.id, q.number, q.reason, q.since, q.now)",
      draw: Effect.gen(function* () {
        const id = `evt_${"0".repeat(24)}` as EventId
        const number = {
          id: yield* aNumberId,
          workspaceId: 1 as WorkspaceId,
          mode: "live" as const,
        }
        const reason = yield* draw.from(["relinked", "skipped"] as const)
        const [from, now] = [
          (yield* draw.time) + (yield* draw.from([-3_600_000, 0, 3_600_000])),
          yield* draw.time,
        ]
        return {
          facts: { q: { id, number: number.id, reason, since: iso(from), now: iso(now) } },
          core: gapEvent(id, { from, reason }, number, now).body,
        }
      }),
    }),
  )

  it.effect("whether a workspace holds as many numbers as it may", () =>
    compare("limits of numbers", {
      rows: { q: "(workspace bigint, most integer)" },
      inserted: ["numbers"],
      sql: "coalesce(holds_all_numbers(q.workspace, q.most), false)",
      draw: Effect.gen(function* () {
        const numbers = yield* Effect.replicateEffect(
          Effect.all({ id: draw.id, isOwn: draw.flag, removedAt: draw.maybe(draw.time) }),
          yield* draw.below(9),
        )
        const workspaceId = yield* draw.id
        const most = yield* draw.maybe(draw.below(4))
        const own = numbers.filter(({ isOwn }) => isOwn)
        return {
          facts: {
            q: { workspace: workspaceId, most },
            numbers: numbers.map(({ id, isOwn, removedAt }) => ({
              ...aNumberRow,
              id,
              workspace_id: isOwn ? workspaceId : -workspaceId,
              removed_at: iso(removedAt),
            })),
          },
          core: ownsAllNumbers(
            own.map(({ removedAt }) => ({ removed: removedAt !== null })),
            most,
          ),
        }
      }),
    }),
  )

  it.effect("when an attempt at linking ends, links itself, and may be taken up", () =>
    compare("attempts at linking", {
      rows: { a: "linking_attempts", q: "(now timestamptz, parts bigint, owned bigint[])" },
      sql: `array[
        has_ended(a, q.now),
        coalesce(links_itself(a, q.now), false),
        can_be_linked(a, q.now, q.parts, q.owned)
      ]`,
      draw: Effect.gen(function* () {
        const attempt = {
          numberId: yield* aNumberId,
          mode: yield* draw.from(["live", "live", "test"] as const),
          linksAt: yield* draw.maybe(draw.time),
          endsAt: yield* draw.time,
        }
        const leaseUntil = yield* draw.maybe(draw.time)
        const owned = (yield* draw.maybe(someShards)) ?? "all"
        const now = yield* draw.time
        return {
          facts: {
            a: {
              number_id: attempt.numberId,
              mode: attempt.mode,
              links_at: iso(attempt.linksAt),
              ends_at: iso(attempt.endsAt),
              lease_until: iso(leaseUntil),
            },
            q: { now: iso(now), ...sqlOwned(owned) },
          },
          core: [
            hasEnded(attempt, now),
            linksItself(attempt, now),
            canBeLinked(attempt, leaseUntil, owned, now),
          ],
        }
      }),
    }),
  )
}
