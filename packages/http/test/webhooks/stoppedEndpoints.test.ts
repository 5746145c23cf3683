/** Endpoints that stop because every delivery failed for days. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { aKey, aSender, expectBody, revoke, settle } from "../Records.ts"
import { send } from "../v2/Asking.ts"
import { anEndpoint, layerWithWayOut, log, pass, read, redeliver, resume } from "./Asking.ts"
import { aReceiver, eventIds, withStatus } from "./Receiver.ts"
import { hour, delays, surely } from "./Retrying.ts"

layer(layerWithWayOut())("an endpoint stops", (it) => {
  /** An event that fails until it has used up its attempts. */
  const inVain = (token: string) =>
    Effect.gen(function* () {
      yield* send(token)
      yield* settle
      for (const delay of delays) yield* pass(surely(delay))
    })

  it.effect("when an event is used up and nothing has been delivered for 120 h", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      receiver.answer = withStatus(500)
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      yield* pass(90 * hour)
      yield* inVain(token)
      assert.isTrue((yield* read(token, endpoint)).active, "after 114 h")
      // A pending delivery, which ends with it.
      yield* pass(5 * hour)
      yield* send(token)
      yield* settle
      yield* inVain(token)
      const stopped = yield* read(token, endpoint)
      assert.deepStrictEqual(
        [stopped.active, stopped.disabled_reason],
        [false, "delivery_failures"],
      )
      assert.strictEqual(stopped.last_delivery?.status, "failed")
      assert.isNull(stopped.last_delivery?.next_attempt_at)
      const attempts = receiver.deliveries.length
      yield* send(token)
      yield* pass(24 * hour)
      assert.lengthOf(receiver.deliveries, attempts)

      // Resumed, it has 120 h again.
      expectBody(yield* resume(workspace, endpoint), 200)
      yield* inVain(token)
      assert.isTrue((yield* read(token, endpoint)).active)
      receiver.answer = withStatus(200)
      yield* send(token)
      yield* settle
      assert.strictEqual((yield* read(token, endpoint)).last_delivery?.status, "delivered")
    }),
  )

  it.effect("a delivery in between restarts the 120 h", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      yield* pass(110 * hour)
      yield* send(token)
      yield* settle
      receiver.answer = withStatus(500)
      yield* inVain(token)
      assert.isTrue((yield* read(token, endpoint)).active)
    }),
  )

  it.effect("when the key that made it is revoked: its retries end, and resume on request", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      receiver.answer = withStatus(500)
      const { token, workspace } = yield* aSender()
      const maker = yield* aKey(workspace)
      const endpoint = yield* anEndpoint(maker.key, receiver)
      yield* send(token)
      yield* settle
      const [eventId = ""] = eventIds(receiver)
      yield* revoke(workspace, maker)
      const stopped = yield* read(token, endpoint)
      assert.deepStrictEqual([stopped.active, stopped.disabled_reason], [false, "key_revoked"])
      const refused = yield* redeliver(workspace, endpoint, eventId)
      assert.strictEqual(refused.status, 409)
      assert.strictEqual(errorBody(refused).code, "webhook_stopped")
      yield* pass(hour)
      assert.lengthOf(receiver.deliveries, 1)

      expectBody(yield* resume(workspace, endpoint), 200)
      yield* pass(hour)
      assert.lengthOf(receiver.deliveries, 1)
      assert.deepStrictEqual(expectBody(yield* redeliver(workspace, endpoint, eventId), 202), {
        event_id: eventId,
        type: "message.sent",
        queued: true,
      })
      yield* settle
      // A new schedule with attempt 1 and the same event id.
      yield* pass(surely(5))
      assert.deepStrictEqual(eventIds(receiver), [eventId, eventId, eventId])
      const { data } = yield* log(workspace, endpoint)
      assert.deepStrictEqual(
        data.map(({ attempt }) => attempt),
        [2, 1, 1],
      )
    }),
  )
})
