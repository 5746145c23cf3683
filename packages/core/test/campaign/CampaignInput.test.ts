/** What a campaign is made of, and what may change in which state (campaigns: 1, 2). */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { Campaign, CampaignState } from "../../src/model/Campaign.ts"
import {
  campaignParser,
  decideUpdate,
  parseListCampaignRows,
  parseListCampaigns,
  parseResume,
  parseRows,
  refuseTimes,
} from "../../src/model/CampaignInput.ts"
import type { Refusal } from "../../src/model/Refusal.ts"
import { campaignSettings as settings } from "@messaging-service/testkit"
import { aCampaign } from "./aCampaign.ts"

const now = Date.parse("2030-01-01T00:00:00Z")
const later = "2030-01-01T01:00:00Z"
const latest = "2030-01-01T02:00:00Z"

const parse = campaignParser({ allowPrivate: false })
const create = (fields: object) =>
  Result.flatMap(
    parse.creation({ name: "Spring", text: "Hello {name}", ...fields }),
    ({ settings: campaignSettings, times }) =>
      Result.map(refuseTimes(times, now), () => campaignSettings),
  )

const getProblems = <A>(result: Result.Result<A, Refusal>): string =>
  Result.isFailure(result)
    ? `${result.failure.code} ${result.failure.field ?? ""}`.trim()
    : "accepted"

describe("a campaign's fields", () => {
  it("have defaults", () => {
    assert.deepStrictEqual(create({}), Result.succeed(settings))
  })

  it("are taken as they are given", () => {
    const input = {
      media: { url: "https://example.com/a.png" },
      from: [3, 1, 3],
      reference: "spring",
      timezone: "europe/berlin",
      sendAt: later,
      hours: { days: ["sun", "mon", "mon"], from: "09:00", until: "24:00" },
      expiresAt: latest,
      quotaReserve: 0,
      defaultCountryCode: "49",
      duplicates: "drop",
    }
    assert.deepStrictEqual(Result.getOrThrow(create(input)), {
      name: "Spring",
      text: "Hello {name}",
      media: {
        mediaId: null,
        attachmentId: null,
        url: "https://example.com/a.png",
        type: "image",
        fileName: null,
      },
      from: [3, 1],
      reference: "spring",
      timezone: "Europe/Berlin",
      sendAt: Date.parse(later),
      hours: { days: ["mon", "sun"], from: 540, until: 1440 },
      expiresAt: Date.parse(latest),
      quotaReserve: 0,
      defaultCountryCode: "49",
      duplicates: "drop",
    } as unknown as typeof settings)
    assert.deepStrictEqual(Result.getOrThrow(create({ from: 4 })).from, [4] as never)
    assert.isNull(Result.getOrThrow(create({ from: null })).from)
    const { hours } = Result.getOrThrow(
      create({ timezone: "UTC", hours: { from: "00:00", until: "00:01" } }),
    )
    assert.strictEqual(hours?.days.length, 7)
    assert.deepStrictEqual(
      Result.getOrThrow(create({ text: undefined, media: input.media })).text,
      "",
    )
  })

  it("are refused by their codes", () => {
    const hours = { from: "09:00", until: "18:00" }
    const timezone = "UTC"
    for (const [fields, refused] of [
      [{ name: undefined }, "validation_failed name"],
      [{ name: "" }, "validation_failed name"],
      [{ name: "x".repeat(101) }, "validation_failed name"],
      [{ text: " " }, "text_required text"],
      [{ text: undefined }, "text_required text"],
      [{ text: "x".repeat(3001) }, "text_too_long text"],
      [{ text: "Hello {name" }, "invalid_template text"],
      [{ media: { url: "ftp://example.com" } }, "invalid_media_url media.url"],
      [{ from: [] }, "validation_failed from"],
      [{ from: Array.from({ length: 51 }, (_, id) => id + 1) }, "validation_failed from"],
      [{ from: "1" }, "validation_failed from"],
      [{ reference: "x".repeat(201) }, "validation_failed reference"],
      [{ timezone: "Nowhere" }, "invalid_timezone timezone"],
      [{ sendAt: "tomorrow" }, "invalid_datetime sendAt"],
      [{ sendAt: "2030-01-01T00:00:00Z" }, "time_in_past sendAt"],
      [{ sendAt: "2030-01-01T00:00:00.0001Z" }, "accepted"],
      [{ expiresAt: "2029-12-31T00:00:00Z" }, "time_in_past expiresAt"],
      [{ sendAt: later, expiresAt: later }, "validation_failed expiresAt"],
      [{ hours }, "validation_failed timezone"],
      [{ timezone, hours: { ...hours, days: [] } }, "validation_failed hours.days"],
      [{ timezone, hours: { ...hours, days: ["monday"] } }, "validation_failed hours.days[0]"],
      [{ timezone, hours: { ...hours, until: "09:00" } }, "validation_failed hours.until"],
      [{ timezone, hours: { ...hours, from: "24:00" } }, "validation_failed hours.from"],
      [{ timezone, hours: { ...hours, until: "24:01" } }, "validation_failed hours.until"],
      [{ timezone, hours: { ...hours, from: "9:00" } }, "validation_failed hours.from"],
      [{ timezone, hours: { from: "09:00" } }, "validation_failed hours.until"],
      [{ quotaReserve: 1000 }, "validation_failed quotaReserve"],
      [{ quotaReserve: -1 }, "validation_failed quotaReserve"],
      [{ defaultCountryCode: "+49" }, "validation_failed defaultCountryCode"],
      [{ defaultCountryCode: "999" }, "validation_failed defaultCountryCode"],
      [{ duplicates: "merge" }, "validation_failed duplicates"],
      [{ pace: 1 }, "validation_failed pace"],
    ] as const)
      assert.strictEqual(getProblems(create(fields)), refused, JSON.stringify(fields))
  })

  it("name the character of a bad template", () => {
    const refused = create({ text: "Hello {name" })
    assert.include(Result.isFailure(refused) ? refused.failure.message : "", "character 7")
  })
})

