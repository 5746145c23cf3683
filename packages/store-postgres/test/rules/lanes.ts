/** The rules of lanes, and of the number checks that lanes hold up. */
import type { Vitest } from "@effect/vitest"
import {
  waitsForNewChats,
  canBeNew,
  campaignStates,
  hasCampaignEnded,
  canBeAsked,
  checkAfter,
  checkResultStatuses,
  cutsTurn,
  goesOn,
  isServedBy,
  isClaimable,
  isInFlight,
  isInWindow,
  isOwned,
  limitedUntil,
  mayBeHandedOut,
  visibleModes,
  noPauses,
  pausedUntil,
  pausesAfter,
  pauseReport,
  pausesOnceLinked,
  restrictedSince,
  recipientName,
  toShard,
  stoppedUntil,
  turnSize,
} from "@messaging-service/core"
import type {
  ChatId,
  ContactId,
  NumberId,
  Owned,
  Pacing,
  Pause,
  Pauses,
  Phone,
  Recipient,
} from "@messaging-service/core"
import { noon } from "@messaging-service/testkit"
import { Effect } from "effect"
import type { PgConnection } from "@effect/sql-pg"
import { fromPacing } from "../../src/queue/lanes.ts"
import { compare, draw, iso, toMillisSql } from "./compare.ts"

/** What of a lane tells who may claim it, drawn. */
export const aStanding = Effect.gen(function* () {
  const removed = yield* draw.flag
  const connected = !removed && (yield* draw.flag)
  return { connected, removed, row: { connected, removed_at: iso(removed ? noon : null) } }
})

export const aNumberId = Effect.map(draw.below(4), (id) => (id + 1) as NumberId)

export const someShards = Effect.gen(function* (): Effect.gen.Return<Exclude<Owned, "all">> {
  const of = 1 + (yield* draw.below(3))
  return { of, shards: yield* Effect.replicateEffect(draw.below(of), yield* draw.below(3)) }
})

export const sqlOwned = (owned: Owned) =>
  owned === "all" ? {} : { parts: owned.of, owned: owned.shards }

const aPacing: Pacing = {
  minIntervalMillis: 1,
  jitterMillis: null,
  perMinute: null,
  perHour: null,
  newRecipientsPerDay: null,
}

