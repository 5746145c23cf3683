/** Times as pages show them and as fields take them, in the zone that the viewer chose. */
import { assert, describe, it } from "vitest"
import { clockTime } from "../pages/ui/Time.tsx"
import { parseFieldTime, toFieldTime } from "../pages/ui/zone.ts"

const now = Date.parse("2026-11-30T23:30:00Z")

const show = (at: string, zone: string) => clockTime(Date.parse(at), now, zone)

describe("a time on a page", () => {
  it("is today's by the second, and has its day, and its year where that is another", () => {
    assert.strictEqual(show("2026-11-30T08:05:09Z", "UTC"), "08:05:09")
    assert.match(show("2026-11-29T08:05:09Z", "UTC"), /29.*, 08:05$/)
    assert.notInclude(show("2026-11-29T08:05:09Z", "UTC"), "2026")
    assert.include(show("2027-01-02T08:05:09Z", "UTC"), "2027")
    assert.include(show("2025-11-30T08:05:09Z", "UTC"), "2025")
  })

  it("has the days of its zone", () => {
    assert.match(show("2026-11-30T08:05:09Z", "Europe/Berlin"), /30.*, 09:05$/)
    assert.strictEqual(show("2026-12-01T08:05:09Z", "Europe/Berlin"), "09:05:09")
  })

  it("is in a field as that zone has it, and is read back the same", () => {
    assert.strictEqual(toFieldTime(now, "UTC"), "2026-11-30T23:30")
    for (const zone of ["UTC", "own"])
      assert.strictEqual(parseFieldTime(toFieldTime(now, zone), zone), "2026-11-30T23:30:00.000Z")
    assert.isNull(parseFieldTime("", "UTC"))
  })
})
