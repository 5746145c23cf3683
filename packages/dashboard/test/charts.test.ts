/** Axes of charts count whole things. */
import { assert, it } from "vitest"
import { roundUp } from "../pages/ui/charts.tsx"

it("the top of an axis and its half are whole, and not far above the greatest value", () => {
  for (const value of [0, 1, 4, 5, 7, 11, 13, 15, 29, 31, 70, 99, 101, 1400, 5000, 7001]) {
    const top = roundUp(value)
    assert.isAtLeast(top, value)
    assert.isTrue(Number.isInteger(top / 2), String(value))
    assert.isAtMost(top, Math.max(4, value * 1.9), String(value))
  }
})
