/** The rules of keys and of what is asked with them. */
import type { Vitest } from "@effect/vitest"
import { countRequest, dayMillis, keyRefusal, minuteMillis } from "@messaging-service/core"
import type { RequestWindow } from "@messaging-service/core"
import { noon } from "@messaging-service/testkit"
import { Effect } from "effect"
import type { Database } from "../../src/database/Database.ts"
import { isUsable } from "../../src/key/keyRow.ts"
import { countedWindow } from "../../src/key/requestWindow.ts"
import { compare, draw, iso, moment } from "./compare.ts"

export const keyRules = (it: Vitest.MethodsNonLive<Database>) => {
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
