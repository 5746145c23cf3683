import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { compareInstants, formatInstant, parseInstant } from "../src/model/Time.ts"
import type { Instant } from "../src/model/Time.ts"

const earliest = Date.parse("0000-01-01T00:00:00Z")
const latest = Date.parse("9999-12-31T23:59:59.999Z")
const dayMillis = 86_400_000

const accepted: ReadonlyArray<readonly [text: string, millis: number, beyond?: string]> = [
  ["1970-01-01T00:00Z", 0],
  ["1970-01-01T00:00:00Z", 0],
  ["1970-01-01T00:00:01.5Z", 1500],
  ["1970-01-01T00:00:00.001Z", 1],
  ["1970-01-01T00:00:00.0019Z", 1, "9"],
  ["1970-01-01T00:00:00.000000001Z", 0, "000001"],
  ["1970-01-01T00:00:00.100000Z", 100],
  ["1970-01-01T00:00:00.1230450Z", 123, "045"],
  ["1969-12-31T23:59:59.9995Z", -1, "5"],
  ["1970-01-01T02:00+02:00", 0],
  ["1969-12-31T18:30:00-05:30", 0],
  ["1970-01-01T02:00+0200", 0],
  ["1969-12-31T18:30:00.5-0530", 500],
  ["1970-01-01T00:00-0000", 0],
  ["1970-01-01T00:00-00:00", 0],
  ["1970-01-01T14:00+14:00", 0],
  ["1969-12-31T12:00-12:00", 0],
  ["2024-02-29T12:00Z", Date.UTC(2024, 1, 29, 12)],
  ["2000-02-29T12:00Z", Date.UTC(2000, 1, 29, 12)],
  ["2026-03-29T02:30:15+01:00", Date.UTC(2026, 2, 29, 1, 30, 15)],
  ["0000-01-01T00:00Z", earliest],
  ["0000-02-29T00:00Z", earliest + 59 * dayMillis],
  ["0099-12-31T00:00Z", Date.parse("0099-12-31T00:00Z")],
  ["9999-12-31T23:59:59.9999Z", latest, "9"],
]

const refused = [
  "",
  "2026",
  "2026-03-01",
  "2026-03-01T10:00+14:01",
  "2026-03-01T10:00-1201",
  "2026-03-01T10:00+15:00",
  "2026-03-01T10:00-13:00",
  "2026-03-01T10:00+13:60",
  "2026-03-01T10:00",
  "2026-03-01T10:00:00",
  "2026-03-01T10Z",
  "2026-03-01 10:00Z",
  "2026-03-01t10:00Z",
  "2026-03-01T10:00z",
  "2026-03-01T10:00:00,5Z",
  "2026-03-01T10:00:00.Z",
  "2026-03-01T10:00.5Z",
  "2026-3-01T10:00Z",
  "2026-03-1T10:00Z",
  "26-03-01T10:00Z",
  "12026-03-01T10:00Z",
  "+002026-03-01T10:00Z",
  "-2026-03-01T10:00Z",
  "20260301T1000Z",
  "2026-W09-7T10:00Z",
  "2026-060T10:00Z",
  "2026-03-01T10:00+01",
  "2026-03-01T10:00+010",
  "2026-03-01T10:00+01000",
  "2026-03-01T10:00+01-00",
  "2026-03-01T1000+0100",
  "2026-03-01T10:00+1:00",
  "2026-03-01T10:00+01:00:00",
  "2026-03-01T10:00\u221201:00",
  "2026-03-01T10:00 +01:00",
  "2026-03-01T10:00Z+01:00",
  "2026-03-01T10:00Z ",
  " 2026-03-01T10:00Z",
  "2026-03-01T10:00Z\n",
  "2026-03-01T10:00Z[Europe/London]",
  "2026-03-01T10:00 UTC",
  "٢٠٢٦-03-01T10:00Z",
]

