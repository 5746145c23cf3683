/** The consequences of a connection's end. */
import { assert, it } from "@effect/vitest"
import type { AfterClose, ClosedReason } from "@messaging-service/core"
import { Effect } from "effect"
import { afterClose, mostBadSessions } from "../src/Connection.ts"

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
  "a ban lasts as long as the remote server says, and otherwise until an operator acts",
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

it.effect("a bad session is retried, and given up after several in a row", () =>
  Effect.sync(() => {
    const closed = { code: 500, pauseMillis: null }
    assert.deepStrictEqual(afterClose(closed, mostBadSessions - 1), again)
    assert.deepStrictEqual(afterClose(closed, mostBadSessions), stop("logged_out", true))
  }),
)