describe("a change of a campaign", () => {
  const update = (campaign: Partial<Campaign>, rows: number, command: object) =>
    Result.flatMap(parse.change(command), (change) =>
      decideUpdate(aCampaign(campaign), rows, change, now),
    )

  const changes = {
    name: "Summer",
    text: "Hi",
    media: null,
    from: [2],
    reference: "summer",
    timezone: "UTC",
    sendAt: later,
    hours: null,
    expiresAt: latest,
    quotaReserve: 1,
    defaultCountryCode: "1",
    duplicates: "drop",
  } as const

  const states: ReadonlyArray<
    readonly [CampaignState, number, number | null, sendAt: string, others: string]
  > = [
    ["draft", 0, null, "accepted", "accepted"],
    ["draft", 1, null, "accepted", "accepted"],
    ["scheduled", 1, null, "accepted", "accepted"],
    ["running", 1, now, "campaign_started sendAt", "accepted"],
    ["paused", 1, null, "accepted", "accepted"],
    ["paused", 1, now, "campaign_started sendAt", "accepted"],
    ["done", 1, now, "campaign_started sendAt", "campaign_ended"],
    ["stopped", 1, now, "campaign_started sendAt", "campaign_ended"],
    ["stopped", 1, null, "campaign_ended", "campaign_ended"],
  ]

  it("may touch a field as its state allows", () => {
    const decideRows = ["text", "media", "timezone", "defaultCountryCode", "duplicates"]
    for (const [state, rows, startedAt, sendAt, others] of states) {
      for (const [name, value] of Object.entries(changes)) {
        const result = getProblems(update({ state, startedAt }, rows, { [name]: value }))
        if (decideRows.includes(name) && rows > 0) {
          assert.strictEqual(result, `campaign_has_rows ${name}`, `${state} ${name}`)
        } else {
          assert.strictEqual(result, name === "sendAt" ? sendAt : others, `${state} ${name}`)
        }
      }
      assert.strictEqual(getProblems(update({ state, startedAt }, rows, {})), "accepted")
    }
  })

  it("keeps what it does not name, and is judged with it", () => {
    const sent = { sendAt: Date.parse(later), expiresAt: Date.parse(latest) }
    assert.deepStrictEqual(
      update(sent, 0, { name: "Summer" }),
      Result.succeed({ ...settings, ...sent, name: "Summer" }),
    )
    assert.strictEqual(getProblems(update(sent, 0, { sendAt: latest })), "validation_failed sendAt")
    assert.strictEqual(
      getProblems(update(sent, 0, { expiresAt: later })),
      "validation_failed expiresAt",
    )
    assert.strictEqual(getProblems(update({}, 0, { text: "" })), "text_required text")
    const hours = { from: "09:00", until: "18:00" }
    assert.strictEqual(getProblems(update({}, 0, { hours })), "validation_failed timezone")
    // Times that were given before may have passed since.
    assert.strictEqual(
      getProblems(update({ expiresAt: 1, sendAt: 2 }, 0, { name: "Summer" })),
      "accepted",
    )
  })
})

