/** Webhook endpoints: the order of checks, addresses, and the operator's actions. */
import { assert, layer } from "@effect/vitest"
import { EgressError } from "@messaging-service/core"
import { layerEgress, realTimeLayer } from "@messaging-service/node"
import { Effect, Layer } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aSession } from "../operator/sessionCookies.ts"
import { aKey, aSender, expectBody, operate, revoke } from "../Records.ts"
import {
  anEndpoint,
  ask,
  create,
  listed,
  operatorPath,
  path,
  remove,
  resume,
  hook,
} from "./Asking.ts"
import type { EndpointBody } from "./Asking.ts"

/** Names that resolve as they say. The public addresses are unassigned: no registry has any of 3000::/4. */
const addresses: Readonly<Record<string, ReadonlyArray<string>>> = {
  "public.example": ["3000::34", "3000::1111"],
  "inside.example": ["10.0.0.1"],
  "both.example": ["3000::34", "192.168.0.1"],
}

const guarded = layerEgress({
  resolve: (name) => {
    const found = addresses[name]
    return found === undefined
      ? Effect.fail(new EgressError({ reason: "dns" }))
      : Effect.succeed(found)
  },
}).pipe(Layer.provide(realTimeLayer))

layer(layerService())("permissions of webhook endpoints", (it) => {
  it.effect("are checked after the scope, and before Idempotency-Key, content type and body", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aSender()
      const wrongThroughout = {
        method: "POST",
        path,
        headers: [
          ["idempotency-key", ""],
          ["content-type", "text/plain"],
        ],
        body: "{",
      } as const
      const limits = { number_ids: [number.id] }
      const limited = (yield* aKey(workspace, limits)).key
      const scopeless = (yield* aKey(workspace, { ...limits, scopes: ["messages:send"] })).key
      const both = yield* ask({ ...wrongThroughout, token: scopeless })
      assert.strictEqual(errorBody(both).code, "missing_scope")
      assert.strictEqual(errorBody(both)["required_scope"], "messages:read")
      const ban = yield* ask({ ...wrongThroughout, token: limited })
      assert.strictEqual(errorBody(ban).code, "number_not_allowed")
      const free = (yield* aKey(workspace)).key
      const rest = yield* ask({ ...wrongThroughout, token: free })
      assert.strictEqual(errorBody(rest).code, "invalid_idempotency_key")
    }),
  )
})

layer(layerService({ egress: guarded }))("an address", (it) => {
  for (const url of [
    "http://public.example/",
    "https://localhost/",
    "https://inside.example/",
    "https://both.example/",
    "not a link",
  ]) {
    it.effect(`${JSON.stringify(url)} is invalid_webhook_url`, () =>
      Effect.gen(function* () {
        const { token } = yield* aSender()
        const answer = yield* create(token, { url })
        assert.strictEqual(answer.status, 422)
        assert.strictEqual(errorBody(answer).code, "invalid_webhook_url")
        assert.strictEqual(errorBody(answer).field, "url")
        assert.deepStrictEqual(yield* listed(token), [])
      }),
    )
  }

  it.effect(
    "names the operator's setting to the operator alone, where it would allow the URL",
    () =>
      Effect.gen(function* () {
        const { token, workspace } = yield* aSender()
        const cookie = yield* aSession("owner", workspace.id)
        const request = { method: "POST", path: operatorPath(workspace) } as const
        for (const [url, isNamed] of [
          ["http://localhost:3000/", true],
          ["https://inside.example/", true],
          ["not a link", false],
        ] as const) {
          const error = errorBody(yield* operate({ ...request, json: { url } }))
          const names = String(error.message).includes("ALLOW_PRIVATE_TARGETS=true")
          assert.deepStrictEqual([error.code, names], ["invalid_webhook_url", isNamed], url)
          const headers = [
            ["cookie", cookie],
            ["sec-fetch-site", "same-origin"],
          ] as const
          for (const customer of [
            yield* create(token, { url }),
            yield* ask({ ...request, json: { url }, headers }),
          ]) {
            assert.strictEqual(errorBody(customer).code, "invalid_webhook_url")
            assert.notInclude(customer.text, "ALLOW_PRIVATE_TARGETS")
          }
        }
      }),
  )

  it.effect("is accepted when public, on any port; so is a name that does not resolve", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      for (const url of [
        "https://public.example/a?b=c",
        "https://public.example:8443/",
        "https://[3000::34]/",
        "https://nowhere.example/",
      ]) {
        assert.strictEqual((yield* anEndpoint(token, { url })).url, url)
      }
    }),
  )
})

layer(layerService())("the operator", (it) => {
  it.effect("sees the endpoints of both modes, stopped ones included, without secrets", () =>
    Effect.gen(function* () {
      const { token, workspace, key } = yield* aSender()
      const test = (yield* aKey(workspace, { mode: "test" })).key
      const live = yield* anEndpoint(token, hook)
      const other = yield* anEndpoint(test, hook)
      yield* revoke(workspace, key)
      const list = yield* operate({ path: operatorPath(workspace) })
      const { data } = expectBody<{ readonly data: ReadonlyArray<EndpointBody> }>(list, 200)
      assert.deepStrictEqual(
        data.map(({ id, active, disabled_reason: reason }) => [id, active, reason]),
        [
          [live.id, false, "key_revoked"],
          [other.id, true, null],
        ],
      )
      assert.notInclude(list.text, '"secret":')
    }),
  )

  it.effect("resumes a stopped endpoint, but not a sixth", () =>
    Effect.gen(function* () {
      const { token, workspace, key } = yield* aSender()
      const other = (yield* aKey(workspace)).key
      const endpoint = yield* anEndpoint(token, hook)
      yield* revoke(workspace, key)
      for (let createdCount = 0; createdCount < 5; createdCount++) yield* anEndpoint(other, hook)
      const refused = yield* resume(workspace, endpoint)
      assert.strictEqual(refused.status, 403)
      assert.strictEqual(errorBody(refused).code, "webhook_limit_reached")
      const [first] = yield* listed(other)
      expectBody(yield* remove(other, { id: first ?? 0 }), 200)
      const resumed = expectBody<EndpointBody>(yield* resume(workspace, endpoint), 200)
      assert.strictEqual(resumed.active, true)
      assert.isNull(resumed.disabled_reason)
      assert.notProperty(resumed, "secret")
      assert.include(yield* listed(other), endpoint.id)
      // A second time changes nothing.
      assert.deepStrictEqual(expectBody(yield* resume(workspace, endpoint), 200), resumed)
    }),
  )

  it.effect("finds no endpoint of another workspace: webhook_not_found", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(token, hook)
      for (const [method, rest, json] of [
        ["GET", "/deliveries", undefined],
        ["POST", "/resume", undefined],
        ["POST", "/redeliver", { event_id: "evt_x" }],
      ] as const) {
        for (const id of [endpoint.id, 999_999]) {
          const answer = yield* operate({
            method,
            path: operatorPath(workspace, { id }, rest),
            ...(json === undefined ? {} : { json }),
          })
          assert.strictEqual(answer.status, 404)
          assert.strictEqual(errorBody(answer).code, "webhook_not_found")
        }
      }
      const unknown = yield* operate({ path: operatorPath({ id: 999_999 }) })
      assert.strictEqual(errorBody(unknown).code, "workspace_not_found")
    }),
  )
})
