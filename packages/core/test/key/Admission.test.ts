import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import type { KeyId, NumberId, WorkspaceId } from "../../src/id/Ids.ts"
import { Admission, bearerToken } from "../../src/key/Admission.ts"
import type { CredentialsV1 } from "../../src/key/Admission.ts"
import { KeyStore, mayUse, scopes } from "../../src/key/ApiKey.ts"
import type { AdmitQuery, AdmitV1Query, ApiKey, Scope } from "../../src/key/ApiKey.ts"
import { Caller } from "../../src/key/Caller.ts"
import { hashSecret } from "../../src/key/secret.ts"
import type { RateState } from "../../src/request/RateWindow.ts"
import { unlimitedPlan } from "../../src/workspace/Workspace.ts"
import type { Workspace } from "../../src/workspace/Workspace.ts"

/** 2026-03-02T12:34:56.789Z */
const now = Date.UTC(2026, 2, 2, 12, 34, 56, 789)
const minute = 60_000
const address = "192.0.2.1"

const aWorkspace = (given: Partial<Workspace> = {}): Workspace => ({
  id: 1 as WorkspaceId,
  name: "Workspace",
  demo: false,
  accountDisabled: false,
  apiV2Enabled: true,
  plan: unlimitedPlan,
  createdAt: 0,
  deletedAt: null,
  ...given,
})

const aKey = (given: Partial<ApiKey> = {}): ApiKey => ({
  id: 5 as KeyId,
  workspaceId: 1 as WorkspaceId,
  version: 2,
  name: "Key",
  mode: "live",
  scopes,
  numberIds: null,
  expiresAt: null,
  last4: "AAAA",
  createdAt: 0,
  lastUsedAt: null,
  lastUsedIp: null,
  revokedAt: null,
  ...given,
})

const secret = `svc_live_${"A".repeat(38)}`
const unknown = `svc_live_${"B".repeat(38)}`
const version1 = "a1".repeat(20)

interface Stored {
  readonly key?: ApiKey
  readonly workspace?: Workspace
}

/** Keeps one key, `secret`, and counts as the port says. */
const fakeStore = ({ key = aKey(), workspace = aWorkspace() }: Stored, admits: boolean) => {
  const askedV1: Array<AdmitV1Query> = []
  const asked: Array<AdmitQuery> = []
  let counted = 0
  const layer = Layer.mock(KeyStore, {
    admit: (query) =>
      Effect.sync(() => {
        asked.push(query)
        if (query.hash !== hashSecret(secret) || query.version !== 2) return null
        if (!admits) return { key, workspace, count: null }
        counted++
        return { key, workspace, count: { minute: counted, day: counted } }
      }),
    admitV1: (query) =>
      Effect.sync(() => {
        askedV1.push(query)
        if (query.hash !== hashSecret(version1) || key.version !== 1) return null
        if (!admits) return { key, workspace, count: null }
        counted++
        return { key, workspace, count: counted }
      }),
  })
  return { asked, askedV1, counted: () => counted, layer }
}

const admission = (stored: Stored = {}, admits = true) => {
  const store = fakeStore(stored, admits)
  const service = Effect.gen(function* () {
    yield* TestClock.setTime(now)
    return yield* Admission
  }).pipe(Effect.provide(Admission.layer.pipe(Layer.provide(store.layer))))
  return { store, service }
}

const bearer = (token: string) => `Bearer ${token}`

describe("the bearer token", () => {
  const tokens: ReadonlyArray<readonly [header: string | undefined, token: string | undefined]> = [
    [undefined, undefined],
    ["", undefined],
    ["Bearer", undefined],
    ["Bearer ", undefined],
    ["Bearer    ", undefined],
    ["Basic dXNlcjpwYXNz", undefined],
    [secret, undefined],
    ["Bearerabc", undefined],
    ["Bearer abc", "abc"],
    ["bearer abc", "abc"],
    ["BEARER  abc ", "abc"],
    ["Bearer a b", "a b"],
  ]
  it.effect.each(tokens)("of %j is %j", ([header, token]) =>
    Effect.sync(() => assert.strictEqual(bearerToken(header), token)),
  )
})

