import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import type { Call } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aKey, aNumber, aSender, aText, aWorkspace, change, remove, revoke } from "../Records.ts"

const oversized = "x".repeat(1_048_577)

/** Wrong in everything that comes after the key: Idempotency-Key, content type, size, JSON. */
const wrongThroughout: Call = {
  method: "POST",
  path: "/api/v2/messages",
  headers: [
    ["idempotency-key", ""],
    ["content-type", "text/plain"],
  ],
  body: oversized,
}

const sameKey = ["idempotency-key", "the same"] as const
const json = ["content-type", "application/json"] as const

const inThePast = { ...aText, send_at: "1969-12-31T23:59:59Z" }

/** A token, and its scene. */
const scenes = {
  none: Effect.succeed({}),
  "an unknown key": Effect.succeed({ token: `svc_live_${"a".repeat(38)}` }),
  "a revoked key that is past its expiry": Effect.gen(function* () {
    const workspace = yield* aWorkspace()
    const key = yield* aKey(workspace, { expires_in: "30d" })
    yield* revoke(workspace, key)
    yield* TestClock.adjust("31 days")
    return { token: key.key }
  }),
  "a revoked key of a demo workspace": Effect.gen(function* () {
    const workspace = yield* aWorkspace({ demo: true })
    const key = yield* aKey(workspace)
    yield* revoke(workspace, key)
    return { token: key.key }
  }),
  "an expired key of a disabled account": Effect.gen(function* () {
    const workspace = yield* aWorkspace()
    const key = yield* aKey(workspace, { expires_in: "30d" })
    yield* change(workspace, { account_disabled: true })
    yield* TestClock.adjust("31 days")
    return { token: key.key }
  }),
  "a key of a deleted workspace whose account was disabled": Effect.gen(function* () {
    const workspace = yield* aWorkspace()
    const key = yield* aKey(workspace)
    yield* change(workspace, { account_disabled: true })
    yield* remove(workspace)
    return { token: key.key }
  }),
  "a key of a demo workspace whose account is disabled": Effect.gen(function* () {
    const workspace = yield* aWorkspace({ demo: true })
    const key = yield* aKey(workspace)
    yield* change(workspace, { account_disabled: true })
    return { token: key.key }
  }),
  "a key of a demo workspace without version 2": Effect.gen(function* () {
    const workspace = yield* aWorkspace({ demo: true, api_v2_enabled: false })
    return { token: (yield* aKey(workspace)).key }
  }),
  "a key without scope of a workspace without version 2": Effect.gen(function* () {
    const workspace = yield* aWorkspace({ api_v2_enabled: false })
    return { token: (yield* aKey(workspace, { scopes: ["media"] })).key }
  }),
  "a key without scope that is over its limit": Effect.gen(function* () {
    const workspace = yield* aWorkspace()
    const { key } = yield* aKey(workspace, { scopes: ["media"] })
    const { socket } = yield* HttpTestClients
    yield* Effect.replicateEffect(socket.call({ path: "/api/v2/me", token: key }), 60, {
      discard: true,
    })
    return { token: key }
  }),
  "a key without scope": Effect.gen(function* () {
    const workspace = yield* aWorkspace()
    return { token: (yield* aKey(workspace, { scopes: ["messages:read"] })).key }
  }),
  "a good key": Effect.map(aSender(), ({ token }) => ({ token })),
  "a good key that has sent with that Idempotency-Key": Effect.gen(function* () {
    const { token } = yield* aSender()
    const { socket } = yield* HttpTestClients
    const first = yield* socket.call({
      method: "POST",
      path: "/api/v2/messages",
      token,
      headers: [sameKey],
      json: aText,
    })
    assert.strictEqual(first.status, 202)
    return { token }
  }),
  "a good key of a workspace without credits or number": Effect.gen(function* () {
    const workspace = yield* aWorkspace({ plan: null })
    return { token: (yield* aKey(workspace)).key }
  }),
  "a good key of a workspace without credits": Effect.gen(function* () {
    const workspace = yield* aWorkspace({ plan: null })
    yield* aNumber(workspace)
    return { token: (yield* aKey(workspace)).key }
  }),
} satisfies Record<string, Effect.Effect<{ readonly token?: string }, never, HttpTestClients>>

interface Case {
  readonly scene: keyof typeof scenes
  readonly call?: Call
  /** What is wrong later on, for the title. */
  readonly and: string
  readonly status: number
  readonly code: string
}

