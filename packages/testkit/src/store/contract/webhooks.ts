/** `WebhookStore`: visibility and number of endpoints, and stopping, removing and resuming them. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { ApiKey, WebhookEndpoint } from "@messaging-service/core"
import { Effect } from "effect"
import {
  anEndpoint,
  anEvent,
  aStageWithKey,
  claimDue,
  claimTheOne,
  lookUpEndpoint,
  manyEndpoints,
  toScope,
} from "../Delivering.ts"
import type { Topic } from "../Topic.ts"
import { aKey, hour, noon } from "../Records.ts"

const revoke = (key: ApiKey) =>
  Store.use(({ workspaces: store }) => store.revokeKey(key.workspaceId, key.id, noon + hour))

const resume = (endpoint: WebhookEndpoint, limit = manyEndpoints) =>
  Store.use(({ webhooks: store }) =>
    store.resume(toScope(endpoint), endpoint.id, limit, noon + hour),
  )

export const webhooks: Topic = (it) => {
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
      assert.isNull(yield* store.get(toScope(key), endpoint.id))
      assert.deepStrictEqual(yield* claimDue(), [])
      yield* anEvent(another)
      assert.strictEqual((yield* claimTheOne()).targetId, kept.id)
    }),
  )
}