const nonExistent = [
  "2026-00-01T10:00Z",
  "2026-13-01T10:00Z",
  "2026-01-00T10:00Z",
  "2026-01-32T10:00Z",
  "2026-02-29T10:00Z",
  "2024-02-30T10:00Z",
  "1900-02-29T10:00Z",
  "2100-02-29T10:00Z",
  "2026-04-31T10:00Z",
  "2026-06-31T10:00Z",
  "2026-09-31T10:00Z",
  "2026-11-31T10:00Z",
  "2026-03-01T24:00Z",
  "2026-03-01T24:00:00Z",
  "2026-03-01T10:60Z",
  "2026-03-01T10:00:60Z",
  "2016-12-31T23:59:60Z",
  "2026-03-01T10:00+24:00",
  "2026-03-01T10:00-01:60",
  "2026-03-01T10:00+2400",
  "2026-03-01T10:00-0160",
  "2026-03-01T10:00+99:99",
]

describe("a time in a request", () => {
  it.effect("is ISO 8601 with offset, to the last digit of the fraction", () =>
    Effect.sync(() => {
      for (const [text, millis, beyond = ""] of accepted) {
        assert.deepStrictEqual(parseInstant(text), { millis, beyond }, text)
      }
    }),
  )

  it.effect("has no other form", () =>
    Effect.sync(() => {
      for (const text of refused) assert.isUndefined(parseInstant(text), JSON.stringify(text))
    }),
  )

  it.effect("names a day and an hour that exist", () =>
    Effect.sync(() => {
      for (const text of nonExistent) assert.isUndefined(parseInstant(text), text)
    }),
  )

  it.effect("lies in a year of four digits in UTC too", () =>
    Effect.sync(() => {
      assert.isUndefined(parseInstant("0000-01-01T00:00+00:01"))
      assert.isUndefined(parseInstant("9999-12-31T23:59-00:01"))
      assert.strictEqual(parseInstant("0000-01-01T00:01+00:01")?.millis, earliest)
    }),
  )

  it.effect("may have a long fraction", () =>
    Effect.sync(() => {
      const zeros = "0".repeat(1 << 20)
      assert.deepStrictEqual(parseInstant(`1970-01-01T00:00:00.${zeros}Z`), {
        millis: 0,
        beyond: "",
      })
      const beyond = parseInstant(`1970-01-01T00:00:00.000${zeros}1Z`)?.beyond
      assert.strictEqual(beyond, `${zeros}1`)
    }),
  )
})

describe("a time in a response", () => {
  it.effect("is truncated to whole seconds, before 1970 too", () =>
    Effect.sync(() => {
      const texts: ReadonlyArray<readonly [millis: number, text: string]> = [
        [0, "1970-01-01T00:00:00Z"],
        [999, "1970-01-01T00:00:00Z"],
        [-1, "1969-12-31T23:59:59Z"],
        [Date.UTC(2026, 1, 3, 4, 5, 6), "2026-02-03T04:05:06Z"],
        [Date.UTC(2024, 1, 29, 23, 59, 59, 999), "2024-02-29T23:59:59Z"],
        [earliest, "0000-01-01T00:00:00Z"],
        [latest, "9999-12-31T23:59:59Z"],
      ]
      for (const [millis, text] of texts) assert.strictEqual(formatInstant(millis), text)
    }),
  )

  it.effect("is correct on every day of the calendar", () =>
    Effect.sync(() => {
      // The calendar repeats every 400 years (146,097 days). Twenty-five such eras in steps of 11
      // days cover each day.
      for (let millis = earliest; millis <= latest; millis += 11 * dayMillis) {
        const text = formatInstant(millis)
        if (text !== `${new Date(millis).toISOString().slice(0, 19)}Z`) {
          assert.fail(`${millis} is shown as ${text}`)
        }
        if (parseInstant(text)?.millis !== millis) assert.fail(`${text} is not read as ${millis}`)
      }
    }),
  )
})

const two = (value: number) => `${value}`.padStart(2, "0")
const between = (minimum: number, maximum: number) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Millis = between(earliest, latest)
const Fraction = Schema.Array(between(0, 9)).check(Schema.isMaxLength(12))
const Offset = Schema.Struct({
  sign: Schema.Literals(["+", "-"]),
  hour: between(0, 11),
  minute: between(0, 59),
})

/** All digits of an instant as one integer, in units of 10^-24 s. */
const exact = (instant: Instant): bigint =>
  BigInt(instant.millis) * 10n ** 21n + BigInt(instant.beyond.padEnd(21, "0"))