describe("rows of a call", () => {
  it("are read whatever their texts mean", () => {
    const rows = [
      { to: { phone: "unknown" }, sendAt: "tomorrow", expiresAt: new Date(0) },
      { to: { contactId: 4 }, values: { name: "Ann", send_at: "x" } },
    ]
    assert.deepStrictEqual(
      parseRows({ rows }),
      Result.succeed([
        {
          line: null,
          to: { phone: "unknown" },
          values: {},
          sendAt: "tomorrow",
          expiresAt: "1970-01-01T00:00:00.000Z",
        },
        {
          line: null,
          to: { contactId: 4 as never },
          values: { name: "Ann", send_at: "x" },
          sendAt: null,
          expiresAt: null,
        },
      ]),
    )
  })

  it("refuse the call for their shape", () => {
    const to = { phone: "+15550001234" }
    for (const [rows, field] of [
      [undefined, "rows"],
      [[], "rows"],
      [Array.from({ length: 1001 }, () => ({ to })), "rows"],
      [[{}], "rows[0].to"],
      [[{ to: {} }], "rows[0].to"],
      [[{ to }, { to: { ...to, group: "Family" } }], "rows[1].to"],
      [[{ to: { phone: 1 } }], "rows[0].to.phone"],
      [[{ to, text: "Hi" }], "rows[0].text"],
      [[{ to, values: { name: 1 } }], "rows[0].values"],
      [[{ to, values: { name: "x".repeat(8193) } }], "rows[0].values"],
      [[{ to, sendAt: 1 }], "rows[0].sendAt"],
    ] as const)
      assert.strictEqual(getProblems(parseRows({ rows })), `validation_failed ${field}`, field)
    const max = Array.from({ length: 1000 }, () => ({ to, values: { n: "x".repeat(8191) } }))
    assert.strictEqual(getProblems(parseRows({ rows: max })), "accepted")
  })
})

describe("other requests", () => {
  it("read their fields", () => {
    assert.deepStrictEqual(parseResume(undefined), Result.succeed(null))
    assert.deepStrictEqual(parseResume({ fromRow: 3 }), Result.succeed(3))
    assert.strictEqual(getProblems(parseResume({ fromRow: 0 })), "validation_failed fromRow")
    assert.deepStrictEqual(
      parseListCampaigns({ state: ["running", "draft"] }),
      Result.succeed({ state: ["draft", "running"] as const }),
    )
    assert.strictEqual(
      getProblems(parseListCampaigns({ state: "gone" })),
      "validation_failed state",
    )
    assert.deepStrictEqual(
      parseListCampaignRows({ status: "failed", code: "send_failed", to: "+1 555 000 1234" }),
      Result.succeed({ status: ["failed"], code: "send_failed", to: "+15550001234" } as never),
    )
    assert.strictEqual(getProblems(parseListCampaignRows({ to: "1" })), "invalid_phone to")
  })
})
