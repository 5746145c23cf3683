/** Which rows are refused, for what (campaigns: 3). */
import { assert, describe, it } from "@effect/vitest"
import type { CampaignSettings, NewCampaignRow } from "../../src/model/Campaign.ts"
import type { GivenRow } from "../../src/model/CampaignInput.ts"
import {
  dropDuplicates,
  recipientKeys,
  rowChecker,
  rowPhone,
  rowText,
} from "../../src/model/campaignRows.ts"
import { parseTimeZone } from "../../src/model/Cron.ts"
import { campaignSettings as settings } from "@messaging-service/testkit"

const now = Date.parse("2030-01-01T00:00:00Z")
const later = "2030-01-01T01:00:00Z"
const latest = "2030-01-01T02:00:00Z"

const row = (more: Partial<GivenRow> = {}): GivenRow => ({
  line: null,
  to: { phone: "+1 555 000 1234" },
  values: { name: "Ann" },
  sendAt: null,
  expiresAt: null,
  ...more,
})

const check = (
  overrides: Partial<GivenRow>,
  more: Partial<CampaignSettings> = {},
): NewCampaignRow => rowChecker({ ...settings, ...more }, now)(row(overrides), 1)

const readOutcome = ({ refusal, state }: NewCampaignRow): string =>
  refusal === null ? state : `${refusal.code} ${refusal.field ?? ""}`