describe("a version 2 request", () => {
  it.effect("is admitted with its key, workspace and rate, in one round trip", () =>
    Effect.gen(function* () {
      const { service, store } = admission()
      const { admitV2 } = yield* service
      assert.deepStrictEqual(yield* admitV2(bearer(secret), address), {
        caller: Caller.ofKey(aKey(), aWorkspace()),
        rate: { limit: 60, remaining: 59, reset: 4, exceeded: false },
      })
      assert.deepStrictEqual(store.asked, [
        {
          hash: hashSecret(secret),
          version: 2,
          now,
          minuteStart: Date.UTC(2026, 2, 2, 12, 34),
          dayStart: Date.UTC(2026, 2, 2),
          clientAddress: address,
        },
      ])
    }),
  )

  it.effect("over the limit is refused, and its rate is told all the same", () =>
    Effect.gen(function* () {
      const { admitV2 } = yield* admission().service
      for (let request = 0; request < 60; request++) yield* admitV2(bearer(secret), address)
      const rates: Array<RateState> = []
      const over = admitV2(bearer(secret), address, (rate) => rates.push(rate))
      const refusal = yield* Effect.flip(over)
      assert.strictEqual(refusal._tag === "Refusal" ? refusal.code : "", "rate_limited")
      assert.deepStrictEqual(rates, [{ limit: 60, remaining: 0, reset: 4, exceeded: true }])
    }),
  )

  const past = now - 1
  const refused: ReadonlyArray<
    readonly [
      what: string,
      header: string | undefined,
      stored: Stored,
      code: string,
      status: number,
    ]
  > = [
    ["no header", undefined, {}, "missing_api_key", 401],
    ["an empty token", "Bearer ", {}, "missing_api_key", 401],
    ["another scheme", `Basic ${secret}`, {}, "missing_api_key", 401],
    ["a token that is no key", bearer("nonsense"), {}, "invalid_api_key", 401],
    ["a truncated key", bearer(secret.slice(0, -1)), {}, "invalid_api_key", 401],
    ["a key that was never issued", bearer(unknown), {}, "invalid_api_key", 401],
    ["the other mode's prefix", bearer(secret.replace("live", "test")), {}, "invalid_api_key", 401],
    ["a version 1 key, issued or not", bearer(version1), {}, "v1_key_on_v2", 401],
    ["a revoked key", bearer(secret), { key: aKey({ revokedAt: past }) }, "api_key_revoked", 401],
    [
      "a key past its expiry",
      bearer(secret),
      { key: aKey({ expiresAt: past }) },
      "api_key_expired",
      401,
    ],
    [
      "a key at its expiry",
      bearer(secret),
      { key: aKey({ expiresAt: now }) },
      "api_key_expired",
      401,
    ],
    [
      "a deleted workspace",
      bearer(secret),
      { workspace: aWorkspace({ deletedAt: past }) },
      "api_key_revoked",
      401,
    ],
    [
      "a disabled account",
      bearer(secret),
      { workspace: aWorkspace({ accountDisabled: true }) },
      "account_disabled",
      403,
    ],
    [
      "a demo workspace",
      bearer(secret),
      { workspace: aWorkspace({ demo: true }) },
      "demo_account",
      403,
    ],
    [
      "a workspace without version 2",
      bearer(secret),
      { workspace: aWorkspace({ apiV2Enabled: false }) },
      "api_v2_not_enabled",
      403,
    ],
  ]
  it.effect.each(refused)("with %s is refused", ([, header, stored, code, status]) =>
    Effect.gen(function* () {
      const { admitV2 } = yield* admission(stored, false).service
      const refusal = yield* Effect.flip(admitV2(header, address))
      assert.strictEqual(refusal._tag, "Refusal")
      if (refusal._tag === "Refusal") {
        assert.deepStrictEqual([refusal.code, refusal.status], [code, status])
      }
    }),
  )

  it.effect("is refused for its key before its workspace, in the order of the checks", () =>
    Effect.gen(function* () {
      let key: Partial<ApiKey> = { revokedAt: past, expiresAt: past }
      let workspace: Partial<Workspace> = {
        deletedAt: past,
        accountDisabled: true,
        demo: true,
        apiV2Enabled: false,
      }
      const codes: Array<string> = []
      const then = (fixKey: Partial<ApiKey>, fixWorkspace: Partial<Workspace>) =>
        Effect.gen(function* () {
          key = { ...key, ...fixKey }
          workspace = { ...workspace, ...fixWorkspace }
          const stored = { key: aKey(key), workspace: aWorkspace(workspace) }
          const { admitV2 } = yield* admission(stored).service
          const result = yield* Effect.result(admitV2(bearer(secret), address))
          codes.push(
            Result.match(result, {
              onSuccess: () => "admitted",
              onFailure: (refusal) => (refusal._tag === "Refusal" ? refusal.code : refusal._tag),
            }),
          )
        })
      yield* then({}, {})
      yield* then({ revokedAt: null }, {})
      yield* then({ expiresAt: now + 1 }, {})
      yield* then({}, { deletedAt: null })
      yield* then({}, { accountDisabled: false })
      yield* then({}, { demo: false })
      yield* then({}, { apiV2Enabled: true })
      assert.deepStrictEqual(codes, [
        "api_key_revoked",
        "api_key_expired",
        "api_key_revoked",
        "account_disabled",
        "demo_account",
        "api_v2_not_enabled",
        "admitted",
      ])
    }),
  )
})

