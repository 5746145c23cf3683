/** How figures add up. */
import type { Vitest } from "@effect/vitest"
import {
  addedFigures,
  isProcessSilent,
  noFigures,
  processReportMillis,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { PgConnection } from "@effect/sql-pg"
import { compare, draw, iso } from "./compare.ts"

const codes = ["send_failed", "outcome_unknown", "media_unavailable"] as const

const someFigures = Effect.gen(function* () {
  const failures: Record<string, number> = {}
  for (const code of codes) if (yield* draw.flag) failures[code] = yield* draw.below(5)
  const waits = yield* Effect.replicateEffect(draw.below(5), yield* draw.from([0, 3]))
  return { ...noFigures, failures, waits }
})

export const figureRules = (it: Vitest.MethodsNonLive<PgConnection.PgConnection>) => {
  it.effect("whether a process is silent", () =>
    compare("silent processes", {
      rows: { p: "processes", q: "(now timestamptz)" },
      sql: "is_process_silent(p.seen_at, q.now)",
      draw: Effect.gen(function* () {
        const seenAt = yield* draw.time
        const reports = yield* draw.from([0, 2, 3])
        const now = seenAt + reports * processReportMillis + (yield* draw.from([0, 4999, 5000]))
        return {
          facts: { p: { seen_at: iso(seenAt) }, q: { now: iso(now) } },
          core: isProcessSilent(seenAt, now),
        }
      }),
    }),
  )

  it.effect("how the figures of an hour add up", () =>
    compare("figures", {
      cases: 300,
      rows: { q: "(a jsonb, b jsonb, c bigint[], d bigint[])" },
      sql: `json_build_object(
        'failures', added_counts(q.a, q.b), 'waits', added_elements(q.c, q.d)
      )`,
      draw: Effect.gen(function* () {
        const [one, other] = [yield* someFigures, yield* someFigures]
        const { failures, waits } = addedFigures(one, other)
        return {
          facts: { q: { a: one.failures, b: other.failures, c: one.waits, d: other.waits } },
          core: { failures, waits },
        }
      }),
    }),
  )
}
