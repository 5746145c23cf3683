/** Events on their way to real receivers, on the test clock: what arrives, when, and what is written down. */
import { assert, layer } from "@effect/vitest"
import { layerStoredClock } from "@messaging-service/emulator"
import { Clock, Effect } from "effect"
import { errorOf } from "../Doors.ts"
import {
  aKey,
  aSender,
  bodyOf,
  operate,
  remove as removeWorkspace,
  revoke,
  settle,
} from "../Records.ts"
import type { PageBody } from "../Records.ts"
import { cancel, get, send } from "../v2/Asking.ts"
import {
  anEndpoint,
  layerWithWayOut,
  log,
  pass,
  read,
  redeliver,
  remove,
  resume,
  rotate,
  test,
} from "./Asking.ts"
import type { EndpointBody, LogBody } from "./Asking.ts"
import {
  aReceiver,
  bodyOfDelivery,
  eventIds,
  expectedSignature,
  typesOf,
  withStatus,
} from "./Receiver.ts"

const minute = 60
const hour = 60 * minute

/** The delays after each failed attempt, in seconds. */
const delays = [5, 55, 4 * minute, 25 * minute, 90 * minute, 4 * hour, 7 * hour, 10 * hour]

/** Past the jitter of a delay. */
const surely = (delay: number) => Math.ceil(delay * 1.05) + 1