const later = "everything later wrong"

/** In the order of the checks: each request also fails the next one's check. */
const cases: ReadonlyArray<Case> = [
  {
    scene: "none",
    call: { ...wrongThroughout, path: "/api/v2/nothing" },
    and: "an unknown path",
    status: 404,
    code: "not_found",
  },
  {
    scene: "none",
    call: { ...wrongThroughout, method: "PUT" },
    and: "a wrong method",
    status: 405,
    code: "method_not_allowed",
  },
  { scene: "none", and: later, status: 401, code: "missing_api_key" },
  { scene: "an unknown key", and: later, status: 401, code: "invalid_api_key" },
  {
    scene: "a revoked key that is past its expiry",
    and: later,
    status: 401,
    code: "api_key_revoked",
  },
  { scene: "a revoked key of a demo workspace", and: later, status: 401, code: "api_key_revoked" },
  {
    scene: "an expired key of a disabled account",
    and: later,
    status: 401,
    code: "api_key_expired",
  },
  {
    scene: "a key of a deleted workspace whose account was disabled",
    and: later,
    status: 401,
    code: "api_key_revoked",
  },
  {
    scene: "a key of a demo workspace whose account is disabled",
    and: later,
    status: 403,
    code: "account_disabled",
  },
  {
    scene: "a key of a demo workspace without version 2",
    and: later,
    status: 403,
    code: "demo_account",
  },
  {
    scene: "a key without scope of a workspace without version 2",
    and: later,
    status: 403,
    code: "api_v2_not_enabled",
  },
  {
    scene: "a key without scope that is over its limit",
    and: later,
    status: 429,
    code: "rate_limited",
  },
  { scene: "a key without scope", and: later, status: 403, code: "missing_scope" },
  { scene: "a good key", and: later, status: 400, code: "invalid_idempotency_key" },
  {
    scene: "a good key",
    call: { ...wrongThroughout, headers: [["content-type", "text/plain"]] },
    and: "wrong content type, size and JSON",
    status: 415,
    code: "unsupported_content_type",
  },
  {
    scene: "a good key",
    call: { ...wrongThroughout, headers: [json] },
    and: "wrong size and JSON",
    status: 413,
    code: "request_too_large",
  },
  {
    scene: "a good key",
    call: { ...wrongThroughout, headers: [json], body: '{"to": 1, "to": 2}' },
    and: "wrong JSON and fields",
    status: 400,
    code: "invalid_json",
  },
  {
    scene: "a good key that has sent with that Idempotency-Key",
    call: {
      method: "POST",
      path: "/api/v2/messages",
      headers: [sameKey],
      json: { ...inThePast, unknown: 1 },
    },
    and: "wrong fields and a key that was used",
    status: 400,
    code: "validation_failed",
  },
  {
    scene: "a good key that has sent with that Idempotency-Key",
    call: { method: "POST", path: "/api/v2/messages", headers: [sameKey], json: inThePast },
    and: "a key that was used and a time in the past",
    status: 422,
    code: "idempotency_key_reused",
  },
  {
    scene: "a good key of a workspace without credits or number",
    call: { method: "POST", path: "/api/v2/messages", json: inThePast },
    and: "a time in the past",
    status: 422,
    code: "time_in_past",
  },
  {
    scene: "a good key of a workspace without credits or number",
    call: { method: "POST", path: "/api/v2/messages", json: aText },
    and: "no number to send from",
    status: 422,
    code: "from_required",
  },
  {
    scene: "a good key of a workspace without credits",
    call: { method: "POST", path: "/api/v2/messages", json: aText },
    and: "nothing else wrong",
    status: 402,
    code: "no_credits",
  },
]

layer(layerService())("the order of checks", (it) => {
  for (const { scene, call = wrongThroughout, and, status, code } of cases) {
    for (const name of ["socket", "web"] as const) {
      it.effect(`${scene}, with ${and}, is ${code} over the ${name}`, () =>
        Effect.gen(function* () {
          const { [name]: client } = yield* HttpTestClients
          const credentials: { readonly token?: string } = yield* scenes[scene]
          const answer = yield* client.call({ ...call, ...credentials })
          assert.strictEqual(answer.status, status, answer.text)
          assert.strictEqual(errorBody(answer).code, code)
        }),
      )
    }
  }
})
