/** The rules of keys and of what is asked with them. */
import type { Vitest } from "@effect/vitest"
import {
  answerKeptMillis,
  claimKeptMillis,
  claimOutcome,
  countRequest,
  coversMessages,
  dayMillis,
  hasPhone,
  isLimited,
  keyRefusal,
  messagesRemaining,
  minuteMillis,
  phoneWithoutLink,
  unlimitedPlan,
} from "@messaging-service/core/ports"
import type {
  IdempotencyRecord,
  NumberId,
  Plan,
  RequestWindow,
} from "@messaging-service/core/ports"
import { noon } from "@messaging-service/testkit"
import { Effect } from "effect"
import type { PgConnection } from "@effect/sql-pg"
import { isUsable } from "../../src/key/keyRow.ts"
import { countedWindow } from "../../src/key/keyRow.ts"
import {
  hasPhone as hasPhoneSql,
  phoneWithoutLink as phoneWithoutLinkSql,
} from "../../src/linking/endLinking.ts"
import { claimKey } from "../../src/PostgresIdempotency.ts"
import {
  isLimited as isLimitedSql,
  messagesRemaining as remainingSql,
} from "../../src/workspace/workspaceRow.ts"
import { compare, draw, iso, moment } from "./compare.ts"

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

export const keyRules = (it: Vitest.MethodsNonLive<PgConnection.PgConnection>) => {
  it.effect("whether a key can be used", () =>
    compare("keys", {
      rows: { k: "api_keys", q: "(now timestamptz)" },
      sql: isUsable("k", "q.now"),
      draw: Effect.gen(function* () {
        const expiresAt = yield* draw.maybe(draw.time)
        const revokedAt = yield* draw.maybe(draw.time)
        const now = yield* draw.time
        return {
          facts: {
            k: { expires_at: iso(expiresAt), revoked_at: iso(revokedAt) },
            q: { now: iso(now) },
          },
          core: keyRefusal({ expiresAt, revokedAt }, now) === undefined,
        }
      }),
    }),
  )

  it.effect("what phone a number has without its link", () =>
    compare("phone without link", {
      rows: { n: "numbers", q: "(before text)" },
      sql: phoneWithoutLinkSql("n", "q.before"),
      draw: Effect.map(aNumberBeingLinked, ({ attempt, before, row }) => ({
        facts: { n: row, q: { before } },
        core: phoneWithoutLink(row, attempt),
      })),
    }),
  )

  it.effect("whether another number has the phone that one was linked to", () =>
    compare("phones that are had", {
      rows: { other: "numbers", n: "numbers", q: "(before text, phone text)" },
      sql: `coalesce(${hasPhoneSql("other", "q.before", "n", "q.phone")}, false)`,
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

  it.effect("what a request finds that claims an idempotency key", () =>
    compare("claims", {
      rows: { q: "(key_id bigint, token text, now timestamptz)" },
      inserted: ["idempotency_claims", "idempotency_records"],
      sql: `${claimKey.name}(
        q.key_id, 'key', 'fingerprint', q.token, q.now
      )`,
      draw: Effect.gen(function* () {
        const keyId = yield* draw.id
        const now = yield* draw.time
        const token = yield* draw.from(["this", "that"])
        const held = yield* draw.maybe(draw.from(["this", "that"]))
        const claimedAt = (yield* draw.time) - (yield* draw.from([0, claimKeptMillis]))
        const made = yield* draw.maybe(
          Effect.map(draw.time, (time): IdempotencyRecord => ({
            fingerprint: "first",
            madeIds: [keyId],
            createdAt: time - answerKeptMillis,
          })),
        )
        const outcome = claimOutcome(
          { claim: held === null ? null : { token: held, claimedAt }, record: made },
          token,
          now,
        )
        const row = { key_id: keyId, key: "key" }
        const claims = { ...row, fingerprint: "first", token: held, claimed_at: iso(claimedAt) }
        const records = {
          ...row,
          fingerprint: "first",
          made_ids: made?.madeIds,
          created_at: iso(made?.createdAt ?? null),
        }
        return {
          facts: {
            q: { key_id: keyId, token, now: iso(now) },
            idempotency_claims: held === null ? [] : [claims],
            idempotency_records: made === null ? [] : [records],
          },
          core: outcome._tag === "Claimed" ? null : outcome,
        }
      }),
    }),
  )

  it.effect("how many messages a plan has left", () =>
    compare("plans", {
      rows: { w: "workspaces", q: "(count bigint)" },
      sql: `json_build_array(
        ${remainingSql("w")},
        coalesce((${remainingSql("w")}) >= q.count, true),
        ${isLimitedSql("w")}
      )`,
      draw: Effect.gen(function* () {
        const plan = yield* draw.maybe(
          Effect.map(draw.maybe(draw.below(4)), (messagesRemaining): Plan => ({
            ...unlimitedPlan,
            messagesRemaining,
          })),
        )
        const count = yield* draw.below(4)
        return {
          facts: {
            w: {
              plan_name: plan?.name ?? null,
              plan_messages_remaining: plan?.messagesRemaining ?? null,
            },
            q: { count },
          },
          core: [messagesRemaining(plan), coversMessages(plan, count), isLimited(plan)],
        }
      }),
    }),
  )

  it.effect("in which minute a request counts", () => countsIn("minute", minuteMillis))
  it.effect("in which day a request counts", () => countsIn("day", dayMillis))
}

const countsIn = (window: "minute" | "day", length: number) => {
  const counted = countedWindow(window)
  return compare(`requests of a ${window}`, {
    rows: { windows: "key_windows", excluded: "key_windows" },
    sql: `json_build_array(${moment(counted.start)}, ${counted.count})`,
    draw: Effect.gen(function* () {
      const aStart = Effect.map(draw.below(5), (behind) => noon - (behind * length) / 2)
      const before = { start: yield* aStart, count: 1 + (yield* draw.below(9)) }
      const [start, more] = [yield* aStart, 1 + (yield* draw.below(3))]
      let after: RequestWindow = before
      for (let request = 0; request < more; request++) after = countRequest(after, start, length)
      return {
        facts: {
          windows: { [`${window}_start`]: iso(before.start), [`${window}_count`]: before.count },
          excluded: { [`${window}_start`]: iso(start), [`${window}_count`]: more },
        },
        core: [after.start, after.count],
      }
    }),
  })
}
