import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import metadata from "libphonenumber-js/min/metadata"
import { callingCodes, parsePhone, phoneDigits } from "../../src/model/Recipient.ts"

const accepted: ReadonlyArray<readonly [text: string, phone: string]> = [
  ["+15005550006", "+15005550006"],
  ["+1 500-555-0006", "+15005550006"],
  [" +44 20 7946 0958 ", "+442079460958"],
  ["+-4-9 30-12 34- ", "+49301234"],
  ["+7 495 1234567", "+74951234567"],
  ["+358401234567", "+358401234567"],
  ["+1234567", "+1234567"],
  ["+123456789012345", "+123456789012345"],
  ["+80012345678", "+80012345678"],
  ["+881612345678", "+881612345678"],
  ["+883510012345", "+883510012345"],
  ["+979123456789", "+979123456789"],
]

const refused = [
  "",
  "+",
  "15005550006",
  "0015005550006",
  "+05005550006",
  "+0",
  "+123456",
  "+1234567890123456",
  "++15005550006",
  "15005550006+",
  "+1(500)5550006",
  "+1.500.555.0006",
  "+1/5005550006",
  "+1500555000a",
  "tel:+15005550006",
  "+15005550006 ext 1",
  "+15005550006\n",
  "\t+15005550006",
  "+1\u00a05005550006",
  "+1\u20115005550006",
  "\uff0b15005550006",
  "+１５００５５５０００６",
  "+\u0661\u0665\u0660\u0660\u0665\u0665\u0665",
]

// Reserved or unassigned by the ITU.
const unassigned = ["210", "214", "259", "28", "295", "384", "422", "671", "699", "801", "83", "89"]

describe("a phone", () => {
  it.effect("is + and 7 to 15 digits once spaces and dashes are removed", () =>
    Effect.sync(() => {
      for (const [text, phone] of accepted) {
        assert.strictEqual(parsePhone(text), phone, text)
      }
    }),
  )

  it.effect("has no other form: no guessed country code, no other sign or digit", () =>
    Effect.sync(() => {
      for (const text of refused) assert.isUndefined(parsePhone(text), JSON.stringify(text))
    }),
  )

  it.effect("may have any number of spaces and dashes between its digits", () =>
    Effect.sync(() => {
      const many = " -".repeat(500_000)
      assert.strictEqual(parsePhone(`${many}+${many}15005550006${many}`), "+15005550006")
      assert.strictEqual(parsePhone(`+1500${many}555${many}0006`), "+15005550006")
      assert.isUndefined(parsePhone(`+15005550006${many}x`))
      assert.isUndefined(parsePhone(many))
    }),
  )

  it.effect("starts with an assigned country calling code", () =>
    Effect.sync(() => {
      for (const code of unassigned) {
        assert.isUndefined(parsePhone(`+${code}5550001234`), code)
      }
    }),
  )

  it.effect("accepts the calling codes that libphonenumber knows, with or without a country", () =>
    Effect.sync(() => {
      // A table that the metadata's own type leaves out holds codes without a country.
      const all: { readonly country_calling_codes: object; readonly nonGeographic?: object } =
        metadata
      const known = [
        ...Object.keys(all.country_calling_codes),
        ...Object.keys(all.nonGeographic ?? {}),
      ]
      assert.sameMembers([...callingCodes], known)
    }),
  )

  it.effect("is not checked against national numbering plans: the test numbers pass", () =>
    Effect.sync(() => {
      for (const text of ["+15005550001", "+15005550009", "+4900000000", "+15005550000"]) {
        assert.strictEqual(parsePhone(text), text)
      }
    }),
  )

  it.effect("appears in a Number as digits without +", () =>
    Effect.sync(() =>
      assert.strictEqual(phoneDigits(parsePhone("+1 500-5550006")!), "15005550006"),
    ),
  )

  it.effect.prop(
    "reads the same wherever spaces and dashes are",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 1_000_000, maximum: 999_999_999_999_999 })),
      Schema.Array(Schema.Literals(["", " ", "-", " - "])),
    ],
    ([digits, gaps]) =>
      Effect.sync(() => {
        const plain = `+${digits}`
        const spaced = [...plain].map((character, at) => (gaps[at] ?? "") + character).join("")
        const phone = parsePhone(plain)
        assert.strictEqual(parsePhone(spaced), phone)
        if (phone !== undefined) assert.strictEqual(`+${phoneDigits(phone)}`, plain)
      }),
  )

  it.effect.prop("parsing never throws", [Schema.String], ([text]) =>
    Effect.sync(() => {
      for (const candidate of [text, `+1${text}`, `+${text}`]) {
        const phone = parsePhone(candidate)
        if (phone !== undefined) assert.strictEqual(parsePhone(phone), phone)
      }
    }),
  )
})
