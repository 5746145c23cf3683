/** Which rows of a campaign are taken on, from which numbers (campaigns: 5). */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { nextCheckAt } from "../../src/index.ts"
import type { CampaignRow, RowNeeds } from "../../src/index.ts"
import { decideCheck, isExpiring, rowsLookedAt, takeRows } from "../../src/service/takeRows.ts"
import type { TakeFacts, Taking } from "../../src/service/takeRows.ts"
import { aPlan } from "../service/Service.ts"
import { day, now } from "../message/Accepting.ts"
import { aRow, aTake, rowTo } from "./looking.ts"
import type { Standing } from "./looking.ts"

const rows = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => aRow(from + index))

/** Rows by the number that takes them. */
const shares = ({ portions }: Taking) =>
  Object.fromEntries(
    portions.flatMap(({ acceptance, taken }) =>
      acceptance === null ? [] : [[acceptance.numberId, taken.map(({ row }) => row)]],
    ),
  )

const refusals = ({ portions }: Taking) =>
  portions.flatMap(({ refused }) => refused.map(({ code, field, of }) => [of, code, field]))

describe("a look that takes rows on", () => {
  it.effect("makes one acceptance of a number's rows, each with its own text and origin", () =>
    Effect.sync(() => {
      const { next, portions } = takeRows(aTake({ rows: rows(3) }))
      assert.lengthOf(portions, 1)
      const acceptance = portions[0]?.acceptance
      assert.strictEqual(acceptance?.allowance, 3)
      assert.deepStrictEqual(acceptance?.quota, {
        plannedAt: now,
        count: 3,
        limit: { messages: 800, windowMillis: day },
      })
      assert.deepStrictEqual<unknown>(
        acceptance?.messages.map(({ campaign, reference, text }) => [campaign, reference, text]),
        [1, 2, 3].map((row) => [{ id: 7, row }, "campaign-7", `Hello Row ${row}`]),
      )
      assert.deepStrictEqual(next, nextCheckAt(null))
    }),
  )

  it.effect("fills no queue beyond 20, and not again before fewer than 10 wait", () =>
    Effect.sync(() => {
      const getSuccess = (waiting: number) =>
        takeRows(aTake({ rows: rows(30), numbers: [{ waiting }] })).portions[0]?.taken.length ?? 0
      assert.deepStrictEqual([0, 4, 9, 10, 15, 20].map(getSuccess), [20, 16, 11, 0, 0, 0])
      const { next } = takeRows(aTake({ rows: rows(30) }))
      assert.deepStrictEqual<unknown>(next, { ...nextCheckAt(null), awaits: [1] })
    }),
  )

  it.effect("gives each row to the number with most room, the lowest id among equals", () =>
    Effect.sync(() => {
      const quota = (planned: number) => ({ planned, roomAt: now })
      const numbers = [{ quota: quota(101) }, { quota: quota(100) }, { quota: quota(100) }]
      assert.deepStrictEqual<unknown>(shares(takeRows(aTake({ rows: rows(5), numbers }))), {
        1: [3],
        2: [1, 4],
        3: [2, 5],
      })
    }),
  )

  it.effect("uses WhatsApp first, Telegram only where no WhatsApp number is usable", () =>
    Effect.sync(() => {
      const telegram: Standing = { platform: "telegram" }
      const due = [aRow(1), rowTo(2, { username: "@jane_doe" }, "telegram")]
      const of = (numbers: ReadonlyArray<Standing>) =>
        shares(takeRows(aTake({ rows: due, numbers })))
      assert.deepStrictEqual<unknown>(of([{}, telegram]), { 1: [1], 2: [2] })
      assert.deepStrictEqual<unknown>(of([{ waiting: 20 }, telegram]), { 2: [2] })
      assert.deepStrictEqual<unknown>(of([{ pausedUntil: now + 5 }, telegram]), { 2: [1, 2] })
      assert.deepStrictEqual<unknown>(of([{ isConnected: false }, telegram]), { 2: [1, 2] })
    }),
  )

  it.effect("takes no row whose text has become another", () =>
    Effect.sync(() => {
      const due = [aRow(1, { values: {} }), aRow(2)]
      const taking = takeRows(aTake({ rows: due }))
      assert.deepStrictEqual<unknown>(refusals(taking), [[1, "placeholder_empty", "values.name"]])
      assert.deepStrictEqual<unknown>(shares(taking), { 1: [2] })
      const blank = { text: "{gone|}" }
      assert.deepStrictEqual<unknown>(
        refusals(takeRows(aTake({ rows: [aRow(1)], campaign: blank }))),
        [[1, "text_required", "text"]],
      )
    }),
  )

  it.effect("refuses a row alone, with the code of a send", () =>
    Effect.sync(() => {
      const due = [
        rowTo(1, { contactId: 99 }),
        aRow(2),
        rowTo(3, { username: "@jane_doe" }, "telegram"),
        rowTo(4, { contactId: 61 }),
      ]
      const taking = takeRows(aTake({ rows: due }))
      assert.deepStrictEqual<unknown>(refusals(taking), [
        [1, "contact_not_found", "to.contactId"],
        [3, "username_needs_telegram", "to.username"],
      ])
      assert.deepStrictEqual<unknown>(shares(taking), { 1: [2, 4] })
      assert.deepStrictEqual<unknown>(taking.portions[0]?.taken[1], {
        row: 4,
        phone: "+15550000061",
      })
      const media = { mediaId: 5, attachmentId: null, url: null, type: null, fileName: null }
      const withFile = takeRows(aTake({ rows: rows(2), campaign: { media: media as never } }))
      assert.deepStrictEqual<unknown>(refusals(withFile), [
        [1, "media_not_found", "media.mediaId"],
        [2, "media_not_found", "media.mediaId"],
      ])
    }),
  )

  it.effect("leaves others their part of a number's 24 hours, whatever is known of the limit", () =>
    Effect.sync(() => {
      const full = { planned: 800, roomAt: now + 50 }
      const none = takeRows(aTake({ rows: rows(2), numbers: [{ quota: full, givenBack: 3 }] }))
      const awaitsRoom = [{ numberId: 1, givenBack: 3 }]
      assert.deepStrictEqual<unknown>(none, {
        portions: [],
        next: { ...nextCheckAt(now + 50), awaitsRoom },
      })
      const last = { planned: 799, roomAt: now }
      const one = takeRows(aTake({ rows: rows(2), numbers: [{ quota: last }] }))
      assert.deepStrictEqual<unknown>(shares(one), { 1: [1] })
      assert.deepStrictEqual(one.next, nextCheckAt(now))
    }),
  )

  it.effect("takes no more than the allowance, and refuses no row for it", () =>
    Effect.sync(() => {
      const plan = aPlan({ messagesRemaining: 2 })
      const taking = takeRows(aTake({ rows: rows(3), plan }))
      assert.deepStrictEqual<unknown>(shares(taking), { 1: [1, 2] })
      assert.deepStrictEqual(refusals(taking), [])
      const none = takeRows(aTake({ rows: rows(3), plan: null }))
      assert.deepStrictEqual(none.portions, [])
      assert.deepStrictEqual(none.next, {
        ...nextCheckAt(now + 600_000),
        awaitsAllowance: true,
      })
    }),
  )

  it.effect("in test mode uses any number, and nothing up", () =>
    Effect.sync(() => {
      const numbers = [{ isConnected: false }]
      const plan = aPlan({ messagesRemaining: 1 })
      const taking = takeRows(aTake({ rows: rows(3), campaign: { mode: "test" }, numbers, plan }))
      assert.strictEqual(taking.portions[0]?.acceptance?.allowance, 0)
      assert.isNull(taking.portions[0]?.acceptance?.quota)
      assert.lengthOf(taking.portions[0]?.taken ?? [], 3)
    }),
  )

  it.effect("looks again when a number can be used, or more rows may be due", () =>
    Effect.sync(() => {
      const next = (numbers: ReadonlyArray<Standing>, count = 5) =>
        takeRows(aTake({ rows: rows(count), pending: 500, numbers })).next
      assert.deepStrictEqual(next([{ pausedUntil: now + 9 }]), nextCheckAt(now + 9))
      assert.deepStrictEqual<unknown>(next([{ pausedUntil: now + 9 }, { waiting: 12 }]), {
        ...nextCheckAt(now + 9),
        awaits: [2],
      })
      // What changes it sets the time; a look much later finds what was missed.
      assert.deepStrictEqual(next([{ isConnected: false }]), nextCheckAt(now + 600_000))
      const many = Array.from({ length: 12 }, () => ({}))
      assert.strictEqual(next(many, rowsLookedAt).lookAt, now)
    }),
  )
})

