import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { formatInZone, momentInZone, parseTimeZone, zoneNames } from "../../src/model/Cron.ts"

const accepted: ReadonlyArray<readonly [text: string, name: string]> = [
  ["UTC", "UTC"],
  ["utc", "UTC"],
  ["Etc/UTC", "Etc/UTC"],
  ["Europe/Berlin", "Europe/Berlin"],
  ["europe/berlin", "Europe/Berlin"],
  ["EUROPE/BERLIN", "Europe/Berlin"],
  ["eUrOpE/bErLiN", "Europe/Berlin"],
  ["america/port-au-prince", "America/Port-au-Prince"],
  ["america/argentina/comodrivadavia", "America/Argentina/ComodRivadavia"],
  ["antarctica/dumontdurville", "Antarctica/DumontDUrville"],
  ["africa/dar_es_salaam", "Africa/Dar_es_Salaam"],
  ["Asia/Kolkata", "Asia/Kolkata"],
  ["america/coyhaique", "America/Coyhaique"],
]

/** Links, with the names that a runtime may show for them. */
const links: ReadonlyArray<readonly [link: string, zone: string]> = [
  ["Asia/Calcutta", "Asia/Kolkata"],
  ["Asia/Katmandu", "Asia/Kathmandu"],
  ["Asia/Saigon", "Asia/Ho_Chi_Minh"],
  ["Europe/Kiev", "Europe/Kyiv"],
  ["Europe/Belfast", "Europe/London"],
  ["US/Pacific", "America/Los_Angeles"],
  ["America/Buenos_Aires", "America/Argentina/Buenos_Aires"],
  ["GB", "Europe/London"],
  ["GB-Eire", "Europe/London"],
  ["Eire", "Europe/Dublin"],
  ["W-SU", "Europe/Moscow"],
  ["NZ-CHAT", "Pacific/Chatham"],
  ["PRC", "Asia/Shanghai"],
  ["Zulu", "UTC"],
  ["UCT", "UTC"],
  ["GMT", "UTC"],
  ["GMT0", "UTC"],
  ["GMT+0", "UTC"],
  ["GMT-0", "UTC"],
  ["Etc/Greenwich", "UTC"],
  ["Etc/GMT+5", "Etc/GMT+5"],
  ["Etc/GMT-14", "Etc/GMT-14"],
  ["EST", "America/Panama"],
  ["EST5EDT", "America/New_York"],
  ["MST", "America/Phoenix"],
  ["HST", "Pacific/Honolulu"],
  ["CET", "Europe/Brussels"],
  ["WET", "Europe/Lisbon"],
]

const refused = [
  "",
  " ",
  "PST",
  "PDT",
  "CST",
  "EDT",
  "IST",
  "JST",
  "BST",
  "AET",
  "CEST",
  "Z",
  "+02:00",
  "-05:00",
  "+0200",
  "+02",
  "UTC+2",
  "UTC+02:00",
  "GMT+2",
  "GMT+02:00",
  "Etc/GMT+13",
  "Etc/GMT-15",
  "Etc/GMT+05",
  "Etc/Unknown",
  "SystemV/PST8",
  "US/Pacific-New",
  "Factory",
  "localtime",
  "posixrules",
  "posix/UTC",
  "right/UTC",
  "Europe",
  "Europe/",
  "Berlin",
  "Europe/Nowhere",
  "Europe/Berlin ",
  " Europe/Berlin",
  "Europe/Berlin\n",
  "Europe\\Berlin",
  "Europe/ Berlin",
  "America/New York",
  "Asia/\u212Aolkata",
  "W. Europe Standard Time",
  "__proto__",
  "constructor",
]

