/** What the end of a connection means, and how long the next one waits. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { afterClose, mostBadSessions, pauseMillis } from "../src/closing.ts"
import type { AfterClose, ClosedReason } from "../src/closing.ts"

const again: AfterClose = { _tag: "Again" }
const stop = (reason: ClosedReason, wipe = false): AfterClose => ({ _tag: "Stop", reason, wipe })

it.effect.each([
  [515, { _tag: "Restart" }],
  [401, stop("logged_out", true)],
  [403, stop("restricted")],
  [405, stop("client_outdated")],
  [406, stop("banned")],
  [440, stop("replaced")],
  [408, again],
  [428, again],
  [503, again],
  [429, again],
] as const)("a connection that ends with %i", ([code, after]) =>
  Effect.sync(() => assert.deepStrictEqual(afterClose({ code, pauseMillis: null }, 0), after)),
)

it.effect(
  "a ban lasts as long as the far side says, and without a word until an operator acts",
  () =>
    Effect.sync(() => {
      assert.deepStrictEqual(afterClose({ code: 402, pauseMillis: 90_000 }, 0), {
        _tag: "Pause",
        reason: "banned",
        millis: 90_000,
      })
      assert.deepStrictEqual(afterClose({ code: 402, pauseMillis: null }, 0), stop("banned"))
    }),
)

it.effect("a bad session is tried again, and given up after several in a row", () =>
  Effect.sync(() => {
    const closed = { code: 500, pauseMillis: null }
    assert.deepStrictEqual(afterClose(closed, mostBadSessions - 1), again)
    assert.deepStrictEqual(afterClose(closed, mostBadSessions), stop("logged_out", true))
  }),
)

it.effect("pauses double up to the longest, and are drawn from their upper half", () =>
  Effect.sync(() => {
    const limits = { first: 1000, longest: 300_000 }
    for (const [failures, whole] of [1000, 2000, 4000, 8000].entries()) {
      assert.strictEqual(pauseMillis(failures, 0, limits), whole / 2)
      assert.isAtMost(pauseMillis(failures, 0.999, limits), whole)
    }
    for (const failures of [9, 50, 5000]) {
      assert.strictEqual(pauseMillis(failures, 0, limits), 150_000)
      assert.isAtMost(pauseMillis(failures, 0.999, limits), 300_000)
    }
  }),
)
