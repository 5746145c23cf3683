/** Number checks for the suites of the whole service, and scripted remote servers. */
import { assert } from "@effect/vitest"
import { layer as layerTransport } from "@messaging-service/emulator"
import { Clock, Effect, Layer } from "effect"
import { NumberChecks, PhoneDirectory } from "../../src/index.ts"
import type {
  Caller,
  CursorPage,
  ListCheckResults,
  NumberCheck,
  NumberCheckResult,
  NumberId,
  Phone,
  PhonesOutcome,
} from "../../src/index.ts"
import { aPhone } from "./Operations.ts"
import { noon } from "./Service.ts"

export const unknownPhone = "+15550000000"

export const create = (
  caller: Caller,
  phones: ReadonlyArray<string>,
  overrides: Readonly<Record<string, unknown>> = {},
  idempotencyKey: string | null = null,
) =>
  NumberChecks.use((checks) =>
    checks.create(
      caller,
      { phones, ...overrides },
      idempotencyKey === null ? null : { key: idempotencyKey, fingerprint: "same" },
    ),
  )

export const build = (
  caller: Caller,
  phones: ReadonlyArray<string>,
  overrides: Readonly<Record<string, unknown>> = {},
) => Effect.map(create(caller, phones, overrides), ({ answer }) => answer)

export const read = (caller: Caller, { id }: NumberCheck) =>
  NumberChecks.use((checks) => checks.get(caller, id))

/** The results, in the order of the list. */
export const found = (caller: Caller, { id, total }: NumberCheck) =>
  Effect.gen(function* () {
    const checks = yield* NumberChecks
    const all: Array<string> = []
    let cursor: string | null = null
    do {
      const query: ListCheckResults = { limit: 100, ...(cursor === null ? {} : { cursor }) }
      const page: CursorPage<NumberCheckResult> = yield* checks.results(caller, id, query)
      all.push(...page.items.map(({ status }) => status))
      cursor = page.next
    } while (cursor !== null)
    assert.lengthOf(all, total)
    return all.toReversed()
  })

export const somePhones = (count: number) => Array.from({ length: count }, aPhone)

/** A remote server with scripted answers, call by call, then the default; and its calls. */
export const scripted = (
  answers: ReadonlyArray<Effect.Effect<PhonesOutcome>>,
  byDefault: (phones: ReadonlyArray<Phone>) => PhonesOutcome = (phones) => ({
    _tag: "Checked",
    registered: new Set(phones),
  }),
) => {
  const calls: Array<{ readonly at: number; readonly phones: ReadonlyArray<Phone> }> = []
  const directory = Layer.succeed(PhoneDirectory, {
    checkPhones: (_: NumberId, phones) =>
      Effect.gen(function* () {
        calls.push({ at: (yield* Clock.currentTimeMillis) - noon, phones })
        return yield* answers[calls.length - 1] ?? Effect.succeed(byDefault(phones))
      }),
  })
  return { calls, transport: Layer.merge(layerTransport, directory) }
}

export const unknown: Effect.Effect<PhonesOutcome> = Effect.succeed({ _tag: "Unknown" })
