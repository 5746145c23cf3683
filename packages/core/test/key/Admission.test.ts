import { assert, describe, it } from "@effect/vitest"
import { aStoredKey, aStoredWorkspace } from "@messaging-service/testkit"
import { Effect, Result } from "effect"
import type { WorkspaceId } from "../../src/model/Ids.ts"
import { Admission } from "../../src/service/Keys.ts"
import type { CredentialsV1 } from "../../src/service/Keys.ts"
import { bearerToken, Caller } from "../../src/model/Auth.ts"
import type { ApiKey, RateState } from "../../src/model/Auth.ts"
import { hashSecret } from "../../src/model/Secrets.ts"
import type { Workspace } from "../../src/model/Workspace.ts"
import { secret, admission, version1, now, bearer, address, unknown } from "./Admitting.ts"
import type { Stored } from "./Admitting.ts"

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
  it.effect.each(tokens)("reads %j as %j", ([header, token]) =>
    Effect.sync(() => assert.strictEqual(bearerToken(header), token)),
  )
})

describe("a version 2 request", () => {
  it.effect("is admitted with its key, workspace and rate, in one round trip", () =>
    Effect.gen(function* () {
      const { service, store } = admission()
      const { admitV2 } = yield* service
      assert.deepStrictEqual(yield* admitV2(bearer(secret), address), {
        caller: Caller.ofKey(aStoredKey(), aStoredWorkspace()),
        rate: { limit: 60, remaining: 59, reset: 4, exceeded: false },
      })
      assert.deepStrictEqual(store.requests, [
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

  it.effect("refuses requests over the limit and still shows the rate", () =>
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
    ["a malformed key", bearer("nonsense"), {}, "invalid_api_key", 401],
    ["a truncated key", bearer(secret.slice(0, -1)), {}, "invalid_api_key", 401],
    ["a key that was never issued", bearer(unknown), {}, "invalid_api_key", 401],
    ["the other mode's prefix", bearer(secret.replace("live", "test")), {}, "invalid_api_key", 401],
    ["a version 1 key, issued or not", bearer(version1), {}, "v1_key_on_v2", 401],
    [
      "a revoked key",
      bearer(secret),
      { key: aStoredKey({ revokedAt: past }) },
      "api_key_revoked",
      401,
    ],
    [
      "a key past its expiry",
      bearer(secret),
      { key: aStoredKey({ expiresAt: past }) },
      "api_key_expired",
      401,
    ],
    [
      "a key at its expiry",
      bearer(secret),
      { key: aStoredKey({ expiresAt: now }) },
      "api_key_expired",
      401,
    ],
    [
      "a deleted workspace",
      bearer(secret),
      { workspace: aStoredWorkspace({ deletedAt: past }) },
      "api_key_revoked",
      401,
    ],
    [
      "a disabled account",
      bearer(secret),
      { workspace: aStoredWorkspace({ accountDisabled: true }) },
      "account_disabled",
      403,
    ],
    [
      "a demo workspace",
      bearer(secret),
      { workspace: aStoredWorkspace({ demo: true }) },
      "demo_account",
      403,
    ],
    [
      "a workspace without version 2",
      bearer(secret),
      { workspace: aStoredWorkspace({ apiV2Enabled: false }) },
      "api_v2_not_enabled",
      403,
    ],
  ]
  it.effect.each(refused)("refuses %s", ([, header, stored, code, status]) =>
    Effect.gen(function* () {
      const { admitV2 } = yield* admission(stored, false).service
      const refusal = yield* Effect.flip(admitV2(header, address))
      assert.strictEqual(refusal._tag, "Refusal")
      if (refusal._tag === "Refusal") {
        assert.deepStrictEqual([refusal.code, refusal.status], [code, status])
      }
    }),
  )

  it.effect("checks the key before its workspace, in the contract's order", () =>
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
          const stored = { key: aStoredKey(key), workspace: aStoredWorkspace(workspace) }
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
  const issued = aStoredKey({ version: 1, name: "API Key 1" })
  const unissued = "b2".repeat(20)
  const input = (changes: Partial<CredentialsV1> = {}): CredentialsV1 => ({
    clientId: 1,
    apiKey: version1,
    clientAddress: address,
    ...changes,
  })
  const service = (stored: Stored = {}, admits = true) =>
    admission({ key: issued, ...stored }, admits)
  const getRefusal = (
    admitV1: (typeof Admission.Service)["admitV1"],
    credentials: Partial<CredentialsV1> = {},
  ) =>
    Effect.map(Effect.flip(admitV1(input(credentials))), (refusal) =>
      refusal._tag === "Refusal" ? refusal : assert.fail("the store did not answer"),
    )

  it.effect("is admitted with its key and workspace, in one round trip", () =>
    Effect.gen(function* () {
      const created = service()
      const { admitV1 } = yield* created.service
      const caller = Caller.ofKey(issued, aStoredWorkspace())
      assert.deepStrictEqual(yield* admitV1(input()), caller)
      // Paths under verification/ carry no client_id: the key alone names the workspace.
      assert.deepStrictEqual(yield* admitV1(input({ clientId: null })), caller)
      const query = {
        hash: hashSecret(version1),
        workspaceId: 1 as WorkspaceId,
        now,
        minuteStart: Date.UTC(2026, 2, 2, 12, 34),
        clientAddress: address,
      }
      assert.deepStrictEqual(created.store.requestedV1, [query, { ...query, workspaceId: null }])
    }),
  )

  it.effect("is admitted where version 2 is switched off", () =>
    Effect.gen(function* () {
      const workspace = aStoredWorkspace({ apiV2Enabled: false })
      const { admitV1 } = yield* service({ workspace }).service
      assert.deepStrictEqual((yield* admitV1(input())).workspace, workspace)
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
    ["an impossible client_id", { clientId: 1.5 }, {}, "invalid_api_key", false],
    [
      "a deleted workspace",
      {},
      { workspace: aStoredWorkspace({ deletedAt: past, accountDisabled: true }) },
      "invalid_api_key",
      false,
    ],
    [
      "a disabled account",
      {},
      { workspace: aStoredWorkspace({ accountDisabled: true, demo: true }) },
      "account_disabled",
      false,
    ],
    [
      "a demo workspace",
      {},
      { workspace: aStoredWorkspace({ demo: true }) },
      "demo_account",
      false,
    ],
  ]
  it.effect.each(refused)("refuses %s", ([, credentials, stored, code, isWrong]) =>
    Effect.gen(function* () {
      const { admitV1 } = yield* service(stored, false).service
      for (let request = 0; request < 30; request++) {
        assert.strictEqual((yield* getRefusal(admitV1, credentials)).code, code)
      }
      // Wrong means never issued. A deleted key, or one with another workspace's client_id, does
      // not count (contract: Wrong keys).
      const next = yield* getRefusal(admitV1, { apiKey: "nonsense" })
      assert.strictEqual(next.code, isWrong ? "too_many_auth_failures" : "invalid_api_key")
    }),
  )

  it.effect("over 60 in a clock minute is rate_limited until the next minute", () =>
    Effect.gen(function* () {
      const { admitV1 } = yield* service().service
      yield* Effect.repeat(admitV1(input()), { times: 59 })
      const { code, retryAfter, status } = yield* getRefusal(admitV1)
      assert.deepStrictEqual([code, status, retryAfter], ["rate_limited", 429, 4])
    }),
  )

  it.effect("with a wrong key answers 429 after 30 a minute; a valid key still works", () =>
    Effect.gen(function* () {
      const { admitV1 } = yield* service().service
      const wrong = [unissued, secret, "nonsense"]
      for (let request = 0; request < 30; request++) {
        const refusal = yield* getRefusal(admitV1, { apiKey: wrong[request % 3] ?? "" })
        assert.strictEqual(refusal.code, "invalid_api_key", `request ${request + 1}`)
      }
      const { code, retryAfter } = yield* getRefusal(admitV1, { apiKey: unissued })
      assert.deepStrictEqual([code, retryAfter], ["too_many_auth_failures", 60])
      const elsewhere = { apiKey: unissued, clientAddress: "192.0.2.2" }
      assert.strictEqual((yield* getRefusal(admitV1, elsewhere)).code, "invalid_api_key")
      yield* admitV1(input())
      assert.strictEqual((yield* getRefusal(admitV1, { clientId: 2 })).code, "invalid_api_key")
    }),
  )
})