describe("a row", () => {
  it("waits with its recipient normalised", () => {
    assert.deepStrictEqual(check({ line: 3, sendAt: later }), {
      row: 1,
      line: 3,
      to: { phone: "+15550001234" },
      needs: "either",
      recipientKey: "phone:+15550001234",
      phone: "+15550001234" as never,
      values: { name: "Ann" },
      sendAt: Date.parse(later),
      expiresAt: null,
      state: "pending",
      refusal: null,
    })
  })

  it("is refused for what is wrong with it, and says where", () => {
    const media = { mediaId: 1 } as never
    for (const [overrides, more, expected] of [
      [{ to: { phone: "5550001234" } }, {}, "invalid_phone to.phone"],
      [{ to: { phone: "" } }, {}, "invalid_phone to.phone"],
      [{ to: { username: "ann" } }, {}, "invalid_username to.username"],
      [{ to: { username: "@anna" } }, {}, "pending"],
      [{ to: { group: " " } }, {}, "validation_failed to.group"],
      [{ to: { group: "Family" } }, {}, "pending"],
      [{ to: { contactId: 9 as never } }, {}, "pending"],
      [{ values: {} }, {}, "placeholder_empty values.name"],
      [{ values: { NAME: " Ann " } }, {}, "pending"],
      [{ values: { name: "x".repeat(2994) } }, {}, "pending"],
      [{ values: { name: "x".repeat(2995) } }, {}, "text_too_long text"],
      [{ values: {} }, { text: "{name|}" }, "text_required text"],
      [{ values: {} }, { text: "{name|}", media }, "pending"],
      [{ sendAt: "soon" }, {}, "invalid_datetime sendAt"],
      [{ sendAt: "2030-01-01T09:00" }, { timezone: "UTC" as never }, "invalid_datetime sendAt"],
      [{ expiresAt: "" }, {}, "invalid_datetime expiresAt"],
      [{ sendAt: "2030-01-01T00:00Z" }, {}, "time_in_past sendAt"],
      [{ expiresAt: "2029-01-01T00:00Z" }, {}, "time_in_past expiresAt"],
      [{ sendAt: latest, expiresAt: later }, {}, "validation_failed expiresAt"],
      [{ expiresAt: later }, { sendAt: Date.parse(later) }, "validation_failed expiresAt"],
      [{ sendAt: later }, { expiresAt: Date.parse(later) }, "validation_failed sendAt"],
      [{ sendAt: later }, { expiresAt: Date.parse(latest) }, "pending"],
    ] as ReadonlyArray<readonly [Partial<GivenRow>, Partial<CampaignSettings>, string]>) {
      const checked = check(overrides, more)
      assert.strictEqual(
        readOutcome(checked),
        expected,
        JSON.stringify([overrides, more]).slice(0, 99),
      )
      assert.strictEqual(checked.recipientKey === null, checked.state === "refused")
    }
    assert.deepStrictEqual(check({ to: { phone: "555-1" } }).to, { phone: "555-1" })
    // Of a page of such rows a caller is shown no more than of others.
    const long = `${"x".repeat(499)}😀`
    assert.deepStrictEqual(check({ to: { group: long } }).to, { group: `${"x".repeat(499)}…` })
  })

  it("gets the campaign's country code where its phone has none", () => {
    for (const [text, code, phone] of [
      ["+49 171 5550100", "1", "+491715550100"],
      ["0171-555 0100", "49", "+491715550100"],
      ["171 5550100", "49", "+491715550100"],
      ["00491715550100", "49", undefined],
      ["0 0491715550100", "49", undefined],
      ["0171 5550100", null, undefined],
      ["(0171) 5550100", "49", undefined],
      ["", "49", undefined],
    ] as const)
      assert.strictEqual<string | undefined>(rowPhone(text, code), phone, text)
  })

  it("of a file has times on the clocks of the zone", () => {
    const timezone = parseTimeZone("Europe/Berlin") ?? null
    for (const [text, instant] of [
      ["2030-06-01T09:00", "2030-06-01T07:00:00Z"],
      ["2030-06-01 09:00:30", "2030-06-01T07:00:30Z"],
      ["2030-06-01T09:00Z", "2030-06-01T09:00:00Z"],
      // A gap, and a repeated time.
      ["2030-03-31T02:30", "2030-03-31T01:00:00Z"],
      ["2030-10-27T02:30", "2030-10-27T00:30:00Z"],
    ] as const)
      assert.strictEqual(check({ line: 2, sendAt: text }, { timezone }).sendAt, Date.parse(instant))
    for (const [text, zone] of [
      ["2030-06-01T09:00", null],
      ["2030-06-31T09:00", timezone],
      ["2030-06-01", timezone],
      ["01.06.2030 09:00", timezone],
    ] as const)
      assert.strictEqual(
        readOutcome(check({ line: 2, sendAt: text }, { timezone: zone })),
        "invalid_datetime sendAt",
      )
  })

  it("shows the text that it will have", () => {
    assert.strictEqual(rowText(settings.text, check({})), "Hello Ann")
    assert.isNull(rowText(settings.text, check({ values: {} })))
    assert.isNull(rowText(settings.text, { values: null, state: "taken" }))
  })
})

describe("rows of the same recipient", () => {
  it("are dropped behind the first that is not refused", () => {
    const checked = rowChecker(settings, now)
    const rows = [
      row({ values: {} }),
      row(),
      row({ to: { phone: "+1-5550001234" } }),
      row({ to: { username: "@Anna" } }),
      row({ to: { username: "https://t.me/anna" } }),
      row({ to: { group: "Family" } }),
      row({ to: { group: "family" } }),
      row({ to: { contactId: 1 as never } }),
      row({ to: { contactId: 1 as never } }),
      row({ to: { phone: "+15550009999" } }),
    ].map((input, at) => checked(input, at + 11))
    const firstRows = new Map([["phone:+15550009999", 2]])
    assert.deepStrictEqual(
      dropDuplicates(rows, firstRows).map((each) => [readOutcome(each), each.refusal?.row ?? null]),
      [
        ["placeholder_empty values.name", null],
        ["pending", null],
        ["duplicate_recipient to.phone", 12],
        ["pending", null],
        ["duplicate_recipient to.username", 14],
        ["pending", null],
        ["pending", null],
        ["pending", null],
        ["duplicate_recipient to.contactId", 18],
        ["duplicate_recipient to.phone", 2],
      ],
    )
    assert.strictEqual(recipientKeys(rows).length, 6)
  })
})