describe("a time zone", () => {
  it.effect("is a tz database name, in any case, shown in the database's spelling", () =>
    Effect.sync(() => {
      for (const [text, name] of accepted) assert.strictEqual(parseTimeZone(text), name, text)
    }),
  )

  it.effect("keeps the link it was given as, and the clocks of its zone", () =>
    Effect.sync(() => {
      const january = Date.UTC(2026, 0, 15)
      const july = Date.UTC(2026, 6, 15)
      for (const [link, zone] of links) {
        const parsed = parseTimeZone(link.toLowerCase())
        assert.strictEqual(parsed, link)
        for (const millis of [january, july]) {
          assert.strictEqual(
            formatInZone(millis, parsed!),
            formatInZone(millis, parseTimeZone(zone)!),
            link,
          )
        }
      }
    }),
  )

  it.effect("is no abbreviation outside the database and no bare offset", () =>
    Effect.sync(() => {
      for (const text of refused) assert.isUndefined(parseTimeZone(text), JSON.stringify(text))
    }),
  )

  it.effect("accepts every name of the runtime's zones and of the table", () =>
    Effect.sync(() => {
      // A newer runtime may know a zone that the table lacks: run the script that makes the table.
      for (const name of Intl.supportedValuesOf("timeZone")) {
        assert.strictEqual(parseTimeZone(name), name)
      }
      for (const name of zoneNames) {
        assert.strictEqual(parseTimeZone(name), name)
        assert.strictEqual(parseTimeZone(name.toUpperCase()), name)
      }
      assert.strictEqual(new Set(zoneNames.map((name) => name.toLowerCase())).size, 597)
    }),
  )

  it.effect.prop("parsing never throws", [Schema.String], ([text]) =>
    Effect.sync(() => {
      const zone = parseTimeZone(text)
      if (zone !== undefined) assert.strictEqual(zone.toLowerCase(), text.toLowerCase())
    }),
  )
})

const shown: ReadonlyArray<readonly [instant: string, zone: string, text: string]> = [
  ["2026-01-15T12:00:00Z", "UTC", "2026-01-15T12:00:00+00:00"],
  ["2026-01-15T12:00:00Z", "Europe/London", "2026-01-15T12:00:00+00:00"],
  ["2026-07-15T12:00:00Z", "Europe/London", "2026-07-15T13:00:00+01:00"],
  ["2026-07-15T12:00:00Z", "Etc/GMT", "2026-07-15T12:00:00+00:00"],
  ["2026-07-15T12:00:00Z", "Etc/GMT+5", "2026-07-15T07:00:00-05:00"],
  ["2026-12-31T23:59:59.999Z", "Asia/Kolkata", "2027-01-01T05:29:59+05:30"],
  ["2026-01-01T00:00:00Z", "America/St_Johns", "2025-12-31T20:30:00-03:30"],
  ["2026-07-15T12:00:00Z", "Pacific/Marquesas", "2026-07-15T02:30:00-09:30"],
  ["2026-07-15T12:00:00Z", "Asia/Kathmandu", "2026-07-15T17:45:00+05:45"],
  ["2026-01-15T12:00:00Z", "Pacific/Kiritimati", "2026-01-16T02:00:00+14:00"],
  ["2026-01-15T12:00:00Z", "Etc/GMT+12", "2026-01-15T00:00:00-12:00"],
  ["2026-03-29T00:59:59Z", "Europe/Berlin", "2026-03-29T01:59:59+01:00"],
  ["2026-03-29T01:00:00Z", "Europe/Berlin", "2026-03-29T03:00:00+02:00"],
  ["2026-10-25T00:59:59Z", "Europe/Berlin", "2026-10-25T02:59:59+02:00"],
  ["2026-10-25T01:00:00Z", "Europe/Berlin", "2026-10-25T02:00:00+01:00"],
  ["2026-10-03T15:30:00Z", "Australia/Lord_Howe", "2026-10-04T02:30:00+11:00"],
  ["2011-12-30T09:59:59Z", "Pacific/Apia", "2011-12-29T23:59:59-10:00"],
  ["2011-12-30T10:00:00Z", "Pacific/Apia", "2011-12-31T00:00:00+14:00"],
  ["1970-01-01T00:00:00Z", "Africa/Monrovia", "1969-12-31T23:16:00-00:44"],
  ["1969-12-31T23:59:59.999Z", "UTC", "1969-12-31T23:59:59+00:00"],
  ["9999-12-31T12:00:00Z", "Europe/Berlin", "9999-12-31T13:00:00+01:00"],
]