describe("a version 1 request", () => {
  const issued = aKey({ version: 1, name: "API Key 1" })
  const unissued = "b2".repeat(20)
  const given = (changes: Partial<CredentialsV1> = {}): CredentialsV1 => ({
    clientId: 1,
    apiKey: version1,
    clientAddress: address,
    ...changes,
  })
  const service = (stored: Stored = {}, admits = true) =>
    admission({ key: issued, ...stored }, admits)
  const refusalOf = (
    admitV1: (typeof Admission.Service)["admitV1"],
    credentials: Partial<CredentialsV1> = {},
  ) =>
    Effect.map(Effect.flip(admitV1(given(credentials))), (refusal) =>
      refusal._tag === "Refusal" ? refusal : assert.fail("the store did not answer"),
    )

  it.effect("is admitted with its key and workspace, in one round trip", () =>
    Effect.gen(function* () {
      const made = service()
      const { admitV1 } = yield* made.service
      const caller = Caller.ofKey(issued, aWorkspace())
      assert.deepStrictEqual(yield* admitV1(given()), caller)
      // Operations on verification/ send no client_id: the key alone says which workspace it is.
      assert.deepStrictEqual(yield* admitV1(given({ clientId: null })), caller)
      const query = {
        hash: hashSecret(version1),
        workspaceId: 1 as WorkspaceId,
        now,
        minuteStart: Date.UTC(2026, 2, 2, 12, 34),
        clientAddress: address,
      }
      assert.deepStrictEqual(made.store.askedV1, [query, { ...query, workspaceId: null }])
    }),
  )

  it.effect("is admitted also where version 2 is switched off", () =>
    Effect.gen(function* () {
      const workspace = aWorkspace({ apiV2Enabled: false })
      const { admitV1 } = yield* service({ workspace }).service
      assert.deepStrictEqual((yield* admitV1(given())).workspace, workspace)
    }),
  )

  const past = now - 1
  const refused: ReadonlyArray<
    readonly [
      what: string,
      credentials: Partial<CredentialsV1>,
      stored: Stored,
      code: string,
      isWrong: boolean,
    ]
  > = [
    ["an empty key", { apiKey: "" }, {}, "invalid_api_key", true],
    ["a malformed key", { apiKey: version1.slice(1) }, {}, "invalid_api_key", true],
    ["a key in capitals", { apiKey: version1.toUpperCase() }, {}, "invalid_api_key", true],
    ["a version 2 key", { apiKey: secret }, {}, "invalid_api_key", true],
    ["a key that was never issued", { apiKey: unissued }, {}, "invalid_api_key", true],
    ["a deleted key", {}, { key: { ...issued, revokedAt: past } }, "invalid_api_key", false],
    ["another workspace's client_id", { clientId: 2 }, {}, "invalid_api_key", false],
    ["a client_id that none can have", { clientId: 1.5 }, {}, "invalid_api_key", false],
    [
      "a deleted workspace",
      {},
      { workspace: aWorkspace({ deletedAt: past, accountDisabled: true }) },
      "invalid_api_key",
      false,
    ],
    [
      "a disabled account",
      {},
      { workspace: aWorkspace({ accountDisabled: true, demo: true }) },
      "account_disabled",
      false,
    ],
    ["a demo workspace", {}, { workspace: aWorkspace({ demo: true }) }, "demo_account", false],
  ]
  it.effect.each(refused)("with %s is refused", ([, credentials, stored, code, isWrong]) =>
    Effect.gen(function* () {
      const { admitV1 } = yield* service(stored, false).service
      for (let request = 0; request < 30; request++) {
        assert.strictEqual((yield* refusalOf(admitV1, credentials)).code, code)
      }
      // Wrong means never issued: a deleted key, or one with another workspace's client_id, is not
      // counted (contract: Wrong keys).
      const next = yield* refusalOf(admitV1, { apiKey: "nonsense" })
      assert.strictEqual(next.code, isWrong ? "too_many_auth_failures" : "invalid_api_key")
    }),
  )

  it.effect("over 60 in a clock minute is rate_limited until the next one", () =>
    Effect.gen(function* () {
      const { admitV1 } = yield* service().service
      yield* Effect.repeat(admitV1(given()), { times: 59 })
      const { code, retryAfter, status } = yield* refusalOf(admitV1)
      assert.deepStrictEqual([code, status, retryAfter], ["rate_limited", 429, 4])
    }),
  )

  it.effect("with a wrong key answers 429 after 30 a minute; a valid key goes on working", () =>
    Effect.gen(function* () {
      const { admitV1 } = yield* service().service
      const wrong = [unissued, secret, "nonsense"]
      for (let request = 0; request < 30; request++) {
        const refusal = yield* refusalOf(admitV1, { apiKey: wrong[request % 3] ?? "" })
        assert.strictEqual(refusal.code, "invalid_api_key", `request ${request + 1}`)
      }
      const { code, retryAfter } = yield* refusalOf(admitV1, { apiKey: unissued })
      assert.deepStrictEqual([code, retryAfter], ["too_many_auth_failures", 60])
      const elsewhere = { apiKey: unissued, clientAddress: "192.0.2.2" }
      assert.strictEqual((yield* refusalOf(admitV1, elsewhere)).code, "invalid_api_key")
      yield* admitV1(given())
      assert.strictEqual((yield* refusalOf(admitV1, { clientId: 2 })).code, "invalid_api_key")
    }),
  )
})