const simulator = "/admin/v1/simulator"

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
        data: { message: bodyOf(yield* get(token, `/api/v2/messages/${message.id}`), 200) },
      })
      assert.strictEqual(event.data.message?.["status"], "sent")
      assert.match(event.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    }),
  )

  it.effect("is made for each way in which a message ends", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token, number } = yield* aSender()
      yield* anEndpoint(token, receiver)
      yield* operate({
        method: "PUT",
        path: `${simulator}/numbers/${number.id}/behaviour`,
        json: { send: "fail", error_message: "No luck" },
      })
      yield* send(token)
      yield* settle
      yield* operate({ method: "POST", path: `${simulator}/numbers/${number.id}/logout` })
      const cancelled = yield* send(token, { from: number.id })
      bodyOf(yield* cancel(token, cancelled.id), 200)
      const now = yield* Clock.currentTimeMillis
      const soon = new Date(now + 60_000).toISOString()
      yield* send(token, { from: number.id, expires_at: soon })
      yield* settle
      yield* pass(minute)
      assert.deepStrictEqual(typesOf(receiver), [
        "message.failed",
        "message.cancelled",
        "message.expired",
      ])
      const failed = bodyOfDelivery(receiver.deliveries[0]!).data.message
      assert.deepStrictEqual(failed?.["error"], { code: "send_failed", message: "No luck" })
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
      assert.deepStrictEqual(typesOf(all), ["message.sent", "message.cancelled"])
      assert.deepStrictEqual(typesOf(some), ["message.cancelled"])
    }),
  )

  it.effect("of a test message goes to endpoints that a test key made, and only to those", () =>
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
      assert.deepStrictEqual(typesOf(live), ["message.sent"])
      assert.deepStrictEqual(typesOf(test), ["message.failed"])
    }),
  )

  it.effect("of before an endpoint was made never reaches it", () =>
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

  it.effect("a ping is delivered to that endpoint alone, whatever it subscribed to", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const other = yield* aReceiver
      const { token } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver, { events: ["message.failed"] })
      yield* anEndpoint(token, other)
      const queued = bodyOf<{ readonly event_id: string }>(yield* test(token, endpoint), 202)
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

layer(layerWithWayOut())("a delivery", (it) => {
  it.effect("is tried nine times in 23 hours with the same event id, then not again", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      receiver.answer = withStatus(500)
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      yield* send(token)
      yield* settle
      for (const [index, delay] of delays.entries()) {
        assert.lengthOf(receiver.deliveries, index + 1)
        const { last_delivery: last } = yield* read(token, endpoint)
        assert.deepStrictEqual(
          [last?.status, last?.attempt, last?.response_status, last?.error],
          ["retrying", index + 1, 500, "http_status"],
        )
        const next = Date.parse(last?.next_attempt_at ?? "")
        const wait = (next - (yield* Clock.currentTimeMillis)) / 1000
        assert.isAtMost(wait, delay * 1.05)
        yield* pass(wait - 1)
        assert.lengthOf(receiver.deliveries, index + 1, "too early")
        yield* pass(2)
      }
      assert.lengthOf(receiver.deliveries, 9)
      assert.lengthOf(new Set(eventIds(receiver)), 1)
      const { active, last_delivery: last } = yield* read(token, endpoint)
      // One event in vain stops nothing.
      assert.isTrue(active)
      assert.deepStrictEqual(
        [last?.status, last?.attempt, last?.next_attempt_at],
        ["failed", 9, null],
      )
      yield* pass(48 * hour)
      assert.lengthOf(receiver.deliveries, 9)

      const { data } = yield* log(workspace, endpoint)
      assert.deepStrictEqual(
        data.map(({ attempt }) => attempt),
        [9, 8, 7, 6, 5, 4, 3, 2, 1],
      )
      const waits = data
        .toReversed()
        .map(({ attempted_at: at, next_attempt_at: next }) =>
          next === null ? null : (Date.parse(next) - Date.parse(at)) / 1000,
        )
      for (const [index, delay] of delays.entries()) {
        assert.isAtLeast(waits[index] ?? 0, delay - 1)
        assert.isAtMost(waits[index] ?? 0, delay * 1.05 + 1)
      }
      assert.isNull(waits[8])
    }),
  )

  it.effect("that succeeds ends its retries; 4xx are retried too, redirects not followed", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      const answers = [
        withStatus(404),
        withStatus(302, { location: "/elsewhere" }),
        withStatus(204),
      ]
      receiver.answer = (response, delivery) =>
        answers[receiver.deliveries.length - 1]?.(response, delivery)
      yield* send(token)
      yield* settle
      yield* pass(surely(5))
      yield* pass(surely(55))
      yield* pass(24 * hour)
      assert.deepStrictEqual(
        receiver.deliveries.map((delivery) => delivery.path),
        ["/hook", "/hook", "/hook"],
      )
      const { data } = yield* log(workspace, endpoint)
      assert.deepStrictEqual(
        data.map(({ response_status: status, error }) => [status, error]),
        [
          [204, null],
          [302, "http_status"],
          [404, "http_status"],
        ],
      )
    }),
  )

  it.effect("that fails leaves no doubt why", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      receiver.answer = (response) => response.socket?.destroy()
      const { token } = yield* aSender()
      const torn = yield* anEndpoint(token, receiver)
      const plain = yield* anEndpoint(token, { url: receiver.url.replace("http:", "https:") })
      const nowhere = yield* anEndpoint(token, { url: "https://nowhere.invalid/" })
      yield* send(token)
      yield* settle
      const errors: Array<string | null | undefined> = []
      for (const endpoint of [torn, plain, nowhere]) {
        const { last_delivery: last } = yield* read(token, endpoint)
        assert.isNull(last?.response_status)
        errors.push(last?.error)
      }
      assert.deepStrictEqual(errors, ["connection", "tls", "dns"])
    }),
  )

  it.effect("waits as long as the receiver asks, at most twice as long as it would", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token } = yield* aSender()
      yield* anEndpoint(token, receiver)
      receiver.answer = withStatus(503, { "retry-after": "8" })
      yield* send(token)
      yield* settle
      yield* pass(7)
      assert.lengthOf(receiver.deliveries, 1)
      receiver.answer = withStatus(429, { "retry-after": "86400" })
      yield* pass(1)
      assert.lengthOf(receiver.deliveries, 2)
      yield* pass(109)
      assert.lengthOf(receiver.deliveries, 2)
      yield* pass(1)
      assert.lengthOf(receiver.deliveries, 3)
    }),
  )

  it.effect("is signed with the secret of the moment, and the time of the attempt", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      receiver.answer = withStatus(500)
      const { token } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      yield* send(token)
      yield* settle
      const rotated = yield* rotate(token, endpoint)
      receiver.answer = withStatus(200)
      yield* pass(surely(5))
      const [first, second] = receiver.deliveries
      assert.strictEqual(
        first!.headers["service-signature"],
        expectedSignature(first!, endpoint.secret),
      )
      assert.strictEqual(
        second!.headers["service-signature"],
        expectedSignature(second!, rotated.secret),
      )
      assert.deepStrictEqual(second!.raw, first!.raw)
      const [before, after] = [first!, second!].map(({ headers }) =>
        Number(headers["service-timestamp"]),
      )
      assert.include([5, 6], (after ?? 0) - (before ?? 0))
    }),
  )

  it.effect("ends with its endpoint: a removed one gets no retries", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      receiver.answer = withStatus(500)
      const { token } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      yield* send(token)
      yield* settle
      bodyOf(yield* remove(token, endpoint), 200)
      yield* pass(hour)
      assert.lengthOf(receiver.deliveries, 1)
    }),
  )

  it.effect("ends with its workspace: nothing more is sent, cancellations neither", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      receiver.answer = withStatus(500)
      const { token, workspace, number } = yield* aSender()
      yield* anEndpoint(token, receiver)
      yield* send(token)
      yield* settle
      yield* operate({ method: "POST", path: `${simulator}/numbers/${number.id}/logout` })
      yield* send(token, { from: number.id })
      yield* removeWorkspace(workspace)
      yield* settle
      yield* pass(hour)
      assert.lengthOf(receiver.deliveries, 1)
    }),
  )

  it.effect("five at once to an endpoint, no more, and a hanging one delays no other", () =>
    Effect.gen(function* () {
      const hanging = yield* aReceiver
      const quick = yield* aReceiver
      const held: Array<() => void> = []
      hanging.answer = (response) => held.push(() => response.end())
      const { token } = yield* aSender()
      yield* anEndpoint(token, hanging)
      yield* anEndpoint(token, quick)
      for (let sent = 0; sent < 12; sent++) yield* send(token)
      yield* reached(() => quick.deliveries.length === 12 && hanging.open() === 5)
      // As each is answered the next comes.
      for (let answered = 0; answered < 12; answered++) {
        yield* reached(() => held.length > 0)
        held.shift()?.()
      }
      yield* settle
      assert.lengthOf(hanging.deliveries, 12)
      assert.strictEqual(hanging.mostOpen(), 5)
    }),
  )
})

