/** Deliveries to real receivers, on the test clock: their attempts, their ends, and their log. */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { aSender, expectBody, operate, remove as removeWorkspace, settle } from "../Records.ts"
import type { PageBody } from "../Records.ts"
import { send } from "../v2/Asking.ts"
import {
  anEndpoint,
  layerWithWayOut,
  log,
  pass,
  read,
  remove,
  rotate,
  simulator,
} from "./Asking.ts"
import type { LogBody } from "./Asking.ts"
import { aReceiver, eventIds, expectedSignature, withStatus } from "./Receiver.ts"
import { hour, delays, surely, reached } from "./Retrying.ts"

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
      // One failed event stops nothing.
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

  it.effect("ends its retries with a success; 4xx are retried too, redirects not followed", () =>
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

  it.effect("shows why it failed", () =>
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

  it.effect("is signed with the current secret and the time of the attempt", () =>
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
      expectBody(yield* remove(token, endpoint), 200)
      yield* pass(hour)
      assert.lengthOf(receiver.deliveries, 1)
    }),
  )

  it.effect("ends with its workspace: nothing more is sent, not even cancellations", () =>
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
      const pending: Array<() => void> = []
      hanging.answer = (response) => pending.push(() => response.end())
      const { token } = yield* aSender()
      yield* anEndpoint(token, hanging)
      yield* anEndpoint(token, quick)
      for (let sent = 0; sent < 12; sent++) yield* send(token)
      yield* reached(() => quick.deliveries.length === 12 && hanging.open() === 5)
      // Each answer admits the next one.
      for (let answered = 0; answered < 12; answered++) {
        yield* reached(() => pending.length > 0)
        pending.shift()?.()
      }
      yield* settle
      assert.lengthOf(hanging.deliveries, 12)
      assert.strictEqual(hanging.maxOpen(), 5)
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
      assert.strictEqual(errorBody(foreign).code, "invalid_cursor")
    }),
  )
})
