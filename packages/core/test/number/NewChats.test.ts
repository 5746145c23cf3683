import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { drawNewChatsExtra, newChatsUntil, waitsForNewChats } from "../../src/model/NewChats.ts"
import { noon } from "../worker/claimedMessage.ts"

const minute = 60_000
const closed = (until: number | null) => ({ state: "new_chats_closed", until }) as const
const none = { state: "none", until: null } as const
const unknown = { state: "unknown", until: null } as const

describe("messages to new recipients", () => {
  it.effect("wait 1 to 5 minutes longer than the restriction, as drawn for it", () =>
    Effect.sync(() => {
      const draw = (hex: string) => drawNewChatsExtra({ hex: () => hex, alphanumeric: () => "" })
      assert.strictEqual(draw("000000000000"), minute)
      assert.strictEqual(draw((240_000).toString(16)), 5 * minute)
      const until = newChatsUntil(null, closed(noon), 2 * minute, noon - minute)
      assert.strictEqual(until, noon + 2 * minute)
      // Told again, whatever would be drawn now.
      assert.strictEqual(newChatsUntil(until, closed(noon), 4 * minute, noon), until)
      // Another restriction.
      const next = newChatsUntil(until, closed(noon + 10 * minute), 4 * minute, noon)
      assert.strictEqual(next, noon + 14 * minute)
    }),
  )

  it.effect("wait without end while the platform tells none", () =>
    Effect.sync(() => {
      const until = newChatsUntil(null, closed(null), minute, noon)
      assert.strictEqual(until, Infinity)
      assert.isTrue(waitsForNewChats(until, noon))
      assert.strictEqual(newChatsUntil(until, closed(null), minute, noon), Infinity)
    }),
  )

  it.effect("go on for as long as drawn once the platform lifts the restriction", () =>
    Effect.sync(() => {
      assert.isNull(newChatsUntil(null, none, minute, noon))
      const lifted = newChatsUntil(noon + 60 * minute, none, minute, noon)
      assert.strictEqual(lifted, noon + minute)
      assert.strictEqual(newChatsUntil(lifted, none, 5 * minute, noon + 1), lifted)
      assert.isFalse(waitsForNewChats(lifted, noon + minute))
    }),
  )

  it.effect("wait until a known end although the platform does not answer", () =>
    Effect.sync(() => {
      assert.strictEqual(newChatsUntil(noon, unknown, minute, noon - 1), noon)
      assert.strictEqual(newChatsUntil(Infinity, unknown, minute, noon), noon + minute)
      assert.isNull(newChatsUntil(null, unknown, minute, noon))
    }),
  )
})
