/** The simulation itself: a seed is one history, and the service keeps its promises in each. */
import { bySize } from "@messaging-service/testkit"
import { assert, describe, it } from "vitest"
import type { Entry, History } from "../src/History.ts"
import { plantedFaults } from "../src/planted/faults.ts"
import { unplantable } from "../src/planted/PlantedFault.ts"
import { checked } from "../src/promises/checked.ts"
import { shrink } from "../src/shrink.ts"
import { simulate } from "../src/simulate.ts"

const count = bySize({ change: 4, all: 12, night: 12 })
const seeds = Array.from({ length: count }, (_, index) => `fast ${index}`)

describe("a seed", () => {
  it("keeps every promise", () => {
    for (const seed of seeds) assert.deepStrictEqual(simulate(seed).violations, [], seed)
  })

  it("is the same history each time, and differs from other seeds", () => {
    const digests = seeds.slice(0, 3).map((seed) => simulate(seed).digest)
    assert.deepStrictEqual(
      seeds.slice(0, 3).map((seed) => simulate(seed).digest),
      digests,
    )
    assert.strictEqual(new Set(digests).size, 3)
  })

  it("has no faults in calm, and nothing to shrink", () => {
    const undisturbed = simulate("calm", { isCalm: true })
    assert.deepStrictEqual(undisturbed.faults, [])
    assert.deepStrictEqual(undisturbed.violations, [])
    assert.isNull(shrink(simulate, "calm", { isCalm: true }))
  })
})

describe("shrinking", () => {
  it("omits everything irrelevant to the violation", () => {
    const whole = simulate("fast 1")
    const [, fault = ""] = whole.faults
    const culprit = whole.commands.findIndex((name) => name.startsWith("send"))
    /** A service that breaks where one fault meets one command. */
    const broken: typeof simulate = (seed, { commands, faults } = {}) => {
      const fired = whole.faults.filter((id) => faults?.has(id) !== false)
      const isMet = fired.includes(fault) && commands?.has(culprit) !== false
      const violations = isMet ? ["planted: it broke"] : []
      return { ...whole, seed, faults: fired, violations, trace: [`${fired.length} faults`] }
    }
    const small = shrink(broken, "fast 1")
    assert.deepStrictEqual(small?.faults, [fault])
    assert.deepStrictEqual(small?.commands, [whole.commands[culprit] ?? ""])
    assert.deepStrictEqual(small?.outcome.trace, ["1 faults"])
  })

  it("changes no other draw: with all its faults a seed is the same history", () => {
    const whole = simulate("fast 2")
    const again = simulate("fast 2", { faults: new Set(whole.faults) })
    assert.strictEqual(again.digest, whole.digest)
  })
})

describe("a failed number check", () => {
  const phones = ["+15550000002"]
  const lookUp = (at: number, index: number): ReadonlyArray<Entry> => [
    { at, _tag: "LooksUp", lookUp: index, number: 1, phones, process: "p0" },
  ]
  const unknown = (at: number, index: number): ReadonlyArray<Entry> => [
    ...lookUp(at, index),
    { at, _tag: "LookedUp", lookUp: index, outcome: "Unknown" },
  ]
  const still = (from: number, to: number): ReadonlyArray<Entry> => [
    { at: from, _tag: "Frozen", process: "p0" },
    { at: to, _tag: "Thawed", process: "p0" },
  ]
  const findViolations = (...entries: ReadonlyArray<ReadonlyArray<Entry>>) => {
    const results = phones.map((phone) => ({ phone, status: "failed" }))
    const checks = [{ id: 1, mode: "live", number: 1, status: "completed", results }]
    const history = { entries: entries.flat(), final: { checks }, setting: { hasTrueClocks: true } }
    return checked.check(history as unknown as History).filter((said) => said.includes("failed"))
  }

  it("had three tries without an answer, 5 and 30 seconds apart", () => {
    const first = unknown(0, 0)
    assert.isEmpty(findViolations(first, unknown(5000, 1), unknown(35_000, 2)))
    assert.isNotEmpty(findViolations(first, unknown(5000, 1)))
    assert.isNotEmpty(findViolations(first, unknown(5000, 1), unknown(34_999, 2)))
  })

  it("may have had a try that its process cut off by standing still until its time was over", () => {
    const others = [unknown(100_000, 1), unknown(130_000, 2)]
    assert.isEmpty(findViolations(lookUp(0, 0), still(100, 61_000), ...others))
    assert.isNotEmpty(findViolations(lookUp(0, 0), ...others))
    assert.isNotEmpty(findViolations(lookUp(0, 0), still(1000, 61_000), ...others))
    const dead: Entry = { at: 50_000, _tag: "Died", process: "p0" }
    assert.isNotEmpty(
      findViolations(lookUp(0, 0), still(100, 61_000).slice(0, 1), [dead], ...others),
    )
  })
})

describe("planted faults", () => {
  it("apply to the present sources, each under a unique name", () => {
    assert.isAtLeast(plantedFaults.length, 40)
    assert.strictEqual(new Set(plantedFaults.map(({ name }) => name)).size, plantedFaults.length)
    assert.deepStrictEqual(
      plantedFaults.map(unplantable).filter((reason) => reason !== null),
      [],
    )
  })
})
