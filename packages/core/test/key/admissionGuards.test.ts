import { assert, describe, it } from "@effect/vitest"
import { aStoredKey, aStoredWorkspace } from "@messaging-service/testkit"
import type { Failure } from "../../src/model/Refusal.ts"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import type { NumberId } from "../../src/model/Ids.ts"
import { Admission } from "../../src/service/Keys.ts"
import { mayUse, scopes } from "../../src/model/Auth.ts"
import type { Scope } from "../../src/model/Auth.ts"
import { hashSecret } from "../../src/model/Secrets.ts"
import { heard } from "../Heard.ts"
import { secret, admission, minute, version1, now, bearer, address, unknown } from "./Admitting.ts"

describe("the brute-force guard", () => {
  const getRefusal = (
    admitV2: (typeof Admission.Service)["admitV2"],
    header: string | undefined,
    from = address,
  ) =>
    Effect.map(Effect.flip(admitV2(header, from)), (refusal) =>
      refusal._tag === "Refusal" ? refusal : assert.fail("the store did not answer"),
    )

  it.effect("answers 429 with Retry-After 60 after 30 wrong keys a minute from one address", () =>
    Effect.gen(function* () {
      const { admitV2 } = yield* admission().service
      const wrong = [bearer("nonsense"), bearer(unknown), bearer(version1)]
      for (let request = 0; request < 30; request++) {
        const { status } = yield* getRefusal(admitV2, wrong[request % 3])
        assert.strictEqual(status, 401, `request ${request + 1}`)
      }
      for (const header of wrong) {
        const { code, retryAfter, status } = yield* getRefusal(admitV2, header)
        assert.deepStrictEqual([code, status, retryAfter], ["too_many_auth_failures", 429, 60])
      }
      // Other addresses and the next clock minute are not affected.
      assert.strictEqual((yield* getRefusal(admitV2, wrong[0], "192.0.2.2")).status, 401)
      yield* TestClock.setTime(now - (now % minute) + minute)
      assert.strictEqual((yield* getRefusal(admitV2, wrong[0])).status, 401)
    }),
  )

  it.effect("blocks wrong keys only: a valid key works and others keep their 401", () =>
    Effect.gen(function* () {
      const exhaust = (admitV2: (typeof Admission.Service)["admitV2"]) =>
        Effect.repeat(getRefusal(admitV2, bearer(unknown)), { times: 40 })
      const valid = yield* admission().service
      yield* exhaust(valid.admitV2)
      yield* valid.admitV2(bearer(secret), address)
      assert.strictEqual((yield* getRefusal(valid.admitV2, undefined)).code, "missing_api_key")
      const revoked = yield* admission({ key: aStoredKey({ revokedAt: 0 }) }).service
      yield* exhaust(revoked.admitV2)
      assert.strictEqual(
        (yield* getRefusal(revoked.admitV2, bearer(secret))).code,
        "api_key_revoked",
      )
    }),
  )

  it.effect("ignores missing, revoked and expired keys and refused workspaces", () =>
    Effect.gen(function* () {
      for (const stored of [
        { key: aStoredKey({ revokedAt: 0 }) },
        { key: aStoredKey({ expiresAt: 1 }) },
        { workspace: aStoredWorkspace({ demo: true }) },
      ]) {
        const { admitV2 } = yield* admission(stored).service
        yield* Effect.repeat(Effect.flip(admitV2(bearer(secret), address)), { times: 40 })
        yield* Effect.repeat(Effect.flip(admitV2(undefined, address)), { times: 40 })
        assert.strictEqual((yield* getRefusal(admitV2, bearer(unknown))).code, "invalid_api_key")
      }
    }),
  )

  it.effect("counts version 1, version 2 and the operator API separately", () =>
    Effect.gen(function* () {
      const { admitOperator, admitV1, admitV2 } = yield* admission().service
      const attempts: ReadonlyArray<Effect.Effect<Failure, unknown>> = [
        Effect.flip(admitV2(bearer(unknown), address)),
        Effect.flip(admitOperator(bearer("wrong"), "right", address)),
        Effect.flip(admitV1({ clientId: 1, apiKey: "wrong", clientAddress: address })),
      ]
      for (const attempt of attempts) {
        const codes = yield* Effect.forEach(Array.from({ length: 31 }), () => attempt)
        assert.deepStrictEqual(
          codes.map((refusal) => refusal._tag === "Refusal" && refusal.status),
          [...Array.from({ length: 30 }, () => 401), 429],
        )
      }
    }),
  )

  it.effect("counts an IPv6 /64 as one address", () =>
    Effect.gen(function* () {
      const { admitV2 } = yield* admission().service
      const inOne = (host: number) => `2001:db8:0:1::${host.toString(16)}`
      for (let host = 1; host <= 30; host++) yield* getRefusal(admitV2, bearer("x"), inOne(host))
      assert.strictEqual((yield* getRefusal(admitV2, bearer("x"), inOne(31))).status, 429)
      assert.strictEqual((yield* getRefusal(admitV2, bearer("x"), "2001:db8:0:2::1")).status, 401)
    }),
  )

  it.effect("looks up a wrong key once in 1,000 requests, a malformed one never", () =>
    Effect.gen(function* () {
      const { service, store } = admission()
      const { admitV1, admitV2, noteV2 } = yield* service
      const unissued = "b2".repeat(20)
      const oldKey = { clientId: 1, apiKey: unissued, clientAddress: address }
      for (let request = 0; request < 1000; request++) {
        yield* Effect.flip(admitV2(bearer(unknown), address))
        yield* Effect.flip(admitV2(bearer("nonsense"), address))
        yield* Effect.flip(admitV2(bearer(version1), address))
        yield* Effect.flip(admitV1(oldKey))
        yield* Effect.flip(admitV1({ ...oldKey, apiKey: "nonsense" }))
        assert.isNull(yield* noteV2(bearer(unknown), address))
      }
      assert.deepStrictEqual(
        store.requests.map(({ hash }) => hash),
        [hashSecret(unknown)],
      )
      assert.deepStrictEqual(
        store.requestedV1.map(({ hash }) => hash),
        [hashSecret(unissued)],
      )
    }),
  )

  it.effect("looks the key up again 10 s later, so a key created meanwhile works", () =>
    Effect.gen(function* () {
      const { service, store } = admission()
      const { admitV2 } = yield* service
      yield* Effect.flip(admitV2(bearer(unknown), address))
      yield* TestClock.setTime(now + 9_999)
      yield* Effect.flip(admitV2(bearer(unknown), address))
      assert.lengthOf(store.requests, 1)
      yield* TestClock.setTime(now + 10_000)
      yield* Effect.flip(admitV2(bearer(unknown), address))
      assert.lengthOf(store.requests, 2)
      // Setting the clock back does not extend the cache.
      yield* TestClock.setTime(now)
      yield* Effect.flip(admitV2(bearer(unknown), address))
      assert.lengthOf(store.requests, 3)
    }),
  )
})

