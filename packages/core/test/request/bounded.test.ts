/** Bounds on how much of a request is read and reported (sharedResources: refusalErrors). */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { sharedLimits } from "../../src/model/Bulkhead.ts"
import { problem, refuse, refuseAll } from "../../src/model/Refusal.ts"
import { boundedBy, inputDecoder } from "../../src/model/Input.ts"

const Member = Schema.Struct({ size: Schema.Int })
const Body = Schema.Struct({
  name: Schema.String,
  list: Schema.NullOr(Schema.Array(Member)),
  other: Schema.optionalKey(Schema.Array(Schema.Int)),
})

const lists = { list: { most: 1000, code: "too_many_recipients" }, other: { most: 3 } } as const
const decode = inputDecoder(Body, { codes: ["too_many_recipients"], lists })

const getRefusal = (body: unknown) => {
  const result = decode(body)
  return Result.isFailure(result) ? result.failure : assert.fail("accepted")
}

/** A list that counts reads of one of its members. */
const counted = (members: ReadonlyArray<unknown>) => {
  const reads = { count: 0 }
  const list = new Proxy([...members], {
    get: (target, key, receiver) => {
      if (typeof key === "string" && /^\d+$/.test(key)) reads.count++
      return Reflect.get(target, key, receiver)
    },
  })
  return { list, reads }
}

const unknownFields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`unknown_${at}`, at]))

const countKeys = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce<number>(
        (sum, inner) => sum + countKeys(inner),
        Array.isArray(value) ? 0 : Object.keys(value).length,
      )
    : 0

describe("a bounded input", () => {
  it.effect("reads no member of a list that is too long, and reports that first", () =>
    Effect.sync(() => {
      const { list, reads } = counted(Array.from({ length: 100_000 }, () => "bad"))
      const { code, errors, field } = getRefusal({ name: "a", list })
      assert.deepStrictEqual([code, field, errors], ["too_many_recipients", "list", []])
      assert.strictEqual(reads.count, 0)
    }),
  )

  it.effect("reports the problems of the other fields in their order", () =>
    Effect.sync(() => {
      const { code, errors, field } = getRefusal({ name: 1, list: null, other: [1, 2, 3, "4"] })
      assert.deepStrictEqual([code, field], ["validation_failed", "name"])
      assert.deepStrictEqual(errors, [
        problem("validation_failed", "other", "must have at most 3 members"),
      ])
    }),
  )

  it.effect("reads a list of exactly the maximum length", () =>
    Effect.sync(() =>
      assert.isTrue(Result.isSuccess(decode({ name: "a", list: null, other: [1, 2, 3] }))),
    ),
  )

  it.effect("passes the decoder no more unknown fields than can be reported", () =>
    Effect.sync(() => {
      const { input } = boundedBy(
        Body,
        lists,
      )({
        name: "a",
        list: Array.from({ length: 100 }, () => ({ size: 1, ...unknownFields(1000) })),
        ...unknownFields(50_000),
      })
      // Three fields, 100 times `size`, 50 unknown fields, and one more for each object with some.
      assert.isAtMost(countKeys(input), 2 + 100 + sharedLimits.refusalErrors.whole + 101)
      assert.strictEqual((input["list"] as ReadonlyArray<unknown>).length, 100)
    }),
  )

  it.effect("refuses an object of only unknown fields for one of them", () =>
    Effect.sync(() => {
      const { errors } = getRefusal({ name: "a", list: [unknownFields(1000), unknownFields(9)] })
      assert.isTrue(errors.some(({ field }) => field === "list[0].unknown_0"))
    }),
  )

  it.effect("reports at most 50 problems after the first", () =>
    Effect.sync(() => {
      const bad = Array.from({ length: 1000 }, () => ({ size: "large" }))
      const { errors } = getRefusal({ name: "a", list: bad })
      assert.strictEqual(errors.length, sharedLimits.refusalErrors.whole)
    }),
  )
})

describe("a refusal", () => {
  it.effect("stays within its byte limit whatever names it repeats", () =>
    Effect.sync(() => {
      const name = "\u0001".repeat(100_000)
      const max = refuseAll(
        problem("validation_failed", name, name),
        Array.from({ length: 1000 }, () => problem("validation_failed", name)),
      )
      const body = JSON.stringify({
        error: { message: max.message, field: max.field, errors: max.errors },
      })
      assert.isAtMost(Buffer.byteLength(body), sharedLimits.refusalBytes.whole)
      const one = refuse("validation_failed", { field: name, message: name })
      assert.isAtMost(one.message.length, 500)
      assert.isAtMost(one.field?.length ?? 0, 120)
    }),
  )

  it.effect("is cut between characters, not inside one", () =>
    Effect.sync(() => {
      const { field } = problem("validation_failed", "😀".repeat(100))
      assert.isTrue(field?.isWellFormed())
      assert.isTrue(field?.endsWith("…"))
      assert.isFalse(field?.includes("\ufffd"))
    }),
  )
})
