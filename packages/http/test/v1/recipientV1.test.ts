import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { phonesFields, readFields, parseRecipients } from "../../src/v1/fields.ts"
import { vi } from "vitest"

const toFields = (body: Readonly<Record<string, string>>) =>
  readFields(phonesFields, {
    has: (name) => Object.hasOwn(body, name),
    one: (name) => body[name] ?? null,
    all: (name) => (body[name] === undefined ? [] : [body[name]]),
  })

const long = 100_000

/** What it gives, and how often a long text is scanned meanwhile. */
const longReplacements = <A, E>(run: Effect.Effect<A, E>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => vi.spyOn(String.prototype, "replaceAll")),
    (spy) =>
      Effect.map(run, (input) => ({
        input,
        replacements: spy.mock.contexts.filter((text) => String(text).length >= long).length,
      })),
    (spy) => Effect.sync(() => spy.mockRestore()),
  )

describe("the phones of one request", () => {
  it.effect("share a country code that is parsed once, however long it is", () =>
    Effect.gen(function* () {
      const phones = Array.from({ length: 1000 }, (_, at) => `0555 ${1_000_000 + at}`)
      const fields = toFields({ country_code: `+1${"-".repeat(long)}`, phones: phones.join() })
      const { input, replacements } = yield* longReplacements(parseRecipients(fields))
      assert.strictEqual(replacements, 1)
      assert.deepStrictEqual(
        input,
        phones.map((_, at) => ({ phone: `+1555${1_000_000 + at}` })),
      )
    }),
  )

  it.effect("may have empty members, which are skipped", () =>
    Effect.sync(() => {
      const commas = " ,".repeat(long)
      const { phones } = toFields({ phones: `${commas}1 2,\t,\u00a0, 3 ${commas},4 ${commas}` })
      assert.deepStrictEqual(phones, ["1 2", "3", "4"])
    }),
  )
})
