/** Webhook endpoints: created, listed, changed and removed by a key, once for an Idempotency-Key. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aKey, aSender, expectBody, revoke } from "../Records.ts"
import {
  anEndpoint,
  ask,
  create,
  listed,
  path,
  read,
  remove,
  rotate,
  test,
  hook,
} from "./Asking.ts"
import type { EndpointBody } from "./Asking.ts"

layer(layerService())("webhook endpoints", (it) => {
  it.effect("are created active, and show the secret only then", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const endpoint = expectBody<EndpointBody>(
        yield* create(token, { ...hook, events: ["message.failed"], description: "Mine" }),
        201,
      )
      assert.match(endpoint.secret, /^[0-9a-f]{64}$/)
      const { secret, ...shown } = endpoint
      assert.deepStrictEqual<unknown>(shown, {
        id: endpoint.id,
        ...hook,
        description: "Mine",
        events: ["message.failed"],
        secret_last4: secret.slice(-4),
        active: true,
        disabled_reason: null,
        created_at: "1970-01-01T00:00:00Z",
        last_delivery: null,
      })
      assert.deepStrictEqual<unknown>(yield* read(token, endpoint), shown)
      const list = yield* ask({ path, token })
      assert.deepStrictEqual(expectBody(list, 200), { data: [shown] })
    }),
  )

  it.effect("have a list without a cursor, with a trailing slash and HEAD like any other", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const first = yield* anEndpoint(token, hook)
      const second = yield* anEndpoint(token, hook)
      assert.deepStrictEqual(yield* listed(token), [first.id, second.id])
      assert.strictEqual((yield* ask({ path: `${path}/`, token })).status, 200)
      assert.strictEqual((yield* ask({ method: "HEAD", path, token })).status, 200)
      const patch = yield* ask({ method: "PATCH", path: `${path}/${first.id}`, token })
      assert.strictEqual(patch.status, 405)
      assert.strictEqual(patch.headers["allow"], "GET, HEAD, DELETE")
    }),
  )

  it.effect(
    "answer a sixth running one with webhook_limit_reached, whichever mode the others are",
    () =>
      Effect.gen(function* () {
        const { token, workspace } = yield* aSender()
        const test = (yield* aKey(workspace, { mode: "test" })).key
        for (let createdCount = 0; createdCount < 3; createdCount++) yield* anEndpoint(token, hook)
        const mine = yield* anEndpoint(test, hook)
        yield* anEndpoint(test, hook)
        for (const key of [token, test]) {
          const refused = yield* create(key, hook)
          assert.strictEqual(refused.status, 403)
          assert.strictEqual(errorBody(refused).code, "webhook_limit_reached")
        }
        expectBody(yield* remove(test, mine), 200)
        yield* anEndpoint(token, hook)
        assert.strictEqual(errorBody(yield* create(test, hook)).code, "webhook_limit_reached")
      }),
  )

  it.effect("do not count towards the 5 when stopped", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const other = yield* aKey(workspace)
      for (let createdCount = 0; createdCount < 5; createdCount++)
        yield* anEndpoint(other.key, hook)
      assert.strictEqual((yield* create(token, hook)).status, 403)
      yield* revoke(workspace, other)
      const endpoint = yield* anEndpoint(token, hook)
      assert.deepStrictEqual(yield* listed(token), [endpoint.id])
    }),
  )

  it.effect("are seen and changed only by keys of their own mode and workspace", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const strangers = [(yield* aKey(workspace, { mode: "test" })).key, (yield* aSender()).token]
      const endpoint = yield* anEndpoint(token, hook)
      for (const stranger of strangers) {
        assert.deepStrictEqual(yield* listed(stranger), [])
        for (const answer of [
          yield* ask({ path: `${path}/${endpoint.id}`, token: stranger }),
          yield* remove(stranger, endpoint),
          yield* ask({
            method: "POST",
            path: `${path}/${endpoint.id}/rotate-secret`,
            token: stranger,
          }),
          yield* test(stranger, endpoint),
        ]) {
          assert.strictEqual(answer.status, 404)
          assert.strictEqual(errorBody(answer).code, "webhook_not_found")
        }
      }
      // Another key of the same mode sees it.
      const colleague = (yield* aKey(workspace)).key
      assert.deepStrictEqual(yield* listed(colleague), [endpoint.id])
    }),
  )

  it.effect("a new secret replaces the old one", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const endpoint = yield* anEndpoint(token, hook)
      const rotated = yield* rotate(token, endpoint)
      assert.match(rotated.secret, /^[0-9a-f]{64}$/)
      assert.notStrictEqual(rotated.secret, endpoint.secret)
      assert.strictEqual(rotated.secret_last4, rotated.secret.slice(-4))
      const { secret: _, ...shown } = rotated
      assert.deepStrictEqual<unknown>(yield* read(token, endpoint), shown)
    }),
  )

  it.effect("POST without a body needs no content type and ignores Idempotency-Key", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const endpoint = yield* anEndpoint(token, hook)
      const headers = [["idempotency-key", ""]] as const
      for (const [rest, status] of [
        ["/rotate-secret", 200],
        ["/test", 202],
      ] as const) {
        const at = `${path}/${endpoint.id}${rest}`
        assert.strictEqual(
          (yield* ask({ method: "POST", path: at, token, headers })).status,
          status,
        )
      }
    }),
  )

  it.effect("a test answers 202 with the queued ping, on a stopped endpoint webhook_stopped", () =>
    Effect.gen(function* () {
      const { token, workspace, key } = yield* aSender()
      const other = (yield* aKey(workspace)).key
      const endpoint = yield* anEndpoint(token, hook)
      const queued = expectBody<{ readonly event_id: string }>(yield* test(token, endpoint), 202)
      assert.match(queued.event_id, /^evt_[0-9A-Za-z]{24}$/)
      assert.deepStrictEqual<unknown>(queued, {
        event_id: queued.event_id,
        type: "ping",
        queued: true,
      })
      yield* revoke(workspace, key)
      const stopped = yield* read(other, endpoint)
      assert.strictEqual(stopped.active, false)
      assert.strictEqual(stopped.disabled_reason, "key_revoked")
      assert.deepStrictEqual(yield* listed(other), [])
      const refused = yield* test(other, endpoint)
      assert.strictEqual(refused.status, 409)
      assert.strictEqual(errorBody(refused).code, "webhook_stopped")
      // Rotate and delete work on it as on a running one.
      assert.strictEqual((yield* rotate(other, endpoint)).active, false)
      expectBody(yield* remove(other, endpoint), 200)
    }),
  )
})

layer(layerService())("an idempotent creation", (it) => {
  const keyed = [["idempotency-key", "hook 1"]] as const

  it.effect("a repeat adds no second endpoint and its answer omits the secret", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const first = yield* create(token, hook, keyed)
      const { secret: _, ...shown } = expectBody<EndpointBody>(first, 201)
      assert.notProperty(first.headers, "idempotent-replayed")
      const repeat = yield* create(token, hook, keyed)
      assert.strictEqual(repeat.headers["idempotent-replayed"], "true")
      assert.deepStrictEqual<unknown>(expectBody(repeat, 201), shown)
      assert.deepStrictEqual(yield* listed(token), [shown.id])
    }),
  )

  it.effect("a repeat is the first answer, whatever happened to the endpoint since", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { secret: _, ...shown } = expectBody<EndpointBody>(
        yield* create(token, hook, keyed),
        201,
      )
      yield* rotate(token, shown)
      expectBody(yield* remove(token, shown), 200)
      // Above the limit too.
      for (let createdCount = 0; createdCount < 5; createdCount++) yield* anEndpoint(token, hook)
      assert.deepStrictEqual<unknown>(expectBody(yield* create(token, hook, keyed), 201), shown)
    }),
  )

  it.effect("of many at once one makes an endpoint, and only one shows a secret", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const answers = yield* Effect.forEach(
        Array.from({ length: 8 }),
        () => create(token, hook, keyed),
        { concurrency: "unbounded" },
      )
      assert.lengthOf(yield* listed(token), 1)
      const secrets = answers.filter(
        ({ status, text }) => status === 201 && text.includes('"secret":'),
      )
      assert.lengthOf(secrets, 1)
      for (const { status } of answers) assert.include([201, 409], status)
    }),
  )
})