describe("a request answered 404 or 405 whatever its key", () => {
  it.effect("counts a valid key and shows its rate", () =>
    Effect.gen(function* () {
      const { service, store } = admission()
      const { noteV2 } = yield* service
      assert.strictEqual((yield* noteV2(bearer(secret), address))?.remaining, 59)
      assert.strictEqual((yield* noteV2(bearer(secret), address))?.remaining, 58)
      assert.strictEqual(store.counted(), 2)
    }),
  )

  it.effect("neither counts nor refuses a wrong key, and shows no rate", () =>
    Effect.gen(function* () {
      const { service, store } = admission()
      const { admitV2, noteV2 } = yield* service
      for (const header of [undefined, "Bearer ", ...["x", unknown, version1].map(bearer)]) {
        for (let request = 0; request < 40; request++) {
          assert.isNull(yield* noteV2(header, address))
        }
      }
      const next = yield* Effect.flip(admitV2(bearer("x"), address))
      assert.strictEqual(next._tag === "Refusal" && next.code, "invalid_api_key")
      assert.strictEqual(store.counted(), 0)
    }),
  )

  it.effect("shows no rate for a refused key or workspace", () =>
    Effect.gen(function* () {
      for (const stored of [
        { key: aStoredKey({ revokedAt: 0 }) },
        { key: aStoredKey({ expiresAt: now }) },
        { workspace: aStoredWorkspace({ accountDisabled: true }) },
      ]) {
        const { noteV2 } = yield* admission(stored, false).service
        assert.isNull(yield* noteV2(bearer(secret), address))
      }
    }),
  )
})

