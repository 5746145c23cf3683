/** The difference of two clocks, and its consequences. */
import { assert, describe, it } from "@effect/vitest"
import { clockSkew, clockVerdict } from "../../src/service/ClockSkew.ts"
import type { ClockReading } from "../../src/service/ClockSkew.ts"

/** A process `ahead` milliseconds ahead of the database; the database's answer takes `roundTrip`. */
const aReading = (ahead: number, roundTrip = 0): ClockReading => ({
  requestedAt: 1_000_000 + ahead,
  databaseAt: 1_000_000 + roundTrip / 2,
  answeredAt: 1_000_000 + roundTrip + ahead,
})

describe("the skew of the system clock", () => {
  it("is what the round trip cannot explain, positive when the process is ahead", () => {
    assert.strictEqual(clockSkew(aReading(0)), 0)
    assert.strictEqual(clockSkew(aReading(3000)), 3000)
    assert.strictEqual(clockSkew(aReading(-3000)), -3000)
    assert.strictEqual(clockSkew(aReading(3000, 1000)), 2500)
    assert.strictEqual(clockSkew(aReading(-3000, 1000)), -2500)
    assert.strictEqual(clockSkew(aReading(400, 1000)), 0)
    assert.strictEqual(clockSkew(aReading(-400, 1000)), 0)
  })

  it("causes a warning above 2 s, and a stop above 10 s, ahead or behind", () => {
    for (const sign of [1, -1]) {
      assert.strictEqual(clockVerdict(aReading(sign * 2000), "in_step"), "in_step")
      assert.strictEqual(clockVerdict(aReading(sign * 2001), "in_step"), "warn")
      assert.strictEqual(clockVerdict(aReading(sign * 10_000), "in_step"), "warn")
      assert.strictEqual(clockVerdict(aReading(sign * 10_001), "in_step"), "stop")
      assert.strictEqual(clockVerdict(aReading(sign * 10_000), "stop"), "warn")
      assert.strictEqual(clockVerdict(aReading(sign * 100), "stop"), "in_step")
    }
  })

  it("neither starts nor ends a stop by a slow answer alone", () => {
    const slow = aReading(12_000, 24_000)
    assert.strictEqual(clockVerdict(slow, "in_step"), "in_step")
    assert.strictEqual(clockVerdict(slow, "stop"), "stop")
    assert.strictEqual(clockVerdict(aReading(0, 9000), "stop"), "in_step")
  })
})