describe("the brute-force guard", () => {
  const refusalOf = (
    admitV2: (typeof Admission.Service)["admitV2"],
    header: string | undefined,
    from = address,
  ) =>
    Effect.map(Effect.flip(admitV2(header, from)), (refusal) =>
      refusal._tag === "Refusal" ? refusal : assert.fail("the store did not answer"),
    )

  it.effect("more than 30 wrong keys a minute from one address answer 429, Retry-After 60", () =>
    Effect.gen(function* () {
      const { admitV2 } = yield* admission().service
      const wrong = [bearer("nonsense"), bearer(unknown), bearer(version1)]
      for (let request = 0; request < 30; request++) {
        const { status } = yield* refusalOf(admitV2, wrong[request % 3])
        assert.strictEqual(status, 401, `request ${request + 1}`)
      }
      for (const header of wrong) {
        const { code, retryAfter, status } = yield* refusalOf(admitV2, header)
        assert.deepStrictEqual([code, status, retryAfter], ["too_many_auth_failures", 429, 60])
      }
      // Another address, and the next clock minute, are free.
      assert.strictEqual((yield* refusalOf(admitV2, wrong[0], "192.0.2.2")).status, 401)
      yield* TestClock.setTime(now - (now % minute) + minute)
      assert.strictEqual((yield* refusalOf(admitV2, wrong[0])).status, 401)
    }),
  )

  it.effect("while it refuses, a valid key goes on working and others keep their 401", () =>
    Effect.gen(function* () {
      const exhaust = (admitV2: (typeof Admission.Service)["admitV2"]) =>
        Effect.repeat(refusalOf(admitV2, bearer(unknown)), { times: 40 })
      const valid = yield* admission().service
      yield* exhaust(valid.admitV2)
      yield* valid.admitV2(bearer(secret), address)
      assert.strictEqual((yield* refusalOf(valid.admitV2, undefined)).code, "missing_api_key")
      const revoked = yield* admission({ key: aKey({ revokedAt: 0 }) }).service
      yield* exhaust(revoked.admitV2)
      assert.strictEqual(
        (yield* refusalOf(revoked.admitV2, bearer(secret))).code,
        "api_key_revoked",
      )
    }),
  )

  it.effect("counts neither missing nor revoked nor expired keys, nor refused workspaces", () =>
    Effect.gen(function* () {
      for (const stored of [
        { key: aKey({ revokedAt: 0 }) },
        { key: aKey({ expiresAt: 1 }) },
        { workspace: aWorkspace({ demo: true }) },
      ]) {
        const { admitV2 } = yield* admission(stored).service
        yield* Effect.repeat(Effect.flip(admitV2(bearer(secret), address)), { times: 40 })
        yield* Effect.repeat(Effect.flip(admitV2(undefined, address)), { times: 40 })
        assert.strictEqual((yield* refusalOf(admitV2, bearer(unknown))).code, "invalid_api_key")
      }
    }),
  )

  it.effect("counts version 1, version 2 and the operator API apart", () =>
    Effect.gen(function* () {
      const { admitOperator, admitV1, admitV2 } = yield* admission().service
      const surfaces = [
        Effect.flip(admitV2(bearer(unknown), address)),
        Effect.flip(admitOperator(bearer("wrong"), "right", address)),
        Effect.flip(admitV1({ clientId: 1, apiKey: "wrong", clientAddress: address })),
      ]
      for (const attempt of surfaces) {
        const codes = yield* Effect.forEach(Array.from({ length: 31 }), () => attempt)
        assert.deepStrictEqual(
          codes.map((refusal) => refusal._tag === "Refusal" && refusal.status),
          [...Array.from({ length: 30 }, () => 401), 429],
        )
      }
    }),
  )

  it.effect("takes the addresses of one IPv6 /64 for one, and another /64 for another", () =>
    Effect.gen(function* () {
      const { admitV2 } = yield* admission().service
      const inOne = (host: number) => `2001:db8:0:1::${host.toString(16)}`
      for (let host = 1; host <= 30; host++) yield* refusalOf(admitV2, bearer("x"), inOne(host))
      assert.strictEqual((yield* refusalOf(admitV2, bearer("x"), inOne(31))).status, 429)
      assert.strictEqual((yield* refusalOf(admitV2, bearer("x"), "2001:db8:0:2::1")).status, 401)
    }),
  )

  it.effect(
    "asks the store once about a wrong key sent 1,000 times, never about a malformed one",
    () =>
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
          store.asked.map(({ hash }) => hash),
          [hashSecret(unknown)],
        )
        assert.deepStrictEqual(
          store.askedV1.map(({ hash }) => hash),
          [hashSecret(unissued)],
        )
      }),
  )

  it.effect("asks again 10 s later, so that a key made meanwhile works", () =>
    Effect.gen(function* () {
      const { service, store } = admission()
      const { admitV2 } = yield* service
      yield* Effect.flip(admitV2(bearer(unknown), address))
      yield* TestClock.setTime(now + 9_999)
      yield* Effect.flip(admitV2(bearer(unknown), address))
      assert.lengthOf(store.asked, 1)
      yield* TestClock.setTime(now + 10_000)
      yield* Effect.flip(admitV2(bearer(unknown), address))
      assert.lengthOf(store.asked, 2)
      // A clock that is set back makes no key unknown for longer.
      yield* TestClock.setTime(now)
      yield* Effect.flip(admitV2(bearer(unknown), address))
      assert.lengthOf(store.asked, 3)
    }),
  )
})

