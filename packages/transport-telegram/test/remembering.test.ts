/** What an account asks the vault for, and what it writes there. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { remembering } from "../src/remembering.ts"
import type { Remembering } from "../src/remembering.ts"
import { keysInMemory } from "../src/storage.ts"
import { until } from "./LiveWorld.ts"

/** A place that says what it was asked for. */
const aPlace = () => {
  const inner = keysInMemory([{ type: "peer", id: "7", value: "seven" }])
  const reads: Array<string> = []
  const writes: Array<string> = []
  const place = remembering(
    {
      ...inner,
      read: (type, id) => {
        reads.push(`${type} ${id}`)
        return inner.read(type, id)
      },
      write: (changes) => {
        writes.push(changes.map(({ id, value }) => `${id}=${value}`).join(" "))
        return inner.write(changes)
      },
    },
    10,
  )
  return { place, reads, writes }
}

const set = (place: Remembering, type: string, id: string, value: string | null) =>
  Effect.promise(() => place.write([{ type, id, value }]))

const get = (place: Remembering, type: string, id: string) =>
  Effect.promise(() => place.read(type, id))

describe("what an account keeps", () => {
  it.effect("is asked for once, and not at all after it was written", () =>
    Effect.gen(function* () {
      const { place, reads, writes } = aPlace()
      for (let time = 0; time < 3; time++) {
        assert.strictEqual(yield* get(place, "peer", "7"), "seven")
        assert.isNull(yield* get(place, "peer", "8"))
      }
      yield* set(place, "sent", "7", "one")
      assert.strictEqual(yield* get(place, "sent", "7"), "one")
      yield* set(place, "sent", "7", null)
      assert.isNull(yield* get(place, "sent", "7"))
      assert.deepStrictEqual(reads, ["peer 7", "peer 8"])
      assert.deepStrictEqual(writes, ["7=one", "7=null"])
      yield* Effect.promise(() => place.clear("peer"))
      assert.isNull(yield* get(place, "peer", "7"))
    }),
  )

  it.effect(
    "of how far its box was read is written at first at once, and then the latest of it",
    () =>
      Effect.gen(function* () {
        const { place, writes } = aPlace()
        for (const value of ["1", "2", "3"]) yield* set(place, "state", "updates_pts", value)
        yield* set(place, "state", "future_salts", "now")
        assert.deepStrictEqual(writes, ["updates_pts=1", "future_salts=now"])
        assert.strictEqual(yield* get(place, "state", "updates_pts"), "3")
        yield* until(() => writes.length > 2)
        assert.deepStrictEqual(writes.slice(2), ["updates_pts=3"])
      }),
  )

  it.effect("is not written any more once the account was let go", () =>
    Effect.gen(function* () {
      const { place, writes } = aPlace()
      const other = aPlace()
      for (const value of ["1", "2"]) yield* set(place, "state", "updates_pts", value)
      place.stop()
      // Begun later, and so due later.
      for (const value of ["1", "2"]) yield* set(other.place, "state", "updates_pts", value)
      yield* until(() => other.writes.length === 2)
      assert.deepStrictEqual(writes, ["updates_pts=1"])
    }),
  )
})