export const laneRules = (it: Vitest.MethodsNonLive<PgConnection.PgConnection>) => {
  it.effect("whether a message is in the hands of a transport", () =>
    compare("hands", {
      rows: { m: "messages", l: "lanes" },
      inserted: ["messages"],
      sql: "json_build_array(is_in_flight(m, l), head_of(l), first_of_turn(coalesce(l.turn, '{}')))",
      draw: Effect.gen(function* () {
        const ids = yield* Effect.replicateEffect(draw.id, 3)
        const id = yield* draw.from(ids)
        const headId = yield* draw.maybe(draw.from(ids))
        const leaseUntil = yield* draw.maybe(draw.time)
        const interruptions = yield* draw.below(3)
        const states = yield* Effect.replicateEffect(draw.from(["waiting", "sent"] as const), 3)
        const turn = (yield* draw.flag) ? ids : []
        const first = turn.find((_, index) => states[index] === "waiting") ?? null
        const head = turn.length > 0 ? first : headId
        const isHead = id === head
        return {
          facts: {
            m: { id },
            l: {
              head_id: headId,
              lease_until: iso(leaseUntil),
              interruptions,
              turn: turn.length > 0 ? turn : null,
            },
            messages: ids.map((each, index) => ({
              ...aMessage,
              id: each,
              number_id: 1,
              state: states[index],
            })),
          },
          core: [
            isInFlight(
              turn.length > 0
                ? { leased: isHead, interruptions: 0 }
                : {
                    leased: isHead && leaseUntil !== null,
                    interruptions: isHead ? interruptions : 0,
                  },
            ),
            head,
            first,
          ],
        }
      }),
    }),
  )

  it.effect("how long a turn may be, what cuts it, and whether it continues", () =>
    compare("turns", {
      rows: { l: "lanes", q: "(most integer, room integer, due_at timestamptz, now timestamptz)" },
      sql: `json_build_array(
        turn_size(l, q.most, q.room), cuts_turn(l, q.due_at), goes_on(l, q.now)
      )`,
      draw: Effect.gen(function* () {
        const { row, ...standing } = yield* aStanding
        const leaseUntil = yield* draw.maybe(draw.time)
        const interruptions = yield* draw.below(2)
        const turnDue = yield* draw.maybe(draw.time)
        const until = yield* draw.maybe(draw.time)
        const disabled = yield* draw.flag
        const pacing = (yield* draw.flag) ? null : aPacing
        const diskFailuresInARow = yield* draw.below(2)
        const [most, room] = [1 + (yield* draw.below(16)), yield* draw.below(20)]
        const [dueAt, now] = [yield* draw.time, yield* draw.time]
        const mayHaveLeft = leaseUntil !== null || interruptions > 0
        return {
          facts: {
            l: {
              ...row,
              lease_until: iso(leaseUntil),
              interruptions,
              turn_due: iso(turnDue),
              paused_until: iso(until),
              disabled,
              pacing: pacing === null ? null : fromPacing(pacing),
              no_room: diskFailuresInARow,
            },
            q: { most, room, due_at: iso(dueAt), now: iso(now) },
          },
          core: [
            turnSize(most, { ...standing, pacing, mayHaveLeft, room }),
            turnDue !== null && cutsTurn(turnDue, dueAt),
            goesOn(
              {
                ...standing,
                leaseUntil,
                stoppedUntil: stoppedUntil(until, disabled),
                pacing,
                diskFailuresInARow,
                isCut: turnDue === null,
              },
              now,
            ),
          ],
        }
      }),
    }),
  )

  it.effect("whether a message may be handed out although it expires", () =>
    compare("departures", {
      rows: { m: "messages", l: "lanes", q: "(now timestamptz)" },
      sql: "may_be_handed_out(m, l, q.now)",
      draw: Effect.gen(function* () {
        const expiresAt = yield* draw.maybe(draw.time)
        const interruptions = yield* draw.below(3)
        const now = yield* draw.time
        return {
          facts: {
            m: { expires_at: iso(expiresAt) },
            l: { interruptions },
            q: { now: iso(now) },
          },
          core: mayBeHandedOut({ expiresAt }, { interruptions }, now),
        }
      }),
    }),
  )

  it.effect("whether a lane can be claimed", () =>
    compare("claimable", {
      rows: { l: "lanes" },
      sql: "is_claimable(l)",
      draw: Effect.gen(function* () {
        const { row, ...standing } = yield* aStanding
        const [until, interruptions] = [yield* draw.maybe(draw.time), yield* draw.below(2)]
        const core = isClaimable(standing, { leased: until !== null, interruptions })
        return { facts: { l: { ...row, lease_until: iso(until), interruptions } }, core }
      }),
    }),
  )

  it.effect("which moments are in a window, and until when a pause lasts", () =>
    compare("windows", {
      rows: { l: "lanes", q: "(at timestamptz, now timestamptz, width interval)" },
      sql: `json_build_array(
        is_in_window(q.at, q.now, q.width),
        ${toMillisSql("nullif(paused_until(l.paused_until, q.now), 'infinity')")},
        paused_until(l.paused_until, q.now) is null
      )`,
      draw: Effect.gen(function* () {
        const [at, now, width] = [yield* draw.time, yield* draw.time, 1 + (yield* draw.below(4))]
        const until = yield* draw.maybe(draw.time)
        const paused = pausedUntil({ until, reason: "paused" }, now)
        return {
          facts: {
            l: { paused_until: iso(until) ?? "infinity" },
            q: { at: iso(at), now: iso(now), width: `${width} milliseconds` },
          },
          core: [isInWindow(at, now, width), paused === Infinity ? null : paused, paused === null],
        }
      }),
    }),
  )

  it.effect("how a recipient is named", () =>
    compare("names of recipients", {
      rows: { m: "messages" },
      sql: "recipient_name(m)",
      draw: Effect.gen(function* () {
        const to = yield* draw.from<Recipient>([
          { kind: "phone", phone: "recipient 0" as Phone, contactId: null },
          { kind: "group", group: "recipient 9" },
          { kind: "chat", chatId: 1 as ChatId, address: "lid:9", phone: "recipient 0" as Phone },
          { kind: "chat", chatId: 1 as ChatId, address: "lid:9" },
        ])
        return {
          facts: {
            m: {
              to_phone: "phone" in to ? (to.phone ?? null) : null,
              to_name: to.kind === "group" ? to.group : null,
              to_address: to.kind === "chat" ? (to.address ?? null) : null,
            },
          },
          core: recipientName(to),
        }
      }),
    }),
  )

  it.effect("whether a recipient can be new, and whether messages to new ones wait", () =>
    compare("new recipients", {
      rows: { m: "messages", q: "(until timestamptz, now timestamptz)" },
      sql: "json_build_array(can_be_new(m), waits_for_new_chats(q.until, q.now))",
      draw: Effect.gen(function* () {
        const phone = "recipient 0" as Phone
        const to = yield* draw.from<Recipient>([
          { kind: "phone", phone, contactId: null },
          { kind: "contact_phone", phone, contactId: 1 as ContactId },
          { kind: "group", group: "recipient 9" },
          { kind: "username", username: "@recipient" },
          { kind: "contact_username", username: "@recipient", contactId: 1 as ContactId },
          { kind: "chat", chatId: 1 as ChatId, address: "lid:9", phone },
        ])
        const until = yield* draw.maybe(draw.time)
        const now = yield* draw.time
        return {
          facts: { m: { to_kind: to.kind }, q: { until: iso(until), now: iso(now) } },
          core: [canBeNew(to), waitsForNewChats(until, now)],
        }
      }),
    }),
  )

  it.effect("which numbers a worker has", () =>
    compare("numbers of a worker", {
      rows: { l: "lanes", q: "(parts bigint, owned bigint[])" },
      sql: `json_build_array(
        is_owned(l.number_id, q.parts, q.owned),
        shard_of(l.number_id, 3)
      )`,
      draw: Effect.gen(function* () {
        const numberId = yield* aNumberId
        const owned = (yield* draw.maybe(someShards)) ?? "all"
        return {
          facts: { l: { number_id: numberId }, q: sqlOwned(owned) },
          core: [isOwned(numberId, owned), toShard(numberId, 3)],
        }
      }),
    }),
  )

  it.effect("whether a number check can be taken up, and by whom", () =>
    compare("checks", {
      rows: { c: "number_checks", l: "lanes", q: "(parts bigint, owned bigint[])" },
      sql: "array[can_be_asked(c, l), is_asked_by(c, l, q.parts, q.owned)]",
      draw: Effect.gen(function* () {
        const { row, ...standing } = yield* aStanding
        const mode = yield* draw.from(visibleModes("test"))
        const numberId = yield* aNumberId
        const owned = (yield* draw.maybe(someShards)) ?? "all"
        return {
          facts: { c: { mode, number_id: numberId }, l: row, q: sqlOwned(owned) },
          core: [canBeAsked({ mode }, standing), isServedBy({ mode, numberId }, standing, owned)],
        }
      }),
    }),
  )

  it.effect("what of a number check answers change, and what completes it", () =>
    compare("answers of checks", {
      rows: { c: "number_checks", q: "(now timestamptz, answers text[])" },
      sql: `(
        select json_build_object(
          'checked', c.checked + n.checked, 'registered', c.registered + n.registered,
          'notRegistered', c.not_registered + n.not_registered,
          'status', check_status_after(c, n.checked),
          'completedAt', ${toMillisSql("check_completed_at(c, n.checked, q.now)")}
        )
        from (
          select
            count(*), count(*) filter (where given.status = 'registered'),
            count(*) filter (where given.status = 'not_registered')
          from unnest(q.answers) given (status)
        ) n (checked, registered, not_registered)
      )`,
      draw: Effect.gen(function* () {
        const answers = yield* Effect.replicateEffect(
          draw.from(checkResultStatuses.filter((status) => status !== "pending")),
          yield* draw.below(4),
        )
        const before = {
          total: 4 + (yield* draw.below(3)),
          checked: yield* draw.below(4),
          registered: yield* draw.below(3),
          notRegistered: yield* draw.below(3),
          status: yield* draw.from(["pending", "processing"] as const),
          completedAt: null,
        }
        const now = yield* draw.time
        return {
          facts: {
            c: {
              total: before.total,
              checked: before.checked,
              registered: before.registered,
              not_registered: before.notRegistered,
              status: before.status,
            },
            q: { now: iso(now), answers },
          },
          core: checkAfter(before, answers, now),
        }
      }),
    }),
  )

  it.effect("when the limits of a lane let its first message leave", () =>
    compare("limits", {
      rows: { l: "lanes", q: "(now timestamptz, cap integer, width interval)" },
      inserted: ["messages", "lane_recipients"],
      sql: toMillisSql("lane_limit(l.number_id, l.pacing, l.head_id, true, q.cap, q.width, q.now)"),
      draw: Effect.gen(function* () {
        // Near both ends of the windows of pacing too.
        const time = Effect.gen(function* () {
          const window = yield* draw.from([0, 60_000, 3_600_000, 24 * 3_600_000])
          return (yield* draw.time) - window
        })
        const sent = yield* Effect.replicateEffect(time, yield* draw.below(8))
        const first = yield* Effect.replicateEffect(time, yield* draw.below(5))
        const [now, messages, windowMillis] = [
          yield* draw.time,
          1 + (yield* draw.below(4)),
          1 + (yield* draw.below(6)),
        ]
        const few = draw.maybe(Effect.map(draw.below(3), (one) => one + 1))
        const pacing = yield* draw.maybe(
          Effect.gen(function* () {
            return {
              minIntervalMillis: null,
              jitterMillis: null,
              perMinute: yield* few,
              perHour: yield* few,
              newRecipientsPerDay: yield* few,
            }
          }),
        )
        const to = yield* draw.from<Recipient>([
          { kind: "phone", phone: "recipient 0" as Phone, contactId: null },
          { kind: "group", group: "recipient 9" },
        ])
        const name = recipientName(to)
        const [numberId, headId] = [yield* draw.id, yield* draw.id]
        const others = yield* Effect.forEach(sent, (at) =>
          Effect.all([draw.id, time]).pipe(
            Effect.map(([id, dueAt]) => ({
              ...aMessage,
              id,
              number_id: numberId,
              due_at: iso(dueAt),
              sent_at: iso(at),
            })),
          ),
        )
        return {
          facts: {
            l: {
              number_id: numberId,
              head_id: headId,
              pacing: pacing === null ? null : fromPacing(pacing),
            },
            q: { now: iso(now), cap: messages, width: `${windowMillis} milliseconds` },
            messages: [
              {
                ...aMessage,
                id: headId,
                number_id: numberId,
                to_phone: to.kind === "phone" ? name : null,
                to_name: to.kind === "group" ? name : null,
              },
              ...others,
            ],
            lane_recipients: first.map((at, index) => ({
              number_id: numberId,
              recipient: `recipient ${index}`,
              first_sent_at: iso(at),
            })),
          },
          core: limitedUntil(
            {
              sentTimes: sent.toSorted((a, b) => a - b),
              firstTimes: first.toSorted((a, b) => a - b),
              isNewRecipient: !first.some((_, index) => name === `recipient ${index}`),
              dailyLimit: { messages, windowMillis },
              pacing,
            },
            now,
          ),
        }
      }),
    }),
  )

  it.effect("which pauses a number has, and which of them counts", () =>
    compare("pauses", {
      rows: { l: "lanes", q: "(reason text, until timestamptz)" },
      sql: `(
        select array[
          after.reason, ${shownEnd("after.until")},
          after.behind_reason, ${shownEnd("after.behind_until")}
        ]
        from pauses_after(l, q.reason, q.until)
          after (until, reason, behind_until, behind_reason)
      )`,
      draw: Effect.gen(function* () {
        const earlier = yield* Effect.replicateEffect(aPause, yield* draw.below(4))
        const before = earlier.reduce(pausesAfter, noPauses)
        const next = yield* aPause
        const { behind, first } = pausesAfter(before, next)
        return {
          facts: {
            l: pauseRow(before),
            q: { reason: next.reason, until: iso(next.until) },
          },
          core: [first, behind].flatMap((pause) => [
            pause?.reason ?? null,
            pause?.until?.toString() ?? null,
          ]),
        }
      }),
    }),
  )

  it.effect("since when a number is restricted", () =>
    compare("restricted", {
      rows: { l: "lanes", n: "numbers", q: "(now timestamptz)" },
      sql: toMillisSql("restricted_since(l, n, q.now)"),
      draw: Effect.gen(function* () {
        const earlier = yield* Effect.replicateEffect(aPause, yield* draw.below(3))
        const pauses = earlier.reduce(pausesAfter, noPauses)
        const [at, restrictedAt, now] = [yield* draw.time, yield* draw.time, yield* draw.time]
        const reason = yield* draw.maybe(draw.from(["restricted", "banned", "logged_out"] as const))
        const status = yield* draw.from(["connected", "disconnected"] as const)
        return {
          facts: {
            l: { ...pauseRow(pauses), restricted_at: iso(restrictedAt) },
            n: { status, status_since: iso(at), status_reason: reason },
            q: { now: iso(now) },
          },
          core: restrictedSince({ status, changed: { at, reason }, pauses, restrictedAt }, now),
        }
      }),
    }),
  )

  it.effect("whether a campaign has ended", () =>
    compare("ended_campaign", {
      rows: { c: "campaigns" },
      sql: "has_campaign_ended(c)",
      draw: Effect.map(draw.from(campaignStates), (state) => ({
        facts: { c: { state } },
        core: hasCampaignEnded({ state }),
      })),
    }),
  )

  it.effect("whether a pause is reported, and since when", () =>
    compare("reported pauses", {
      rows: { l: "lanes", q: "(now timestamptz)" },
      sql: `case when tells_of_pause(l, q.now) then array[
        case when l.pause_reported then 'number.resumed' else 'number.paused' end,
        ${shownEnd("case when l.pause_reported then least(l.paused_until, q.now) else q.now end")}
      ] end`,
      draw: Effect.gen(function* () {
        const first = yield* draw.maybe(aPause)
        const [isReported, now] = [yield* draw.flag, yield* draw.time]
        const report = pauseReport(isReported, first, now)
        return {
          facts: {
            l: { ...pauseRow({ first, behind: null }), pause_reported: isReported },
            q: { now: iso(now) },
          },
          core: report === undefined ? null : [report.type, report.since.toString()],
        }
      }),
    }),
  )

  it.effect("which pauses are left once a number has a new session", () =>
    compare("linked", {
      rows: { l: "lanes" },
      sql: `(
        select array[after.reason, ${shownEnd("after.until")}]
        from (values (1)) one
        left join pauses_once_linked(l)
          after (until, reason, behind_until, behind_reason) on true
      )`,
      draw: Effect.gen(function* () {
        const earlier = yield* Effect.replicateEffect(aPause, yield* draw.below(4))
        const before = earlier.reduce(pausesAfter, noPauses)
        const { first } = pausesOnceLinked(before)
        return {
          facts: { l: pauseRow(before) },
          core: [first?.reason ?? null, first?.until?.toString() ?? null],
        }
      }),
    }),
  )
}

/** What a row of `messages` must have. */
export const aMessage = {
  workspace_id: 1,
  created_at: iso(noon),
  due_at: iso(noon),
  allowance_taken: false,
  refused: false,
  mode: "live",
  state: "sent",
  platform: "whatsapp",
  to_kind: "phone",
  text: "",
  transport_id: "",
}

const aPause = Effect.gen(function* () {
  const pause: Pause = {
    reason: yield* draw.from(["paused", "paused", "restricted", "banned"] as const),
    until: yield* draw.maybe(draw.time),
  }
  return pause
})

const endOfPause = (pause: Pause | null) =>
  pause === null ? null : (iso(pause.until) ?? "infinity")

const pauseRow = ({ behind, first }: Pauses) => ({
  pause_reason: first?.reason ?? null,
  paused_until: endOfPause(first),
  pause_behind_reason: behind?.reason ?? null,
  pause_behind_until: endOfPause(behind),
})

/** The end of a pause in milliseconds; null while only an operator ends it. */
const shownEnd = (until: string): string =>
  `((extract(epoch from nullif(${until}, 'infinity')) * 1000)::bigint)::text`