/** Waits in real time for what a receiver sees. */
const reached = (holds: () => boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let look = 0; look < 2000 && !holds(); look++) {
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 5)))
    }
    assert.isTrue(holds(), "it did not come to that")
  })

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
      // Something pending, which ends with it.
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
      bodyOf(yield* resume(workspace, endpoint), 200)
      yield* inVain(token)
      assert.isTrue((yield* read(token, endpoint)).active)
      receiver.answer = withStatus(200)
      yield* send(token)
      yield* settle
      assert.strictEqual((yield* read(token, endpoint)).last_delivery?.status, "delivered")
    }),
  )

  it.effect("a delivery in between starts the 120 h anew", () =>
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

  it.effect(
    "when the key that made it is revoked: its retries end, and come back if asked for",
    () =>
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
        assert.strictEqual(errorOf(refused).code, "webhook_stopped")
        yield* pass(hour)
        assert.lengthOf(receiver.deliveries, 1)

        bodyOf(yield* resume(workspace, endpoint), 200)
        yield* pass(hour)
        assert.lengthOf(receiver.deliveries, 1)
        assert.deepStrictEqual(bodyOf(yield* redeliver(workspace, endpoint, eventId), 202), {
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

layer(layerWithWayOut())("the delivery log", (it) => {
  it.effect("is paged, newest first, one entry for each attempt", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { token, workspace } = yield* aSender()
      const endpoint = yield* anEndpoint(token, receiver)
      for (let sent = 0; sent < 3; sent++) {
        yield* send(token)
        yield* settle
      }
      const all = yield* log(workspace, endpoint)
      assert.isNull(all.next_cursor)
      assert.deepStrictEqual(
        all.data.map((entry) => entry.event_id),
        eventIds(receiver).toReversed(),
      )
      const entry = all.data[0]!
      assert.deepStrictEqual<unknown>(entry, {
        id: entry.id,
        event_id: entry.event_id,
        type: "message.sent",
        attempt: 1,
        attempted_at: entry.attempted_at,
        response_status: 200,
        error: null,
        duration_ms: entry.duration_ms,
        next_attempt_at: null,
      })
      const first = yield* log(workspace, endpoint, "?limit=2")
      assert.deepStrictEqual(first.data, all.data.slice(0, 2))
      const cursor = first.next_cursor ?? ""
      const second = yield* log(workspace, endpoint, `?limit=2&cursor=${cursor}`)
      assert.deepStrictEqual<PageBody<LogBody>>(second, {
        data: all.data.slice(2),
        next_cursor: null,
      })
      const other = yield* anEndpoint(token, receiver)
      const foreign = yield* operate({
        path: `/admin/v1/workspaces/${workspace.id}/webhooks/${other.id}/deliveries?cursor=${cursor}`,
      })
      assert.strictEqual(errorOf(foreign).code, "invalid_cursor")
    }),
  )
})

layer(layerWithWayOut({ ports: layerStoredClock() }), { excludeTestServices: true })(
  "the emulator's clock",
  (it) => {
    it.effect("moves from retry to retry, and works each off before it moves on", () =>
      Effect.gen(function* () {
        const receiver = yield* aReceiver
        receiver.answer = withStatus(500)
        const { token, workspace } = yield* aSender()
        const endpoint: EndpointBody = yield* anEndpoint(token, receiver)
        yield* send(token)
        yield* settle
        assert.lengthOf(receiver.deliveries, 1)
        bodyOf(
          yield* operate({
            method: "POST",
            path: `${simulator}/clock/advance`,
            json: { seconds: 25 * hour },
          }),
          200,
        )
        assert.lengthOf(receiver.deliveries, 9)
        const times = (yield* log(workspace, endpoint)).data
          .map(({ attempted_at: at }) => Date.parse(at) / 1000)
          .toReversed()
        for (const [index, delay] of delays.entries()) {
          const waited = (times[index + 1] ?? 0) - (times[index] ?? 0)
          assert.isAtLeast(waited, delay - 1)
          assert.isAtMost(waited, delay * 1.05 + 2)
        }
      }),
    )
  },
)
