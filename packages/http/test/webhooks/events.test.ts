/** Events to real receivers: their causes, their targets, and their content. */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { aKey, aSender, expectBody, operate, settle } from "../Records.ts"
import { cancel, get, send } from "../v2/Asking.ts"
import { anEndpoint, layerWithWayOut, read, test, simulator } from "./Asking.ts"
import { aReceiver, bodyOfDelivery, eventIds, expectedSignature, getTypes } from "./Receiver.ts"

layer(layerWithWayOut())("an event", (it) => {
  it.effect("arrives as a POST with the contract's headers and the whole Message", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token } = yield* aSender()
      const { secret } = yield* anEndpoint(token, receiver)
      const message = yield* send(token, { text: "Grüße 🦉" })
      yield* settle
      assert.lengthOf(receiver.deliveries, 1)
      const delivery = receiver.deliveries[0]!
      const event = bodyOfDelivery(delivery)
      assert.strictEqual(delivery.method, "POST")
      assert.strictEqual(delivery.path, "/hook")
      assert.strictEqual(delivery.headers["content-type"], "application/json")
      assert.strictEqual(delivery.headers["user-agent"], "Service-Webhooks/2")
      assert.strictEqual(delivery.headers["service-event-id"], event.id)
      const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
      assert.strictEqual(delivery.headers["service-timestamp"], String(now))
      assert.strictEqual(delivery.headers["service-signature"], expectedSignature(delivery, secret))
      assert.match(event.id, /^evt_[0-9A-Za-z]{24}$/)
      assert.deepStrictEqual<unknown>(event, {
        id: event.id,
        type: "message.sent",
        created_at: event.created_at,
        data: { message: expectBody(yield* get(token, `/api/v2/messages/${message.id}`), 200) },
      })
      assert.strictEqual(event.data.message?.["status"], "sent")
      assert.match(event.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    }),
  )

  it.effect("goes only to endpoints that subscribed to it, and ticks make none", () =>
    Effect.gen(function* () {
      const all = yield* aReceiver
      const some = yield* aReceiver
      const { token, number } = yield* aSender()
      yield* anEndpoint(token, all)
      yield* anEndpoint(token, some, { events: ["message.cancelled"] })
      const sent = yield* send(token)
      yield* settle
      yield* operate({
        method: "POST",
        path: `${simulator}/messages/${sent.id}/ticks`,
        json: { status: "read" },
      })
      yield* operate({ method: "POST", path: `${simulator}/numbers/${number.id}/logout` })
      yield* cancel(token, (yield* send(token, { from: number.id })).id)
      yield* settle
      assert.deepStrictEqual(getTypes(all), ["message.sent", "message.cancelled"])
      assert.deepStrictEqual(getTypes(some), ["message.cancelled"])
    }),
  )

  it.effect("of a test message goes only to endpoints of test keys", () =>
    Effect.gen(function* () {
      const live = yield* aReceiver
      const test = yield* aReceiver
      const { token, workspace } = yield* aSender()
      const testToken = (yield* aKey(workspace, { mode: "test" })).key
      yield* anEndpoint(token, live)
      yield* anEndpoint(testToken, test)
      yield* send(testToken, { to: { phone: "+15005550001" } })
      yield* send(token)
      yield* settle
      assert.deepStrictEqual(getTypes(live), ["message.sent"])
      assert.deepStrictEqual(getTypes(test), ["message.failed"])
    }),
  )

  it.effect("older than an endpoint never reaches it", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token } = yield* aSender()
      yield* send(token)
      yield* settle
      yield* anEndpoint(token, receiver)
      yield* send(token)
      yield* settle
      assert.lengthOf(receiver.deliveries, 1)
    }),
  )

  it.effect("a ping goes to that endpoint alone, whatever its subscription", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const other = yield* aReceiver
      const { token } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver, { events: ["message.failed"] })
      yield* anEndpoint(token, other)
      const queued = expectBody<{ readonly event_id: string }>(yield* test(token, endpoint), 202)
      yield* settle
      assert.deepStrictEqual(eventIds(other), [])
      assert.lengthOf(receiver.deliveries, 1)
      const delivery = receiver.deliveries[0]!
      const ping = bodyOfDelivery(delivery)
      assert.deepStrictEqual<unknown>(ping, {
        id: queued.event_id,
        type: "ping",
        created_at: ping.created_at,
        data: { webhook_id: endpoint.id },
      })
      assert.strictEqual(
        delivery.headers["service-signature"],
        expectedSignature(delivery, endpoint.secret),
      )
      const { last_delivery: last } = yield* read(token, endpoint)
      assert.deepStrictEqual([last?.type, last?.status], ["ping", "delivered"])
    }),
  )
})