/** A sequence of whole numbers below `bound` that is the same in each run. */
const drawing = (seed: number) => {
  let state = seed
  return (bound: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * bound)
  }
}

const randomTake = (seed: number): TakeFacts => {
  const draw = drawing(seed)
  const numbers = Array.from({ length: draw(6) }, (): Standing => {
    const planned = draw(3) === 0 ? 795 + draw(10) : draw(800)
    return {
      platform: draw(3) === 0 ? "telegram" : "whatsapp",
      isConnected: draw(4) > 0,
      pausedUntil: draw(5) === 0 ? now + 1 + draw(1000) : null,
      waiting: draw(21),
      quota: { planned, roomAt: planned >= 800 ? now + 1 + draw(1000) : now },
    }
  })
  const campaignRows = Array.from({ length: draw(70) }, (_, index): CampaignRow => {
    const kind = draw(8)
    if (kind === 0) return rowTo(index + 1, { username: "@jane_doe" }, "telegram")
    if (kind === 1) return rowTo(index + 1, { group: "Team" }, "whatsapp")
    return kind === 2 ? rowTo(index + 1, { contactId: 60 + draw(3) }) : aRow(index + 1)
  })
  const plan = aPlan({ messagesRemaining: draw(3) === 0 ? draw(30) : null })
  return aTake({ rows: campaignRows, numbers, plan })
}

