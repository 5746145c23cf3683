/**
 * The whole service in many seeds. Only this finds faults that need
 * several processes to die, stall or have wrong clocks while commits meet: with fewer seeds most
 * planted faults of leases, guards of commits and wake-ups stay unseen. A failure shows the seed,
 * the promise, and a shrunk trace.
 */
import { bySize } from "@messaging-service/testkit"
import { assert, describe, it } from "vitest"
import { explain, shrink } from "../src/shrink.ts"
import { simulate } from "../src/simulate.ts"

const seeds = bySize({ change: 30, all: 150, night: 1500 })
const seedsOfPart = Math.min(seeds, 25)
const parts = Array.from(
  { length: Math.ceil(seeds / seedsOfPart) },
  (_, part) => 1 + part * seedsOfPart,
)

const toFailure = (seed: string): string => {
  const { violations } = simulate(seed)
  if (violations.length === 0) return ""
  const small = shrink(simulate, seed)
  return [seed, ...violations.slice(0, 5), ...(small === null ? [] : explain(small))].join("\n")
}

describe("every promise is kept in the seeds", () => {
  it.each(parts)("from s%i on", (first) => {
    for (let seed = first; seed < first + seedsOfPart && seed <= seeds; seed++) {
      assert.strictEqual(toFailure(`s${seed}`), "")
    }
  })
})
