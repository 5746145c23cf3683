/** The rules of messages. */
import type { Vitest } from "@effect/vitest"
import {
  countsInQuota,
  hasExpired,
  modesSeenBy,
  statusAt,
  transitions,
} from "@messaging-service/core"
import type { MessageState } from "@messaging-service/core"
import { Effect } from "effect"
import type { Database } from "../../src/database/Database.ts"
import { isQueued, isScheduled } from "../../src/message/listMessages.ts"
import { counting } from "../../src/message/quota.ts"
import { hasExpired as expiredSql, notExpired } from "../../src/queue/lane.ts"
import { compare, draw, iso } from "./compare.ts"

const states = Object.keys(transitions) as ReadonlyArray<MessageState>

export const messageRules = (it: Vitest.MethodsNonLive<Database>) => {
  it.effect("which messages count in the quota", () =>
    compare("counts", {
      rows: { m: "messages" },
      sql: counting("m"),
      draw: Effect.gen(function* () {
        const mode = yield* draw.from(modesSeenBy("test"))
        const state = yield* draw.from(states)
        const refused = yield* draw.flag
        return {
          facts: { m: { mode, state, refused } },
          core: countsInQuota({ mode, state }, refused),
        }
      }),
    }),
  )

  it.effect("whether a message has expired", () =>
    compare("expired", {
      rows: { m: "messages", q: "(now timestamptz)" },
      sql: `array[coalesce(${expiredSql("m", "q.now")}, false), not ${notExpired("m", "q.now")}]`,
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
      sql: `case when ${isQueued("m", "q.now")} then 'queued'
        when ${isScheduled("m", "q.now")} then 'scheduled' end`,
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
}
