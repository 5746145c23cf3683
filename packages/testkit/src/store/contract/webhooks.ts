/** `WebhookStore`: visibility and number of endpoints, and stopping, removing and resuming them. */
import { assert } from "@effect/vitest"
import { endpointLimit, Store } from "@messaging-service/core"
import type { ApiKey, NewWebhook, WebhookEndpoint, WebhookId } from "@messaging-service/core"
import { Effect } from "effect"
import {
  anEndpoint,
  anEvent,
  aNewWebhook,
  aStageWithKey,
  claimDue,
  claimTheOne,
  lookUpEndpoint,
  manyEndpoints,
  refused,
  scopeOf,
  settleDeliveries,
} from "../Delivering.ts"
import { at, ids, present } from "../Expect.ts"
import { claimKey } from "../Reading.ts"
import type { Topic } from "../Topic.ts"
import { aClaim, aKey, hour, noon, oneSecond } from "../Records.ts"

const insert = (endpoint: NewWebhook, limit = manyEndpoints) =>
  Store.use(({ webhooks: store }) => store.insert(endpoint, limit, null))

/** The guard that an insertion broke; null when it went through. */
const brokenBy = (endpoint: NewWebhook, limit = manyEndpoints) =>
  Effect.map(insert(endpoint, limit), (outcome) =>
    outcome._tag === "Broken" ? outcome.guard : null,
  )

const listed = (key: ApiKey, stopped = false) =>
  Store.use(({ webhooks: store }) => store.list(scopeOf(key), stopped))

const revoke = (key: ApiKey) =>
  Store.use(({ workspaces: store }) => store.revokeKey(key.workspaceId, key.id, noon + hour))

const resume = (endpoint: WebhookEndpoint, limit = manyEndpoints) =>
  Store.use(({ webhooks: store }) =>
    store.resume(scopeOf(endpoint), endpoint.id, limit, noon + hour),
  )

