/**
 * A strict reader of Prometheus' text format, version 0.0.4. It refuses what the format only
 * tolerates: families without HELP, in two pieces, or with a series twice.
 */
import { assert } from "@effect/vitest"

export type Labels = Readonly<Record<string, string>>

export interface Sample {
  readonly name: string
  readonly labels: Labels
  readonly value: number
}

export interface Family {
  readonly help: string
  readonly type: string
  readonly samples: Array<Sample>
}

const helpLine = /^# HELP ([a-z_]+) (\S.*)$/
const typeLine = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/
const sampleLine = /^([a-z_]+)(?:\{(.+)\})? (-?\d+(?:\.\d+)?(?:e[+-]\d+)?)$/
/** A label and its separator; in a value only these three are escaped. */
const label = /^([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?=.)|$)/

const unescaped = (text: string): string =>
  text.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character))

const parseLabels = (text: string): Labels => {
  const labels: Record<string, string> = {}
  for (let rest = text; rest !== "";) {
    const [whole = "", name = "", value = ""] = label.exec(rest) ?? assert.fail(`labels: ${rest}`)
    assert.notProperty(labels, name)
    labels[name] = unescaped(value)
    rest = rest.slice(whole.length)
  }
  return labels
}

/** The names of a family's samples, by its type. */
const getNames = (name: string, type: string): ReadonlyArray<string> =>
  type === "histogram" ? ["_bucket", "_sum", "_count"].map((end) => name + end) : [name]

const toKey = ({ labels, name }: Sample): string =>
  JSON.stringify([name, Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))])

/** Buckets grow, and the last one holds everything. */
const assertHistogram = (name: string, samples: ReadonlyArray<Sample>): void => {
  const series = new Map<string, Array<Sample>>()
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels
    const key = JSON.stringify(labels)
    series.set(key, [...(series.get(key) ?? []), sample])
  }
  for (const of of series.values()) {
    const buckets = of.filter((sample) => sample.name === `${name}_bucket`)
    const bounds = buckets.map(({ labels }) => labels["le"] ?? "")
    assert.strictEqual(bounds.at(-1), "+Inf")
    const finite = bounds.slice(0, -1).map(Number)
    assert.deepStrictEqual(
      finite,
      finite.toSorted((a, b) => a - b),
    )
    const counts = buckets.map(({ value }) => value)
    assert.deepStrictEqual(
      counts,
      counts.toSorted((a, b) => a - b),
    )
    const count = of.find((sample) => sample.name === `${name}_count`)
    assert.strictEqual(counts.at(-1), count?.value)
  }
}

/** Every family by name; fails the test on invalid text. */
export const parseExposition = (text: string): ReadonlyMap<string, Family> => {
  assert.isTrue(text.endsWith("\n"))
  const families = new Map<string, Family>()
  let present: readonly [string, Family] | undefined
  let help: readonly [name: string, text: string] | undefined
  for (const line of text.slice(0, -1).split("\n")) {
    const [, helped, words = ""] = helpLine.exec(line) ?? []
    if (helped !== undefined) {
      assert.isUndefined(help)
      help = [helped, words]
      continue
    }
    const [, typed, type = ""] = typeLine.exec(line) ?? []
    if (typed !== undefined) {
      assert.strictEqual(help?.[0], typed)
      assert.isFalse(families.has(typed), typed)
      assert.strictEqual(type === "counter", typed.endsWith("_total"), typed)
      present = [typed, { type, help: help?.[1] ?? "", samples: [] }]
      families.set(...present)
      help = undefined
      continue
    }
    const [, name = "", labels = "", value = ""] =
      sampleLine.exec(line) ?? assert.fail(`line: ${line}`)
    const [family, { samples, type: kind }] = present ?? assert.fail(`no family: ${line}`)
    assert.include(getNames(family, kind), name)
    samples.push({ name, labels: parseLabels(labels), value: Number(value) })
  }
  assert.isUndefined(help)
  for (const [name, { samples, type }] of families) {
    assert.strictEqual(new Set(samples.map(toKey)).size, samples.length, name)
    if (type === "histogram") assertHistogram(name, samples)
    else assert.isAtLeast(Math.min(...samples.map(({ value }) => value)), 0, name)
  }
  return families
}
