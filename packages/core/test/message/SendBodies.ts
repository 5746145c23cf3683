/** Bodies of sends, and their expected refusals. */
import { assert, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Refusal } from "../../src/model/Refusal.ts"
import { sendRequestParser } from "../../src/model/SendRequest.ts"
import type { SendRequest } from "../../src/model/SendRequest.ts"

export const { batch, single } = sendRequestParser({ allowPrivate: false })

export const phone = { phone: "+15550000001" }

/** A valid body apart from the fields under test. */
export const body = (overrides: Readonly<Record<string, unknown>>) => ({
  to: phone,
  text: "Hello",
  ...overrides,
})

/** Without a prototype, as a JSON reader may build it. */
export const bare = (object: object): object => Object.assign(Object.create(null), object)

export type Told = ReadonlyArray<readonly [code: string, field: string | null]>

/** Every problem of a refusal, the error first; empty when accepted. */
export const getProblems = (result: Result.Result<SendRequest, Refusal>): Told =>
  Result.match(result, {
    onSuccess: () => [],
    onFailure: ({ code, errors, field }) => [
      [code, field],
      ...errors.map((each): Told[number] => [each.code, each.field]),
    ],
  })

export const getSuccess = (result: Result.Result<SendRequest, Refusal>): SendRequest => {
  assert.deepStrictEqual(getProblems(result), [])
  return Result.getOrThrow(result)
}

export const refusals = (
  cases: ReadonlyArray<readonly [what: string, body: unknown, told: Told]>,
  parse: (body: unknown) => Result.Result<SendRequest, Refusal> = single,
) =>
  it.effect.each(cases)("refuses %s", ([, value, expected]) =>
    Effect.sync(() => assert.deepStrictEqual(getProblems(parse(value)), expected)),
  )
