/** The consequences of a connection's end. */
import { assert, it } from "@effect/vitest"
import type { AfterClose, ClosedReason } from "@messaging-service/core"
import { Effect } from "effect"
import { afterClose, closedBy, maxBadSessions } from "../src/Connection.ts"

const again: AfterClose = { _tag: "Again", isRefused: true }
const ended = { pauseMillis: null, isRefused: true }
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
  Effect.sync(() => assert.deepStrictEqual(afterClose({ ...ended, code }, 0), after)),
)

it.effect(
  "a ban lasts as long as the remote server says, and otherwise until an operator acts",
  () =>
    Effect.sync(() => {
      assert.deepStrictEqual(afterClose({ ...ended, code: 402, pauseMillis: 90_000 }, 0), {
        _tag: "Pause",
        reason: "banned",
        millis: 90_000,
      })
      assert.deepStrictEqual(afterClose({ ...ended, code: 402 }, 0), stop("banned"))
    }),
)

it.effect("a bad session is retried, and given up after several in a row", () =>
  Effect.sync(() => {
    const closed = { ...ended, code: 500 }
    assert.deepStrictEqual(afterClose(closed, maxBadSessions - 1), again)
    assert.deepStrictEqual(afterClose(closed, maxBadSessions), stop("logged_out", true))
  }),
)

/** As the library reports it. */
const reported = (statusCode: number, data?: unknown) =>
  closedBy(Object.assign(new Error("ended"), { output: { statusCode }, data }))

it("an error that WhatsApp sent is a refusal, and one of the network is not", () => {
  const node = { tag: "stream:error", attrs: { code: "503" } }
  for (const [statusCode, data] of [
    [503, node],
    [500, { reason: "500" }],
  ] as const) {
    assert.deepInclude(reported(statusCode, data), { code: statusCode, isRefused: true })
  }
  // A broken socket, a silent handshake, a lost ping, and a connection that closed without a word.
  for (const [statusCode, data] of [
    [408, new Error("connect ECONNREFUSED")],
    [408, { stack: "at" }],
    [408, undefined],
    [428, undefined],
  ] as const) {
    assert.isFalse(reported(statusCode, data).isRefused)
  }
})