const instantAt = (millis: number, fraction: ReadonlyArray<number>): Instant => {
  const point = fraction.length === 0 ? "" : `.${fraction.join("")}`
  return parseInstant(formatInstant(millis).replace("Z", `${point}Z`))!
}

describe("two times", () => {
  it.effect("compare at full precision", () =>
    Effect.sync(() => {
      const inOrder = [
        "1969-12-31T23:59:59.9999999Z",
        "1970-01-01T00:00Z",
        "1970-01-01T00:00:00.00000000000000000001Z",
        "1970-01-01T00:00:00.0001Z",
        "1970-01-01T00:00:00.00010000001Z",
        "1970-01-01T00:00:00.0002Z",
        "1970-01-01T00:00:00.001Z",
        "1970-01-01T00:00:00.01Z",
      ].map((text) => parseInstant(text)!)
      for (const [i, a] of inOrder.entries()) {
        for (const [j, b] of inOrder.entries()) {
          assert.strictEqual(compareInstants(a, b), Math.sign(i - j))
        }
      }
    }),
  )

  it.effect("are equal in every zone and with any number of trailing zeros", () =>
    Effect.sync(() => {
      const same = [
        "2026-03-01T10:00Z",
        "2026-03-01T10:00:00.000000000Z",
        "2026-03-01T12:00+02:00",
        "2026-02-28T23:30-10:30",
      ].map((text) => parseInstant(text)!)
      for (const a of same) {
        for (const b of same) assert.strictEqual(compareInstants(a, b), 0)
      }
    }),
  )
})

describe("for any input", () => {
  it.effect.prop("Date.parse gives the same milliseconds", [Millis, Fraction, Offset], (input) =>
    Effect.sync(() => {
      const [millis, fraction, { sign, hour, minute }] = input
      const whole = formatInstant(millis).slice(0, -1)
      const offset = `${sign}${two(hour)}:${two(minute)}`
      const point = fraction.length === 0 ? "" : `.${fraction.join("")}`
      const expected = Date.parse(`${whole}${point.slice(0, 4)}${offset}`)
      const instant = parseInstant(`${whole}${point}${offset}`)
      const representable = expected >= earliest && expected <= latest
      assert.strictEqual(instant?.millis, representable ? expected : undefined)
      const digits = fraction.slice(3).join("")
      if (instant !== undefined)
        assert.strictEqual(instant.beyond.padEnd(digits.length, "0"), digits)
    }),
  )

  it.effect.prop("a formatted time parses back to its whole second", [Millis], ([millis]) =>
    Effect.sync(() => {
      const text = formatInstant(millis)
      assert.strictEqual(text, `${new Date(millis).toISOString().slice(0, 19)}Z`)
      const second = Math.floor(millis / 1000) * 1000
      assert.deepStrictEqual(parseInstant(text), { millis: second, beyond: "" })
    }),
  )

  it.effect.prop(
    "comparisons keep full precision",
    [Millis, between(-1, 1), Fraction, Fraction, Fraction],
    ([millis, step, shared, first, second]) =>
      Effect.sync(() => {
        const inRange = Math.min(Math.max(millis, earliest + 1000), latest - 1000)
        const a = instantAt(inRange, [...shared, ...first])
        const b = instantAt(inRange + step * 1000, [...shared, ...second])
        const expected = exact(a) < exact(b) ? -1 : exact(a) > exact(b) ? 1 : 0
        assert.strictEqual(compareInstants(a, b), expected)
        assert.strictEqual(compareInstants(b, a), expected === 0 ? 0 : -expected)
        assert.strictEqual(compareInstants(a, a), 0)
      }),
  )

  it.effect.prop("parsing never throws", [Schema.String, Schema.Natural], ([text, at]) =>
    Effect.sync(() => {
      assert.isUndefined(parseInstant(text))
      const valid = "2026-03-01T10:00:00.000Z"
      const start = at % valid.length
      const instant = parseInstant(valid.slice(0, start) + text + valid.slice(start + text.length))
      if (instant !== undefined) assert.isTrue(Number.isSafeInteger(instant.millis))
    }),
  )
})
