/** The clock of a server (`CLOCK`; contract: Configuration). */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { aServer } from "./aServer.ts"

const day = 86_400

/** That many seconds after a moment as answers write it. */
const after = (moment: string, seconds: number) =>
  new Date(Date.parse(moment) + seconds * 1000).toISOString()

describe("an adjustable clock", () => {
  it.effect("moves on from due moment to due moment, and what falls due is worked off", () =>
    Effect.gen(function* () {
      const { caller, operator } = yield* aServer({ CLOCK: "adjustable" })
      const now = yield* operator.now
      const soon = (yield* caller.send("soon", { send_at: after(now, day) })).body
      const late = (yield* caller.send("late", { send_at: after(now, 3 * day) })).body
      assert.deepStrictEqual([soon.status, late.status], ["scheduled", "scheduled"])

      const moved = yield* operator.advance(2 * day)
      assert.isAtLeast(Date.parse(moved.body.now), Date.parse(after(now, 2 * day)))
      assert.strictEqual((yield* caller.read(soon.id)).body.status, "sent")
      assert.strictEqual((yield* caller.read(late.id)).body.status, "scheduled")
      yield* operator.advance(2 * day)
      assert.deepStrictEqual(yield* operator.sent, ["late", "soon"])
    }),
  )
})

describe("the system's clock", () => {
  it.effect("cannot be moved", () =>
    Effect.gen(function* () {
      const { operator } = yield* aServer()
      const { body, status } = yield* operator.ask<{ readonly error: { readonly code: string } }>(
        "POST",
        "/simulator/clock/advance",
        { seconds: 1 },
      )
      assert.deepStrictEqual([status, body.error.code], [409, "clock_not_adjustable"])
    }),
  )
})
