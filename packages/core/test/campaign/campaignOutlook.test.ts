/** What a campaign waits for, and when it will be done (campaigns: 2 and 8). */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { unpaced } from "../../src/model/Pacing.ts"
import { campaignForecast, campaignWaits } from "../../src/service/campaignOutlook.ts"
import { aPlan } from "../service/Service.ts"
import { day, now, second } from "../message/Accepting.ts"
import { aRow, aTake } from "./looking.ts"

const minute = 60 * second
const rows = [aRow(1), aRow(2)]

const forecast = (input: Parameters<typeof aTake>[0]) => {
  const { hours = { isOpen: true, changesAt: null } } = input
  const taking = aTake({ rows, ...input })
  return campaignForecast({
    ...taking,
    hoursAt: (instant) =>
      hours.changesAt === null || instant < hours.changesAt
        ? hours
        : { isOpen: true, changesAt: null },
  })
}

describe("the forecast", () => {
  it.effect("follows pacing, hours and 24 hours less the reserve", () =>
    Effect.sync(() => {
      const pacing = { ...unpaced, minIntervalMillis: 40 * second, jitterMillis: 40 * second }
      const paced = forecast({ pending: 10, numbers: [{ pacing }] })
      assert.deepInclude(paced, { rows: 10, startsAt: now, finishesAt: now + 9 * minute })
      const two = forecast({ pending: 10, numbers: [{ pacing }, { pacing }] })
      assert.strictEqual(two.finishesAt, now + 4 * minute)
      assert.deepStrictEqual(
        two.numbers.map((one) => one.rows),
        [5, 5],
      )
      const perMinute = forecast({
        pending: 10,
        numbers: [{ pacing: { ...unpaced, perMinute: 4 } }],
      })
      assert.strictEqual(perMinute.finishesAt, now + 2 * minute)
      const full = forecast({ pending: 1700 })
      assert.strictEqual(full.finishesAt, now + 2 * day)
      const closed = { isOpen: false, changesAt: now + 5 * minute }
      assert.strictEqual(forecast({ hours: closed }).startsAt, now + 5 * minute)
      const later = forecast({ campaign: { state: "draft", startedAt: null, sendAt: now + day } })
      assert.strictEqual(later.startsAt, now + day)
    }),
  )

  it.effect("shares rows as they are taken: to the number with most room", () =>
    Effect.sync(() => {
      const shares = (...planned: ReadonlyArray<number>) =>
        forecast({
          pending: 50,
          numbers: planned.map((count) => ({ quota: { planned: count, roomAt: null } })),
        }).numbers.map(({ rows: share }) => share)
      assert.deepStrictEqual(shares(0, 0), [25, 25])
      assert.deepStrictEqual(shares(0, 0, 0), [17, 17, 16])
      assert.deepStrictEqual(shares(30, 0), [10, 40])
      assert.deepStrictEqual(shares(0, 790, 100), [50, 0, 0])
      const slow = { ...unpaced, minIntervalMillis: minute }
      const mixed = forecast({ pending: 50, numbers: [{ pacing: slow }, {}] })
      assert.deepStrictEqual(
        mixed.numbers.map(({ rows: share }) => share),
        [1, 49],
      )
    }),
  )

  it.effect("knows no end where the allowance is short, or no number is usable", () =>
    Effect.sync(() => {
      const short = forecast({ pending: 10, plan: aPlan({ messagesRemaining: 4 }) })
      assert.deepStrictEqual(short.allowance, { remaining: 4, missing: 6 })
      assert.isNull(short.finishesAt)
      const none = forecast({ numbers: [{ isConnected: false }] })
      assert.deepInclude(none, { startsAt: null, finishesAt: null })
      assert.isFalse(none.numbers[0]?.usable)
    }),
  )
})

it.effect("what it waits for comes in the order of the contract", () =>
  Effect.sync(() => {
    const waits = (input: Parameters<typeof aTake>[0]) =>
      campaignWaits(aTake({ rows, ...input }))?.map(({ reason, until }) => [reason, until])
    const roomAt = now + 9
    assert.deepStrictEqual(
      waits({
        workspace: { accountDisabled: true, demo: true },
        plan: null,
        hours: { isOpen: false, changesAt: now + 5 },
        campaign: { state: "scheduled", sendAt: now + 3 },
        numbers: [
          { waiting: 12 },
          { quota: { planned: 800, roomAt } },
          { pausedUntil: Infinity },
          { pausedUntil: now + 7 },
          { isConnected: false },
        ],
      }),
      [
        ["disabled", null],
        ["demo", null],
        ["scheduled", now + 3],
        ["hours", now + 5],
        ["no_credits", null],
        ["not_connected", null],
        ["number_paused", now + 7],
        ["quota", roomAt],
        ["sending", null],
      ],
    )
    assert.deepStrictEqual(waits({}), [])
    assert.deepStrictEqual(waits({ rows: [], hasWaiting: true }), [])
    assert.isUndefined(waits({ campaign: { state: "paused" } }))
  }),
)