describe("a request that is answered 404 or 405 whatever its key", () => {
  it.effect("counts a good key and shows its rate", () =>
    Effect.gen(function* () {
      const { service, store } = admission()
      const { noteV2 } = yield* service
      assert.strictEqual((yield* noteV2(bearer(secret), address))?.remaining, 59)
      assert.strictEqual((yield* noteV2(bearer(secret), address))?.remaining, 58)
      assert.strictEqual(store.counted(), 2)
    }),
  )

  it.effect("neither counts nor refuses a wrong key, and shows no rate for it", () =>
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

  it.effect("shows no rate for a key or a workspace that is refused", () =>
    Effect.gen(function* () {
      for (const stored of [
        { key: aKey({ revokedAt: 0 }) },
        { key: aKey({ expiresAt: now }) },
        { workspace: aWorkspace({ accountDisabled: true }) },
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

  it.effect("is required, and must be the one", () =>
    Effect.gen(function* () {
      assert.strictEqual(code(yield* admit(undefined)), "missing_operator_token")
      assert.strictEqual(code(yield* admit("Basic operator-token")), "missing_operator_token")
      assert.strictEqual(code(yield* admit("Bearer operator-toke")), "invalid_operator_token")
      assert.strictEqual(code(yield* admit(bearer(secret))), "invalid_operator_token")
      assert.strictEqual(code(yield* admit("Bearer operator-token")), "admitted")
    }),
  )

  it.effect("wrong more than 30 times a minute answers 429, and then the right one too", () =>
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
})

describe("scopes and numbers of a key", () => {
  it.effect("scopes are those of the contract, in its order", () =>
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

  it.effect("a key without a limit may use every number, a limited one only its own", () =>
    Effect.sync(() => {
      const seven = 7 as NumberId
      assert.isTrue(mayUse({ numberIds: null }, seven))
      assert.isTrue(mayUse({ numberIds: [6 as NumberId, seven] }, seven))
      assert.isFalse(mayUse({ numberIds: [6 as NumberId] }, seven))
      assert.isFalse(mayUse({ numberIds: [] }, seven))
    }),
  )
})
