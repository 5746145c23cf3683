/** The rules of keys and of what is asked with them. */
import type { Vitest } from "@effect/vitest"
import {
  answerRetentionMillis,
  claimRetentionMillis,
  claimOutcome,
  countedInDay,
  countRequest,
  requestsPerMinute,
  coversMessages,
  dayMillis,
  hasSessionEnded,
  holdsAllKeys,
  isCounted,
  isClaimVoid,
  isLimited,
  isRecordVoid,
  keyRefusal,
  linkWorks,
  messagesRemaining,
  minuteMillis,
  operatorIdleMillis,
  isSessionValid,
  unlimitedPlan,
} from "@messaging-service/core"
import type {
  ApiKey,
  IdempotencyRecord,
  Plan,
  RequestWindow,
  WorkspaceId,
} from "@messaging-service/core"
import { noon } from "@messaging-service/testkit"
import { Effect } from "effect"
import type { PgConnection } from "@effect/sql-pg"
import { countedWindow } from "../../src/key/keys.ts"
import { compare, draw, iso, toMillisSql } from "./compare.ts"

const aMark = draw.from(["one", "two"])

export const keyRules = (it: Vitest.MethodsNonLive<PgConnection.PgConnection>) => {
  it.effect("whether a key can be used", () =>
    compare("keys", {
      rows: { k: "api_keys", q: "(now timestamptz)" },
      sql: "is_usable(k, q.now)",
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

  it.effect("whether a browser session has ended, and whether it is valid", () =>
    compare("browser sessions", {
      rows: { s: "browser_sessions", q: "(now timestamptz, mark text)" },
      sql: "array[has_session_ended(s, q.now), is_session_valid(s, q.now, q.mark)]",
      draw: Effect.gen(function* () {
        const [expiresAt, lastUsedAt] = [yield* draw.time, yield* draw.time]
        const apart = yield* draw.from([-1, 0, 1])
        const now = yield* draw.from([expiresAt, lastUsedAt + operatorIdleMillis])
        const workspaceId = (yield* draw.maybe(draw.id)) as WorkspaceId | null
        const [tokenMark, mark] = [yield* draw.maybe(aMark), yield* draw.maybe(aMark)]
        const query = { now: now + apart, tokenMark: mark }
        const session = { workspaceId, expiresAt, tokenMark }
        return {
          facts: {
            s: {
              workspace_id: workspaceId,
              token_mark: tokenMark,
              expires_at: iso(expiresAt),
              last_used_at: iso(lastUsedAt),
            },
            q: { now: iso(query.now), mark },
          },
          core: [
            hasSessionEnded(session, lastUsedAt, query.now),
            isSessionValid(session, lastUsedAt, query),
          ],
        }
      }),
    }),
  )

  it.effect("whether a link signs in", () =>
    compare("links", {
      rows: { l: "sign_in_links", q: "(now timestamptz, mark text)" },
      sql: "link_works(l, q.now, q.mark)",
      draw: Effect.gen(function* () {
        const [codeExpiresAt, now] = [yield* draw.time, yield* draw.time]
        const [usedAt, revokedAt] = [yield* draw.maybe(draw.time), yield* draw.maybe(draw.time)]
        const workspaceId = (yield* draw.maybe(draw.id)) as WorkspaceId | null
        const [tokenMark, mark] = [yield* draw.maybe(aMark), yield* draw.maybe(aMark)]
        const link = { workspaceId, codeExpiresAt, tokenMark, usedAt, revokedAt }
        return {
          facts: {
            l: {
              workspace_id: workspaceId,
              token_mark: tokenMark,
              code_expires_at: iso(codeExpiresAt),
              used_at: iso(usedAt),
              revoked_at: iso(revokedAt),
            },
            q: { now: iso(now), mark },
          },
          core: linkWorks(link, { now, tokenMark: mark }),
        }
      }),
    }),
  )

  it.effect("whether a workspace holds as many keys as it may", () =>
    compare("limits of keys", {
      rows: { q: "(workspace bigint, version integer, most integer)" },
      inserted: ["api_keys"],
      sql: "holds_all_keys(q.workspace, q.version, q.most)",
      draw: Effect.gen(function* () {
        const keys = yield* Effect.replicateEffect(
          Effect.all({
            id: draw.id,
            isOwn: draw.flag,
            version: draw.from([1, 2] as const),
            expiresAt: draw.maybe(draw.time),
            revokedAt: draw.maybe(draw.time),
          }),
          yield* draw.below(9),
        )
        const workspaceId = yield* draw.id
        const [version, most] = [yield* draw.from([1, 2] as const), 1 + (yield* draw.below(3))]
        return {
          facts: {
            q: { workspace: workspaceId, version, most },
            api_keys: keys.map((key) => ({
              id: key.id,
              workspace_id: key.isOwn ? workspaceId : -workspaceId,
              name: "",
              mode: "live",
              scopes: [],
              last4: "",
              hash: String(key.id),
              created_at: iso(noon),
              version: key.version,
              expires_at: iso(key.expiresAt),
              revoked_at: iso(key.revokedAt),
            })),
          },
          core: holdsAllKeys(
            keys.filter(({ isOwn }) => isOwn),
            version,
            most,
          ),
        }
      }),
    }),
  )

  it.effect("whether a request counts against the limits of its key", () =>
    compare("counted requests", {
      rows: { k: "api_keys", q: "(admits boolean, named bigint, now timestamptz)" },
      sql: `array[
        is_counted(q.admits, k, q.now, q.named), is_counted(q.admits, k, q.now, null)
      ]`,
      draw: Effect.gen(function* () {
        const key: Pick<ApiKey, "workspaceId" | "expiresAt" | "revokedAt"> = {
          workspaceId: (yield* draw.from([1, 2])) as WorkspaceId,
          expiresAt: yield* draw.maybe(draw.time),
          revokedAt: yield* draw.maybe(draw.time),
        }
        const admits = yield* draw.from([true, true, false])
        const named = (yield* draw.maybe(draw.from([1, 2]))) as WorkspaceId | null
        const now = yield* draw.time
        return {
          facts: {
            k: {
              workspace_id: key.workspaceId,
              expires_at: iso(key.expiresAt),
              revoked_at: iso(key.revokedAt),
            },
            q: { admits, named, now: iso(now) },
          },
          core: [isCounted(admits, key, named, now), isCounted(admits, key, null, now)],
        }
      }),
    }),
  )

  it.effect("whether a claim or a record of an idempotency key is void", () =>
    compare("void claims", {
      rows: { c: "idempotency_claims", r: "idempotency_records", q: "(now timestamptz)" },
      sql: "array[is_claim_void(c.claimed_at, q.now), is_record_void(r.created_at, q.now)]",
      draw: Effect.gen(function* () {
        const [claimedAt, createdAt] = [yield* draw.time, yield* draw.time]
        const now =
          (yield* draw.time) + (yield* draw.from([0, claimRetentionMillis, answerRetentionMillis]))
        return {
          facts: {
            c: { claimed_at: iso(claimedAt) },
            r: { created_at: iso(createdAt) },
            q: { now: iso(now) },
          },
          core: [isClaimVoid(claimedAt, now), isRecordVoid(createdAt, now)],
        }
      }),
    }),
  )

  it.effect("what a request finds that claims an idempotency key", () =>
    compare("claims", {
      rows: { q: "(key_id bigint, token text, now timestamptz)" },
      inserted: ["idempotency_claims", "idempotency_records"],
      sql: `claim_idempotency_key(
        q.key_id, 'key', 'fingerprint', q.token, q.now
      )`,
      draw: Effect.gen(function* () {
        const keyId = yield* draw.id
        const now = yield* draw.time
        const token = yield* draw.from(["this", "that"])
        const held = yield* draw.maybe(draw.from(["this", "that"]))
        const claimedAt = (yield* draw.time) - (yield* draw.from([0, claimRetentionMillis]))
        const idempotencyRecord = yield* draw.maybe(
          Effect.map(
            Effect.all([draw.time, draw.from(["15550001111", null])]),
            ([time, phone]): IdempotencyRecord => ({
              fingerprint: "first",
              madeIds: [keyId],
              createdAt: time - answerRetentionMillis,
              ...(phone === null ? {} : { shown: { phone, label: "Shop" } }),
            }),
          ),
        )
        const outcome = claimOutcome(
          { claim: held === null ? null : { token: held, claimedAt }, record: idempotencyRecord },
          token,
          now,
        )
        const row = { key_id: keyId, key: "key" }
        const claims = { ...row, fingerprint: "first", token: held, claimed_at: iso(claimedAt) }
        const records = {
          ...row,
          fingerprint: "first",
          made_ids: idempotencyRecord?.madeIds,
          created_at: iso(idempotencyRecord?.createdAt ?? null),
          shown: idempotencyRecord?.shown,
        }
        return {
          facts: {
            q: { key_id: keyId, token, now: iso(now) },
            idempotency_claims: held === null ? [] : [claims],
            idempotency_records: idempotencyRecord === null ? [] : [records],
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
        messages_remaining(w),
        coalesce(messages_remaining(w) >= q.count, true),
        is_limited(w)
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

  it.effect("how many requests of a minute count in the day", () =>
    compare("requests of a minute in the day", {
      rows: { q: "(in_minute integer, requests integer, most integer)" },
      sql: "counted_in_day(q.in_minute, q.requests, q.most)",
      draw: Effect.gen(function* () {
        const requests = 1 + (yield* draw.below(9))
        const inMinute = requests + (yield* draw.from([0, 50, 55, 60, 65]))
        return {
          facts: { q: { in_minute: inMinute, requests, most: requestsPerMinute } },
          core: countedInDay(inMinute, requests),
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
    sql: `json_build_array(${toMillisSql(counted.start)}, ${counted.count})`,
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