describe("a time in a zone", () => {
  it.effect("follows the zone's clocks, with their offset; zero is +00:00", () =>
    Effect.sync(() => {
      for (const [instant, zone, text] of shown) {
        assert.strictEqual(formatInZone(Date.parse(instant), parseTimeZone(zone)!), text)
      }
    }),
  )

  const Millis = Schema.Int.check(
    Schema.isBetween({ minimum: Date.UTC(1972, 0, 8), maximum: Date.UTC(2100, 0, 1) }),
  )

  it.effect.prop(
    "is the moment itself, to the second",
    [Millis, Schema.Literals(zoneNames as [string, ...Array<string>])],
    ([millis, zone]) =>
      Effect.sync(() => {
        const text = formatInZone(millis, parseTimeZone(zone)!)
        assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
        assert.strictEqual(Date.parse(text), Math.floor(millis / 1000) * 1000)
      }),
  )
})

const meant: ReadonlyArray<readonly [time: string, zone: string, instant: string, why: string]> = [
  ["2026-07-15T12:00Z", "UTC", "2026-07-15T12:00:00Z", "no other clock"],
  ["2026-07-15T12:00Z", "Europe/Berlin", "2026-07-15T10:00:00Z", "ahead of UTC"],
  ["2026-01-15T00:30Z", "Asia/Kathmandu", "2026-01-14T18:45:00Z", "ahead by 5:45"],
  ["2026-01-15T23:30Z", "America/St_Johns", "2026-01-16T03:00:00Z", "behind by 3:30"],
  ["2026-01-15T00:00Z", "Pacific/Kiritimati", "2026-01-14T10:00:00Z", "the furthest ahead"],
  ["2026-01-15T23:59Z", "Etc/GMT+12", "2026-01-16T11:59:00Z", "the furthest behind"],
  ["2026-03-29T01:59Z", "Europe/Berlin", "2026-03-29T00:59:00Z", "before the gap"],
  ["2026-03-29T02:00Z", "Europe/Berlin", "2026-03-29T01:00:00Z", "skipped"],
  ["2026-03-29T02:30Z", "Europe/Berlin", "2026-03-29T01:00:00Z", "skipped"],
  ["2026-03-29T03:00Z", "Europe/Berlin", "2026-03-29T01:00:00Z", "the first after the gap"],
  ["2026-10-25T02:30Z", "Europe/Berlin", "2026-10-25T00:30:00Z", "twice: the first"],
  ["2026-10-25T03:00Z", "Europe/Berlin", "2026-10-25T02:00:00Z", "after the repeated hour"],
  ["2026-10-04T02:15Z", "Australia/Lord_Howe", "2026-10-03T15:30:00Z", "half an hour skipped"],
  ["2011-12-30T12:00Z", "Pacific/Apia", "2011-12-30T10:00:00Z", "a day skipped"],
]

describe("the moment at which a zone shows a time", () => {
  it.effect(
    'is the first one; "a time that a clock change skips means the first moment after it"',
    () =>
      Effect.sync(() => {
        for (const [time, zone, instant, why] of meant) {
          const moment = momentInZone(Date.parse(time), parseTimeZone(zone)!)
          assert.strictEqual(moment, Date.parse(instant), `${time} ${zone}: ${why}`)
        }
      }),
  )

  it.effect.prop(
    "shows that time, and is never after another moment that shows it",
    [
      Schema.Int.check(
        Schema.isBetween({
          minimum: Date.UTC(1972, 0, 8) / 1000,
          maximum: Date.UTC(2100, 0, 1) / 1000,
        }),
      ),
      Schema.Literals(zoneNames as [string, ...Array<string>]),
    ],
    ([seconds, name]) =>
      Effect.sync(() => {
        const zone = parseTimeZone(name)!
        const clock = (millis: number) => formatInZone(millis, zone).slice(0, 19)
        const shownThen = clock(seconds * 1000)
        const instant = momentInZone(Date.parse(`${shownThen}Z`), zone)
        assert.strictEqual(clock(instant), shownThen)
        assert.isAtMost(instant, seconds * 1000)
      }),
  )
})