export const webhooks: Topic = (it) => {
  it.effect("a new endpoint runs, has never been called, and is kept as given", () =>
    Effect.gen(function* () {
      const { key } = yield* aStageWithKey()
      const given = aNewWebhook(key, {
        url: "https://Example.com:8443/größe?a=b",
        description: "Ünïcode ✓",
        events: ["message.failed", "message.sent"],
        createdAt: noon + 7,
      })
      const endpoint = yield* anEndpoint(key, given)
      assert.deepStrictEqual(endpoint, {
        ...given,
        id: endpoint.id,
        firstSecretLast4: given.secretLast4,
        disabledReason: null,
        lastAttempt: null,
      })
      assert.deepStrictEqual(yield* lookUpEndpoint(endpoint), endpoint)
      const store = (yield* Store).webhooks
      assert.deepStrictEqual(yield* store.made(endpoint.id), endpoint)
    }),
  )

  it.effect("a list is oldest first, of its workspace and mode alone; the operator's of both", () =>
    Effect.gen(function* () {
      const { key, workspace } = yield* aStageWithKey()
      const { key: test } = yield* aKey(workspace.id, { mode: "test" })
      const { key: stranger } = yield* aStageWithKey()
      const first = yield* anEndpoint(key)
      const second = yield* anEndpoint(test)
      const third = yield* anEndpoint(key)
      yield* anEndpoint(stranger)
      assert.deepStrictEqual(ids(yield* listed(key)), [first.id, third.id])
      assert.deepStrictEqual(ids(yield* listed(test)), [second.id])
      const store = (yield* Store).webhooks
      const all = yield* store.list({ workspaceId: workspace.id, mode: null }, true)
      assert.deepStrictEqual(all, [first, second, third])
    }),
  )

  it.effect(
    "an endpoint of another workspace or mode is as unknown as one that never existed",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).webhooks
        const { key, workspace } = yield* aStageWithKey()
        const { key: test } = yield* aKey(workspace.id, { mode: "test" })
        const { key: stranger } = yield* aStageWithKey()
        const endpoint = yield* anEndpoint(key)
        const secret = { secretSalt: "another", secretLast4: "aaaa" }
        const ping = { id: "evt_x" as never, createdAt: noon, body: "{}" }
        for (const [scope, id] of [
          [scopeOf(test), endpoint.id],
          [scopeOf(stranger), endpoint.id],
          [scopeOf(key), (endpoint.id + 1_000_000) as WebhookId],
        ] as const) {
          assert.isNull(yield* store.get(scope, id))
          assert.isNull(yield* store.rotate(scope, id, secret))
          assert.isFalse(yield* store.remove(scope, id, noon))
          assert.isNull(yield* store.resume(scope, id, manyEndpoints, noon))
          assert.deepStrictEqual(yield* store.ping(scope, id, ping), { _tag: "NoEndpoint" })
          assert.deepStrictEqual(yield* store.redeliver(scope, id, ping.id, noon), {
            _tag: "NoEndpoint",
          })
        }
        assert.deepStrictEqual(yield* lookUpEndpoint(endpoint), endpoint)
        const operator = { workspaceId: workspace.id, mode: null }
        assert.deepStrictEqual(yield* store.get(operator, endpoint.id), endpoint)
      }),
  )

  it.effect("the limit counts the running endpoints of both modes, and of no other workspace", () =>
    Effect.gen(function* () {
      const { key, workspace } = yield* aStageWithKey()
      const { key: test } = yield* aKey(workspace.id, { mode: "test" })
      const { key: other } = yield* aKey(workspace.id)
      const { key: stranger } = yield* aStageWithKey()
      for (let made = 0; made < 3; made++) yield* anEndpoint(key)
      yield* anEndpoint(other)
      yield* anEndpoint(test)
      yield* anEndpoint(stranger)
      assert.strictEqual(yield* brokenBy(aNewWebhook(key), endpointLimit), "limit")
      assert.strictEqual(yield* brokenBy(aNewWebhook(test), endpointLimit), "limit")
      assert.lengthOf(yield* listed(key), 4)
      // A stopped one does not count, and neither does a removed one.
      yield* revoke(other)
      assert.isNull(yield* brokenBy(aNewWebhook(test), endpointLimit))
      assert.strictEqual(yield* brokenBy(aNewWebhook(test), endpointLimit), "limit")
      const store = (yield* Store).webhooks
      const [gone] = yield* listed(test)
      assert.isTrue(yield* store.remove(scopeOf(test), present(gone).id, noon))
      assert.isNull(yield* brokenBy(aNewWebhook(test), endpointLimit))
    }),
  )

  it.effect("an idempotent creation finishes its claim, and is refused without it", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, workspace } = yield* aStageWithKey()
      const claim = aClaim(key.id)
      const given = aNewWebhook(key)
      assert.deepStrictEqual(yield* store.insert(given, manyEndpoints, claim), {
        _tag: "Broken",
        guard: "idempotency",
      })
      assert.deepStrictEqual(yield* claimKey(workspace.id, claim), { _tag: "Claimed" })
      const inserted = yield* store.insert(given, manyEndpoints, claim)
      const [endpoint] = yield* listed(key)
      assert.deepStrictEqual(inserted, { _tag: "Inserted", endpoint: present(endpoint) })
      assert.deepStrictEqual(yield* claimKey(workspace.id, { ...claim, token: "repeat" }), {
        _tag: "Finished",
        record: {
          fingerprint: claim.fingerprint,
          madeIds: [present(endpoint).id],
          createdAt: noon,
        },
      })
    }),
  )

  it.effect("a revoked key creates nothing: its endpoints have stopped with it", () =>
    Effect.gen(function* () {
      const { key } = yield* aStageWithKey()
      yield* revoke(key)
      assert.strictEqual(yield* brokenBy(aNewWebhook(key)), "key")
      assert.deepStrictEqual(yield* listed(key, true), [])
    }),
  )

  it.effect("an endpoint created without a key outlives every key", () =>
    Effect.gen(function* () {
      const { key } = yield* aStageWithKey()
      const keyless = yield* anEndpoint(key, { keyId: null })
      yield* anEndpoint(key)
      yield* revoke(key)
      assert.deepStrictEqual(yield* listed(key), [keyless])
      assert.strictEqual(yield* brokenBy(aNewWebhook(key)), "key")
      yield* anEndpoint(key, { keyId: null })
    }),
  )

  it.effect("a rotated secret is the one of every later claim; the first one's end is kept", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      yield* anEvent(number)
      const secret = { secretSalt: "another", secretLast4: "beef" }
      const rotated = yield* store.rotate(scopeOf(key), endpoint.id, secret)
      assert.deepStrictEqual(rotated, { ...endpoint, ...secret })
      assert.deepStrictEqual(yield* lookUpEndpoint(endpoint), { ...endpoint, ...secret })
      const claimed = yield* claimTheOne()
      assert.strictEqual(claimed.secretSalt, "another")
      // A retry has the secret of its own moment, not the one of the first attempt.
      yield* store.rotate(scopeOf(key), endpoint.id, { ...secret, secretSalt: "a third one" })
      yield* settleDeliveries(refused(claimed, noon))
      assert.strictEqual((yield* claimTheOne()).secretSalt, "a third one")
    }),
  )

  it.effect(
    "a removed endpoint is gone with its pending deliveries, but its creation is remembered",
    () =>
      Effect.gen(function* () {
        const store = (yield* Store).webhooks
        const { key, number } = yield* aStageWithKey()
        const endpoint = yield* anEndpoint(key)
        yield* anEvent(number)
        assert.isTrue(yield* store.remove(scopeOf(key), endpoint.id, noon))
        assert.isFalse(yield* store.remove(scopeOf(key), endpoint.id, noon))
        assert.isNull(yield* store.get(scopeOf(key), endpoint.id))
        assert.deepStrictEqual(yield* listed(key, true), [])
        assert.deepStrictEqual(yield* store.made(endpoint.id), endpoint)
        yield* anEvent(number)
        assert.deepStrictEqual(yield* claimDue(), [])
      }),
  )

  it.effect("revoking a key stops its endpoints, and ends their pending deliveries", () =>
    Effect.gen(function* () {
      const { key, number, workspace } = yield* aStageWithKey()
      const { key: other } = yield* aKey(workspace.id)
      const endpoint = yield* anEndpoint(key)
      const running = yield* anEndpoint(other)
      yield* anEvent(number)
      yield* revoke(key)
      const stopped: WebhookEndpoint = { ...endpoint, disabledReason: "key_revoked" }
      assert.deepStrictEqual(yield* lookUpEndpoint(endpoint), stopped)
      assert.deepStrictEqual(yield* listed(key), [running])
      assert.deepStrictEqual(yield* listed(key, true), [stopped, running])
      yield* anEvent(number)
      const claimed = yield* claimDue()
      assert.lengthOf(claimed, 2)
      assert.isTrue(claimed.every((delivery) => delivery.targetId === running.id))
      // Revoking again changes nothing.
      yield* revoke(key)
      assert.deepStrictEqual(yield* lookUpEndpoint(endpoint), stopped)
    }),
  )

  it.effect("a resumed endpoint hears of later events", () =>
    Effect.gen(function* () {
      const { key, number } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      yield* anEvent(number)
      yield* revoke(key)
      yield* anEvent(number)
      assert.deepStrictEqual(yield* resume(endpoint), endpoint)
      assert.deepStrictEqual(yield* lookUpEndpoint(endpoint), endpoint)
      assert.deepStrictEqual(yield* claimDue(), [])
      const event = yield* anEvent(number)
      assert.strictEqual((yield* claimTheOne()).eventId, event.id)
      // Resuming a running one leaves it unchanged, whatever the limit.
      assert.deepStrictEqual(yield* resume(endpoint, 1), endpoint)
    }),
  )

  it.effect("an endpoint is not resumed above the limit", () =>
    Effect.gen(function* () {
      const { key, workspace } = yield* aStageWithKey()
      const { key: other } = yield* aKey(workspace.id)
      const endpoint = yield* anEndpoint(key)
      yield* revoke(key)
      yield* anEndpoint(other)
      assert.strictEqual(yield* resume(endpoint, 1), "limit")
      assert.strictEqual((yield* lookUpEndpoint(endpoint)).disabledReason, "key_revoked")
      assert.deepStrictEqual(yield* resume(endpoint, 2), endpoint)
    }),
  )

  it.effect("deleting a workspace removes its endpoints: nothing more is sent", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key, number, workspace } = yield* aStageWithKey()
      const { key: stranger, number: another } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      const kept = yield* anEndpoint(stranger)
      yield* anEvent(number)
      yield* Store.use(({ workspaces }) => workspaces.delete(workspace.id, noon))
      assert.isNull(yield* store.get(scopeOf(key), endpoint.id))
      assert.deepStrictEqual(yield* claimDue(), [])
      yield* anEvent(another)
      assert.strictEqual((yield* claimTheOne()).targetId, kept.id)
    }),
  )

  it.effect("a ping reaches that endpoint alone, whatever its subscription", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key } = yield* aStageWithKey()
      yield* anEndpoint(key)
      const endpoint = yield* anEndpoint(key, { events: ["message.sent"] })
      const body = '{"id":"evt_1", "größe": "🦉"}\n'
      const ping = { id: "evt_ping" as never, createdAt: noon + oneSecond, body }
      assert.deepStrictEqual(yield* store.ping(scopeOf(key), endpoint.id, ping), {
        _tag: "Queued",
        type: "ping",
      })
      assert.deepStrictEqual(yield* claimDue({ now: noon }), [])
      const claimed = yield* claimTheOne({ now: noon + oneSecond })
      assert.deepStrictEqual(claimed, {
        id: claimed.id,
        kind: "webhook",
        targetId: endpoint.id,
        workspaceId: key.workspaceId,
        lease: claimed.lease,
        eventId: ping.id,
        body,
        attempt: 1,
        url: endpoint.url,
        secretSalt: endpoint.secretSalt,
      })
    }),
  )

  it.effect("a stopped endpoint takes neither a ping nor a redelivery, but a new secret", () =>
    Effect.gen(function* () {
      const store = (yield* Store).webhooks
      const { key } = yield* aStageWithKey()
      const endpoint = yield* anEndpoint(key)
      yield* revoke(key)
      const scope = scopeOf(key)
      const ping = { id: "evt_ping" as never, createdAt: noon, body: "{}" }
      const stopped = { _tag: "Stopped" } as const
      assert.deepStrictEqual(yield* store.ping(scope, endpoint.id, ping), stopped)
      assert.deepStrictEqual(yield* store.redeliver(scope, endpoint.id, ping.id, noon), stopped)
      const secret = { secretSalt: "another", secretLast4: "beef" }
      const rotated = yield* store.rotate(scope, endpoint.id, secret)
      assert.strictEqual(present(rotated).secretLast4, "beef")
      assert.deepStrictEqual(yield* claimDue(), [])
      assert.deepStrictEqual(at(yield* listed(key, true), 0), present(rotated))
    }),
  )
}
