import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import {
  answerRetentionMillis,
  claimRetentionMillis,
  fingerprint,
  judgeClaim,
  parseIdempotencyKey,
} from "../../src/model/Idempotency.ts"
import type { ClaimOutcome, IdempotencyRecord } from "../../src/model/Idempotency.ts"

const refusal = <A>(result: Result.Result<A, { code: string; status: number }>) =>
  Result.match(result, {
    onSuccess: () => undefined,
    onFailure: ({ code, status }) => ({ code, status }),
  })

describe("the header Idempotency-Key", () => {
  const printable = Array.from({ length: 0x7e - 0x20 + 1 }, (_, at) =>
    String.fromCharCode(0x20 + at),
  ).join("")

  it.effect("is optional", () =>
    Effect.sync(() => assert.deepStrictEqual(parseIdempotencyKey([]), Result.succeed(null))),
  )

  it.effect.each([
    "a",
    " ",
    "~",
    "x".repeat(255),
    printable,
    "8e03978e-40d5-43dd-bc93-6894a57f9324",
  ])("accepts %s unchanged", (key) =>
    Effect.sync(() => assert.deepStrictEqual(parseIdempotencyKey([key]), Result.succeed(key))),
  )

  const bad: ReadonlyArray<readonly [what: string, values: ReadonlyArray<string>]> = [
    ["an empty key", [""]],
    ["256 characters", ["x".repeat(256)]],
    ["a tab", ["a\tb"]],
    ["a line feed at the end", ["a\n"]],
    ["a NUL", ["a\0"]],
    ["DEL", ["a\u007F"]],
    ["what is not ASCII", ["clé"]],
    ["a rocket", ["\u{1F680}"]],
    ["a key sent twice in one request", ["a", "a"]],
    ["two keys, the second empty", ["a", ""]],
  ]
  it.effect.each(bad)("%s is invalid_idempotency_key", ([, values]) =>
    Effect.sync(() =>
      assert.deepStrictEqual(refusal(parseIdempotencyKey(values)), {
        code: "invalid_idempotency_key",
        status: 400,
      }),
    ),
  )
})

describe("the fingerprint", () => {
  const print = fingerprint("POST", "/api/v2/messages", '{"a":1}')

  it.effect("separates method, path and body, even where their texts could run together", () =>
    Effect.sync(() => {
      const others = [
        fingerprint("PUT", "/api/v2/messages", '{"a":1}'),
        fingerprint("POST", "/api/v2/messages/batch", '{"a":1}'),
        fingerprint("POST", "/api/v2/messages", '{"a":2}'),
        fingerprint("POST", "/api/v2/messages", ""),
        fingerprint("POST", "/api/v2", '/messages{"a":1}'),
      ]
      assert.strictEqual(new Set([print, ...others]).size, 6)
      assert.strictEqual(fingerprint("POST", "/api/v2/messages", '{"a":1}'), print)
      assert.match(print, /^[0-9a-f]{64}$/)
    }),
  )
})

describe("a repeat with the same key", () => {
  const requested = { key: "key", fingerprint: "same" }
  const record = (print: string): IdempotencyRecord => ({
    fingerprint: print,
    madeIds: [4, 5],
    createdAt: 0,
  })
  const judged = (outcome: ClaimOutcome | null) => judgeClaim(outcome, requested)

  it.effect("gets the first answer when the request is the same", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(
        judged({ _tag: "Finished", record: record("same") }),
        Result.succeed(record("same")),
      ),
    ),
  )

  it.effect("is idempotency_key_reused (422) with another method, path or body", () =>
    Effect.sync(() =>
      assert.deepStrictEqual(refusal(judged({ _tag: "Finished", record: record("other") })), {
        code: "idempotency_key_reused",
        status: 422,
      }),
    ),
  )

  it.effect("is idempotency_in_progress (409, Retry-After 1) while the first runs", () =>
    Effect.sync(() => {
      const result = judged({ _tag: "InProgress" })
      assert.deepStrictEqual(refusal(result), { code: "idempotency_in_progress", status: 409 })
      assert.strictEqual(Result.getOrThrow(Result.flip(result)).retryAfter, 1)
    }),
  )

  it.effect("proceeds under its own claim, and without a key", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(judged({ _tag: "Claimed" }), Result.succeed(null))
      assert.deepStrictEqual(judged(null), Result.succeed(null))
      assert.deepStrictEqual(judgeClaim(null, null), Result.succeed(null))
    }),
  )

  it.effect("is kept for 24 hours; a claim whose process died is free after 30 s", () =>
    Effect.sync(() =>
      assert.deepStrictEqual([answerRetentionMillis, claimRetentionMillis], [86_400_000, 30_000]),
    ),
  )
})