describe("any look", () => {
  it.effect("takes each row once, within room and queue, on its platform, and never idles", () =>
    Effect.sync(() => {
      for (let seed = 1; seed <= 500; seed++) {
        const input = randomTake(seed)
        const { next, portions } = takeRows(input)
        const { numbers, rows: read } = input.check
        const received = portions.flatMap(({ refused, taken }) => [
          ...taken.map(({ row }) => row),
          ...refused.map(({ of }) => of),
        ])
        assert.lengthOf(new Set(received), received.length, `seed ${seed}`)
        const needs = new Map(read.map((row): [number, RowNeeds | null] => [row.row, row.needs]))
        let allowance = 0
        for (const { acceptance, taken } of portions) {
          if (acceptance === null) continue
          allowance += acceptance.allowance
          const number = numbers.find((one) => one.number.id === acceptance.numberId)
          const quota = input.facts.connected.find((one) => one.number.id === acceptance.numberId)
          assert.isNull(number?.pausedUntil)
          assert.isAtMost(taken.length + (number?.waiting ?? 0), 20)
          assert.isBelow(number?.waiting ?? 20, 10)
          assert.isAtMost(taken.length + (quota?.quota.exact?.planned ?? 800), 800)
          for (const { row } of taken) {
            const need = needs.get(row)
            if (need !== "either") assert.strictEqual(number?.number.platform, need)
          }
          assert.deepStrictEqual(
            taken.map(({ row }) => row),
            taken.map(({ row }) => row).toSorted((one, other) => one - other),
          )
        }
        assert.isAtMost(allowance, input.facts.plan?.messagesRemaining ?? Infinity)
        const left = read.length - received.length
        const isDueAgain = next.lookAt !== null || next.awaits.length > 0
        assert.strictEqual(isDueAgain, left > 0, `seed ${seed}`)
        if (portions.length === 0 && left > 0) assert.notStrictEqual(next.lookAt, now)
      }
    }),
  )
})

describe("a look without facts of rows", () => {
  const check = (input: TakeFacts) => {
    const decided = decideCheck(input.check, input.hours, now)
    if (decided === null) return "take"
    return "awaits" in decided
      ? decided.lookAt
      : `${decided.to.state} ${decided.to.stateReason ?? decided.messages ?? ""}`.trim()
  }

  it.effect("finds what moves the campaign, or when to look again", () =>
    Effect.sync(() => {
      const from = [1 as never]
      const closed = { isOpen: false, changesAt: now + 7 }
      const open = { isOpen: true, changesAt: now + 8 }
      const some = rows(1)
      assert.deepStrictEqual(
        [
          aTake({ rows: some }),
          aTake({ rows: [] }),
          aTake({ rows: [], hasWaiting: true, hours: open }),
          aTake({ rows: [], pending: 1, nextRowAt: now + 3, hours: open }),
          aTake({ rows: some, campaign: { from }, numbers: [] }),
          aTake({ rows: some, numbers: [] }),
          aTake({ rows: some, numbers: [{ restrictedSince: now }] }),
          aTake({ rows: some, numbers: [{ restrictedSince: now - 2 }] }),
          aTake({ rows: some, hours: closed }),
          aTake({ rows: some, hours: closed, campaign: { isHolding: true } }),
          aTake({ rows: some, hours: open, campaign: { isHolding: true } }),
          aTake({ rows: some, workspace: { accountDisabled: true } }),
          aTake({ rows: some, campaign: { state: "scheduled", sendAt: now + 5 } }),
          aTake({ rows: some, campaign: { state: "scheduled", sendAt: now } }),
          aTake({ rows: some, campaign: { state: "paused", expiresAt: now + 6 } }),
          aTake({ rows: some, campaign: { state: "stopped", expiresAt: now + 6 } }),
        ].map(check),
        [
          "take",
          "done",
          now + 8,
          now + 3,
          "paused no_numbers",
          "take",
          "paused number_restricted",
          "take",
          "running hold",
          now + 7,
          "running release",
          now + 600_000,
          now + 5,
          "running release",
          now + 6,
          null,
        ],
      )
    }),
  )

  it.effect("expires rows of what has begun and not ended, paused or not", () =>
    Effect.sync(() => {
      const expires = (state: "draft" | "paused" | "running" | "stopped", more: object) =>
        isExpiring(aTake({ rows: rows(1), campaign: { state, ...more } }).check, now)
      assert.isTrue(expires("running", { expiresAt: now }))
      assert.isTrue(expires("paused", { expiresAt: now }))
      assert.isFalse(expires("paused", { expiresAt: now + 1 }))
      assert.isFalse(expires("draft", { expiresAt: now }))
      assert.isFalse(expires("stopped", { expiresAt: now }))
      assert.isTrue(isExpiring(aTake({ rows: rows(1), nextExpiryAt: now }).check, now))
    }),
  )
})