describe("the operator's token", () => {
  const admit = (header: string | undefined) =>
    Effect.gen(function* () {
      const { admitOperator } = yield* admission().service
      return yield* Effect.result(admitOperator(header, "operator-token", address))
    })
  const code = (result: Result.Result<void, { readonly _tag: string }>) =>
    Result.match(result, {
      onSuccess: () => "admitted",
      onFailure: (refusal) => ("code" in refusal ? refusal.code : refusal._tag),
    })

  it.effect("is required and must match", () =>
    Effect.gen(function* () {
      assert.strictEqual(code(yield* admit(undefined)), "missing_operator_token")
      assert.strictEqual(code(yield* admit("Basic operator-token")), "missing_operator_token")
      assert.strictEqual(code(yield* admit("Bearer operator-toke")), "invalid_operator_token")
      assert.strictEqual(code(yield* admit(bearer(secret))), "invalid_operator_token")
      assert.strictEqual(code(yield* admit("Bearer operator-token")), "admitted")
    }),
  )

  it.effect("answers 429 after 30 wrong ones a minute, also to the right one", () =>
    Effect.gen(function* () {
      const { admitOperator } = yield* admission().service
      const wrong = Effect.flip(admitOperator("Bearer wrong", "operator-token", address))
      const right = (from: string) => admitOperator("Bearer operator-token", "operator-token", from)
      yield* Effect.repeat(wrong, { times: 29 })
      yield* right(address)
      for (const attempt of [wrong, Effect.flip(right(address))]) {
        const refusal = yield* attempt
        assert.strictEqual(refusal._tag === "Refusal" && refusal.code, "too_many_auth_failures")
      }
      yield* right("192.0.2.2")
      yield* TestClock.setTime(now - (now % minute) + minute)
      yield* right(address)
    }),
  )

  it.effect("logs each lock-out of an address once, without the token", () => {
    const lines: Array<string> = []
    return heard(
      lines,
      Effect.gen(function* () {
        const { admitOperator } = yield* admission().service
        const wrong = (from: string | null) =>
          Effect.repeat(Effect.flip(admitOperator("Bearer wrong", "operator-token", from)), {
            times: 40,
          })
        yield* wrong(null)
        assert.deepStrictEqual(lines, [])
        yield* wrong(address)
        const line = `Warn address locked out: too many wrong operator tokens address=${address}`
        assert.deepStrictEqual(lines, [line])
        yield* TestClock.setTime(now - (now % minute) + minute)
        yield* wrong(address)
        assert.deepStrictEqual(lines, [line, line])
      }),
    )
  })

  it.effect("is accepted from an unknown address however many wrong ones came from it", () =>
    Effect.gen(function* () {
      const { admitOperator } = yield* admission().service
      const wrong = Effect.flip(admitOperator("Bearer wrong", "operator-token", null))
      yield* Effect.repeat(wrong, { times: 40 })
      yield* admitOperator("Bearer operator-token", "operator-token", null)
      const refusal = yield* wrong
      assert.strictEqual(refusal._tag === "Refusal" && refusal.code, "too_many_auth_failures")
    }),
  )
})

describe("scopes and numbers of a key", () => {
  it.effect("scopes are the contract's, in its order", () =>
    Effect.sync(() =>
      assert.deepStrictEqual<ReadonlyArray<Scope>>(scopes, [
        "messages:send",
        "messages:read",
        "reminders",
        "numbers",
        "media",
        "contacts",
      ]),
    ),
  )

  it.effect("an unlimited key may use every number, a limited one only its own", () =>
    Effect.sync(() => {
      const seven = 7 as NumberId
      assert.isTrue(mayUse({ numberIds: null }, seven))
      assert.isTrue(mayUse({ numberIds: [6 as NumberId, seven] }, seven))
      assert.isFalse(mayUse({ numberIds: [6 as NumberId] }, seven))
      assert.isFalse(mayUse({ numberIds: [] }, seven))
    }),
  )
})
