/** Runs of schedules around known clock changes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { schedule, runs } from "./ScheduledRuns.ts"

interface Rule {
  readonly rule: string
  readonly cron: string
  readonly zone: string
  readonly from: string
  readonly to: string
  readonly runs: ReadonlyArray<string>
}

const berlinSpring = { zone: "Europe/Berlin", from: "2026-03-28T12:00Z", to: "2026-03-30T12:00Z" }
const berlinAutumn = { zone: "Europe/Berlin", from: "2026-10-24T12:00Z", to: "2026-10-26T12:00Z" }
const lordHoweSpring = {
  zone: "Australia/Lord_Howe",
  from: "2026-10-03T14:00Z",
  to: "2026-10-03T17:00Z",
}
const lordHoweAutumn = {
  zone: "Australia/Lord_Howe",
  from: "2026-04-04T13:30Z",
  to: "2026-04-04T16:30Z",
}
const apia = { zone: "Pacific/Apia", from: "2011-12-29T06:00Z", to: "2011-12-31T12:00Z" }
const kwajalein = { zone: "Pacific/Kwajalein", from: "1993-08-20T00:00Z", to: "1993-08-23T00:00Z" }
const saoPauloSpring = {
  zone: "America/Sao_Paulo",
  from: "2018-11-03T12:00Z",
  to: "2018-11-05T12:00Z",
}
const saoPauloAutumn = {
  zone: "America/Sao_Paulo",
  from: "2018-02-17T03:00Z",
  to: "2018-02-18T12:00Z",
}

const rules: ReadonlyArray<Rule> = [
  {
    rule: "a skipped fixed time runs at the first instant after the gap",
    cron: "30 2 * * *",
    ...berlinSpring,
    runs: ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"],
  },
  {
    rule: "skipped fixed times run once together",
    cron: "*/15 2 * * 7",
    ...berlinSpring,
    runs: ["2026-03-29T03:00:00+02:00"],
  },
  {
    rule: "a skipped time and the time of the first instant after the gap run once together",
    cron: "0,30 1-3 29 3 *",
    ...berlinSpring,
    runs: [
      "2026-03-29T01:00:00+01:00",
      "2026-03-29T01:30:00+01:00",
      "2026-03-29T03:00:00+02:00",
      "2026-03-29T03:30:00+02:00",
    ],
  },
  {
    rule: "the minutes right before and after the gap are not skipped",
    cron: "59,0 1,3 29 * *",
    ...berlinSpring,
    runs: [
      "2026-03-29T01:00:00+01:00",
      "2026-03-29T01:59:00+01:00",
      "2026-03-29T03:00:00+02:00",
      "2026-03-29T03:59:00+02:00",
    ],
  },
  {
    rule: "an hourly pattern follows real time: a minute inside a gap does not occur",
    cron: "30 * 29 * *",
    zone: "Europe/Berlin",
    from: "2026-03-28T23:00Z",
    to: "2026-03-29T02:30Z",
    runs: [
      "2026-03-29T00:30:00+01:00",
      "2026-03-29T01:30:00+01:00",
      "2026-03-29T03:30:00+02:00",
      "2026-03-29T04:30:00+02:00",
    ],
  },
  {
    rule: "a more frequent pattern follows real time through a gap",
    cron: "*/30 * * * *",
    zone: "Europe/Berlin",
    from: "2026-03-29T00:00Z",
    to: "2026-03-29T01:30Z",
    runs: ["2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"],
  },
  {
    rule: "every second hour is less frequent than hourly: a skipped one runs after the gap",
    cron: "0 */2 29 * *",
    zone: "Europe/Berlin",
    from: "2026-03-28T22:00Z",
    to: "2026-03-29T04:00Z",
    runs: [
      "2026-03-29T00:00:00+01:00",
      "2026-03-29T03:00:00+02:00",
      "2026-03-29T04:00:00+02:00",
      "2026-03-29T06:00:00+02:00",
    ],
  },
  {
    rule: "a fixed time that occurs twice runs once, the first time",
    cron: "30 2 * * *",
    ...berlinAutumn,
    runs: ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
  },
  {
    rule: "several fixed times that occur twice run once each",
    cron: "0,20,59 1-3 25 * *",
    ...berlinAutumn,
    runs: [
      "2026-10-25T01:00:00+02:00",
      "2026-10-25T01:20:00+02:00",
      "2026-10-25T01:59:00+02:00",
      "2026-10-25T02:00:00+02:00",
      "2026-10-25T02:20:00+02:00",
      "2026-10-25T02:59:00+02:00",
      "2026-10-25T03:00:00+01:00",
      "2026-10-25T03:20:00+01:00",
      "2026-10-25T03:59:00+01:00",
    ],
  },
  {
    rule: "a fixed time does not repeat, asked from within the repeated hour",
    cron: "30 2 * * *",
    zone: "Europe/Berlin",
    from: "2026-10-25T01:10Z",
    to: "2026-10-26T12:00Z",
    runs: ["2026-10-26T02:30:00+01:00"],
  },
  {
    rule: "an hourly pattern follows real time: both times",
    cron: "30 * * * *",
    zone: "Europe/Berlin",
    from: "2026-10-24T23:00Z",
    to: "2026-10-25T03:00Z",
    runs: [
      "2026-10-25T01:30:00+02:00",
      "2026-10-25T02:30:00+02:00",
      "2026-10-25T02:30:00+01:00",
      "2026-10-25T03:30:00+01:00",
    ],
  },
  {
    rule: "every second hour runs once where it occurs twice",
    cron: "0 */2 25 * *",
    zone: "Europe/Berlin",
    from: "2026-10-24T22:00Z",
    to: "2026-10-25T04:00Z",
    runs: ["2026-10-25T02:00:00+02:00", "2026-10-25T04:00:00+01:00"],
  },
  {
    rule: "a gap of half an hour: a fixed time",
    cron: "15 2 * * *",
    ...lordHoweSpring,
    runs: ["2026-10-04T02:30:00+11:00"],
  },
  {
    rule: "a gap of half an hour: an hourly pattern inside it",
    cron: "0 * * * *",
    ...lordHoweSpring,
    runs: ["2026-10-04T01:00:00+10:30", "2026-10-04T03:00:00+11:00", "2026-10-04T04:00:00+11:00"],
  },
  {
    rule: "a gap of half an hour: an hourly pattern around it",
    cron: "45 * * * *",
    ...lordHoweSpring,
    runs: [
      "2026-10-04T00:45:00+10:30",
      "2026-10-04T01:45:00+10:30",
      "2026-10-04T02:45:00+11:00",
      "2026-10-04T03:45:00+11:00",
    ],
  },
  {
    rule: "half an hour that occurs twice: a fixed time",
    cron: "45 1 * * *",
    ...lordHoweAutumn,
    runs: ["2026-04-05T01:45:00+11:00"],
  },
  {
    rule: "half an hour that occurs twice: an hourly pattern",
    cron: "45 * * * *",
    ...lordHoweAutumn,
    runs: [
      "2026-04-05T00:45:00+11:00",
      "2026-04-05T01:45:00+11:00",
      "2026-04-05T01:45:00+10:30",
      "2026-04-05T02:45:00+10:30",
    ],
  },
  {
    rule: "a gap of two hours: all that was skipped runs once together",
    cron: "10,50 1-2 * * *",
    zone: "Antarctica/Troll",
    from: "2026-03-28T12:00Z",
    to: "2026-03-29T12:00Z",
    runs: ["2026-03-29T03:00:00+02:00"],
  },
  {
    rule: "a skipped day is a gap: its fixed times run once together, when the next day begins",
    cron: "0 9,18 * * *",
    ...apia,
    runs: [
      "2011-12-29T09:00:00-10:00",
      "2011-12-29T18:00:00-10:00",
      "2011-12-31T00:00:00+14:00",
      "2011-12-31T09:00:00+14:00",
      "2011-12-31T18:00:00+14:00",
    ],
  },
  {
    rule: "a skipped day's date runs when the next day begins",
    cron: "0 9 30 12 *",
    ...apia,
    runs: ["2011-12-31T00:00:00+14:00"],
  },
  {
    rule: "hours of a skipped day do not occur",
    cron: "0 * 30 12 *",
    ...apia,
    runs: [],
  },
  {
    rule: "the day that Kwajalein skipped",
    cron: "30 6 * * *",
    ...kwajalein,
    runs: [
      "1993-08-20T06:30:00-12:00",
      "1993-08-22T00:00:00+12:00",
      "1993-08-22T06:30:00+12:00",
      "1993-08-23T06:30:00+12:00",
    ],
  },
  {
    rule: "a midnight that is skipped",
    cron: "0 0 * * *",
    ...saoPauloSpring,
    runs: ["2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"],
  },
  {
    rule: "an hour before midnight that occurs twice",
    cron: "30 23 * * *",
    ...saoPauloAutumn,
    runs: ["2018-02-17T23:30:00-02:00"],
  },
  {
    rule: "the midnight after an hour that occurs twice",
    cron: "0 0 * * *",
    ...saoPauloAutumn,
    runs: ["2018-02-18T00:00:00-03:00"],
  },
  {
    rule: "an hourly pattern on a day whose last hour occurs twice, which is also its last",
    cron: "15 * 17 * *",
    zone: "America/Sao_Paulo",
    from: "2018-02-18T00:00Z",
    to: "2018-02-19T00:00Z",
    runs: ["2018-02-17T22:15:00-02:00", "2018-02-17T23:15:00-02:00", "2018-02-17T23:15:00-03:00"],
  },
  {
    rule: "a midnight that Beirut skips",
    cron: "15 0 29 3 *",
    zone: "Asia/Beirut",
    from: "2026-03-27T00:00Z",
    to: "2026-03-30T00:00Z",
    runs: ["2026-03-29T01:00:00+03:00"],
  },
  {
    rule: "Dublin's winter time counts as one, although the database calls it shifted",
    cron: "30 1 * * *",
    zone: "Europe/Dublin",
    from: "2026-10-24T12:00Z",
    to: "2026-10-26T12:00Z",
    runs: ["2026-10-25T01:30:00+01:00", "2026-10-26T01:30:00+00:00"],
  },
  {
    rule: "Dublin's gap",
    cron: "30 1 * * *",
    zone: "Europe/Dublin",
    from: "2026-03-28T12:00Z",
    to: "2026-03-30T12:00Z",
    runs: ["2026-03-29T02:00:00+01:00", "2026-03-30T01:30:00+01:00"],
  },
  {
    rule: "Casablanca puts its clocks back for Ramadan and on again",
    cron: "30 2 * * sun",
    zone: "Africa/Casablanca",
    from: "2026-02-14T00:00Z",
    to: "2026-03-30T00:00Z",
    runs: [
      "2026-02-15T02:30:00+01:00",
      "2026-02-22T02:30:00+00:00",
      "2026-03-01T02:30:00+00:00",
      "2026-03-08T02:30:00+00:00",
      "2026-03-15T02:30:00+00:00",
      "2026-03-22T03:00:00+01:00",
      "2026-03-29T02:30:00+01:00",
    ],
  },
  {
    rule: "a link runs by the clocks of its zone",
    cron: "0 9 * * mon",
    zone: "US/Pacific",
    from: "2026-03-06T00:00Z",
    to: "2026-03-17T00:00Z",
    runs: ["2026-03-09T09:00:00-07:00", "2026-03-16T09:00:00-07:00"],
  },
]

describe("clocks that change", () => {
  for (const { cron, from, rule, runs: expected, to, zone } of rules) {
    it.effect(`${rule}: ${cron} in ${zone}`, () =>
      Effect.sync(() => {
        assert.deepStrictEqual(runs(schedule(cron, zone), from, to), expected)
      }),
    )
  }
})
