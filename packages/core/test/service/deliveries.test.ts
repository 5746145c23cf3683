/** Webhook deliveries on the test clock: workers that stop, die, or cannot record a result. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, Random } from "effect"
import { TestClock } from "effect/testing"
import {
  Egress,
  EgressError,
  StoreUnavailable,
  WebhookOperations,
  Webhooks,
  callsPerTarget,
  deliveryLeaseMillis,
  endpointLimit,
  readSpan,
  sharedLimits,
  Store,
} from "../../src/index.ts"
import type {
  Caller,
  CursorPage,
  ListPage,
  PostAnswer,
  WebhookId,
  WorkspaceId,
} from "../../src/index.ts"
import { storeWithin } from "./Watched.ts"
import { send } from "./Operations.ts"
import { aSender, hour, inAService, pass, second, settled, startWorker } from "./Service.ts"

interface Call {
  readonly at: number
  readonly eventId: string
}

/** An egress that answers every post so, and the posts. */
const receiving = (answer: (call: Call) => Effect.Effect<PostAnswer, EgressError>) => {
  const calls: Array<Call> = []
  const unused = () => Effect.die("not asked for in these tests")
  const egress = Layer.succeed(Egress, {
    allows: () => Effect.succeed(true),
    fetch: unused,
    post: (_url, { headers }) =>
      Effect.gen(function* () {
        const call: Call = {
          at: yield* Clock.currentTimeMillis,
          eventId: headers["service-event-id"] ?? "",
        }
        calls.push(call)
        return yield* answer(call)
      }),
  })
  return { calls, egress }
}

const ok: PostAnswer = { status: 200, headers: {} }

/** The same, accepting each post after that time; `open` counts the posts that wait for it. */
const receivingSlowly = (millis: number) => {
  const open = { now: 0, most: 0 }
  const receiver = receiving(() =>
    Effect.gen(function* () {
      open.most = Math.max(open.most, ++open.now)
      yield* Effect.sleep(millis)
      open.now--
      return ok
    }),
  )
  return { ...receiver, open }
}

const anEndpoint = (caller: Caller) =>
  Effect.map(
    Webhooks.use((webhooks) => webhooks.create(caller, { url: "https://example.com/" }, null)),
    ({ answer }) => answer.id,
  )

/** The delivery log, oldest first. */
const log = (workspace: WorkspaceId, endpoint: WebhookId) =>
  Effect.map(
    WebhookOperations.use((operations) =>
      operations.deliveries("owner", workspace, endpoint, { limit: 100 }),
    ),
    ({ items }) => items.toReversed(),
  )

describe("a delivery", () => {
  it.effect("in flight in a stopping worker ends and is recorded; no other begins", () => {
    const { calls, egress } = receiving(() => Effect.as(Effect.sleep(3 * second), ok))
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const endpoint = yield* anEndpoint(key)
        const worker = yield* startWorker
        yield* send(key)
        yield* settled
        assert.lengthOf(calls, 1)
        const stopping = yield* Effect.forkChild(Fiber.interrupt(worker))
        yield* TestClock.adjust(3 * second)
        yield* Fiber.join(stopping)
        const entries = yield* log(workspace, endpoint)
        assert.deepStrictEqual(
          entries.map(({ durationMillis, error }) => [error, durationMillis]),
          [[null, 3 * second]],
        )
        yield* send(key)
        yield* TestClock.adjust(hour)
        assert.lengthOf(calls, 1)
      }),
      { egress, worker: false },
    )
  })

  it.effect("claimed and never settled is repeated once its lease ends", () => {
    const { calls, egress } = receiving(() => Effect.succeed(ok))
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const endpoint = yield* anEndpoint(key)
        const worker = yield* startWorker
        yield* send(key)
        yield* settled
        yield* Fiber.interrupt(worker)
        assert.lengthOf(calls, 1)
        // Again, and this time the worker that claims it dies.
        const eventId = calls[0]?.eventId ?? ""
        const operations = yield* WebhookOperations
        yield* operations.redeliver("owner", workspace, endpoint, { eventId: eventId })
        const now = yield* Clock.currentTimeMillis
        const queue = (yield* Store).webhooks
        const claimed = yield* queue.claimDeliveries({
          now,
          leaseUntil: now + deliveryLeaseMillis,
          limit: 1,
          perTarget: 1,
          callbacks: { limit: 1, perWorkspace: 1, held: new Map() },
        })
        assert.lengthOf(claimed, 1)
        yield* startWorker
        yield* pass(deliveryLeaseMillis - 1)
        assert.lengthOf(calls, 1)
        yield* pass(1)
        assert.deepStrictEqual(calls[1], { at: now + deliveryLeaseMillis, eventId })
        const entries = yield* log(workspace, endpoint)
        assert.deepStrictEqual(
          entries.map(({ attempt }) => attempt),
          [1, 1],
        )
      }),
      { egress, worker: false },
    )
  })

  it.effect("is recorded when the store answers again, and not repeated", () => {
    const { calls, egress } = receiving(() => Effect.succeed(ok))
    let failures = 5
    const store = storeWithin((operation, effect) =>
      Effect.gen(function* () {
        const records = operation.startsWith("webhooks.settle")
        if (!records || failures-- <= 0) return yield* effect
        return yield* new StoreUnavailable({ operation, cause: "a test" })
      }),
    )
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const endpoint = yield* anEndpoint(key)
        yield* send(key)
        yield* settled
        assert.deepStrictEqual(yield* log(workspace, endpoint), [])
        for (let tries = 0; tries < 8; tries++) yield* pass(second)
        assert.lengthOf(yield* log(workspace, endpoint), 1)
        yield* pass(hour)
        assert.lengthOf(calls, 1)
      }),
      { egress, store },
    )
  })

  it.effect("asked for again during its calls has five at once, and a line for each", () => {
    const { calls, egress, open } = receivingSlowly(6 * second)
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const endpoint = yield* anEndpoint(key)
        yield* send(key)
        yield* settled
        const eventId = calls[0]?.eventId ?? ""
        const operations = yield* WebhookOperations
        for (let requests = 0; requests < 30; requests++) {
          yield* operations.redeliver("owner", workspace, endpoint, { eventId })
          yield* pass(150)
        }
        assert.lengthOf(calls, callsPerTarget)
        yield* pass(hour)
        // The first and four redeliveries; the last one goes when a call ends.
        assert.deepStrictEqual([calls.length, open.most], [callsPerTarget + 1, callsPerTarget])
        const entries = yield* log(workspace, endpoint)
        assert.deepStrictEqual(
          entries.map(({ attempt, error }) => [attempt, error]),
          calls.map(() => [1, null]),
        )
        const query = { workspaceId: workspace, mode: "live" } as const
        const now = yield* Clock.currentTimeMillis
        const { buckets } = yield* readSpan((yield* Store).figures, query, "24h", now)
        const counted = buckets.reduce((sum, { deliveries }) => sum + deliveries, 0)
        assert.strictEqual(counted, calls.length)
      }),
      { egress },
    )
  })

  it.effect("reaches its receiver despite all failures", () => {
    const succeeded = new Map<string, number>()
    const { calls, egress } = receiving(({ eventId }) =>
      Effect.gen(function* () {
        const random = yield* Random.nextIntBetween(0, 10, { halfOpen: true })
        yield* Effect.sleep(random * second)
        if (random < 3) return yield* new EgressError({ reason: "timeout" })
        if (random < 6) return { status: 503, headers: { "retry-after": "60" } }
        succeeded.set(eventId, (succeeded.get(eventId) ?? 0) + 1)
        return ok
      }),
    )
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const endpoint = yield* anEndpoint(key)
        for (let sent = 0; sent < 60; sent++) yield* send(key)
        yield* settled
        for (let passed = 0; passed < 25; passed++) yield* pass(hour)
        assert.strictEqual((yield* allOf(workspace, endpoint)).length, calls.length)
        const attempts = [...Map.groupBy(calls, ({ eventId }) => eventId)]
        assert.strictEqual(attempts.length, 60)
        // With nine attempts, most of them failing, one event in a hundred is lost.
        for (const [eventId, made] of attempts) {
          if (!succeeded.has(eventId)) assert.lengthOf(made, 9)
        }
        assert.isAtLeast(succeeded.size, 50)
        assert.isTrue([...succeeded.values()].every((times) => times === 1))
      }),
      { egress, seed: "receivers" },
    )
  })
})

const allOf = (workspace: WorkspaceId, endpoint: WebhookId) =>
  Effect.gen(function* () {
    const operations = yield* WebhookOperations
    const entries: Array<unknown> = []
    let cursor: string | null = null
    do {
      const query: ListPage = { limit: 100, ...(cursor === null ? {} : { cursor }) }
      const page: CursorPage<unknown> = yield* operations.deliveries(
        "owner",
        workspace,
        endpoint,
        query,
      )
      entries.push(...page.items)
      cursor = page.next
    } while (cursor !== null)
    return entries
  })

describe("endpoints", () => {
  it.effect("get five concurrent calls each, however many wait", () => {
    const { calls, egress, open } = receivingSlowly(second)
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* anEndpoint(key)
        for (let sent = 0; sent < 23; sent++) yield* send(key)
        yield* settled
        assert.lengthOf(calls, 5)
        yield* pass(10 * second)
        assert.lengthOf(calls, 23)
        assert.strictEqual(open.most, 5)
      }),
      { egress },
    )
  })

  it.effect("of one workspace share its limit, removed ones included", () => {
    const max = callsPerTarget * endpointLimit
    const { calls, egress, open } = receivingSlowly(15 * second)
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const endpoints = Effect.forEach([1, 2, 3, 4, 5], () => anEndpoint(key))
        const first = yield* endpoints
        for (let sent = 0; sent < callsPerTarget; sent++) yield* send(key)
        yield* settled
        assert.strictEqual(open.now, max)
        yield* Effect.forEach(first, (id) => Webhooks.use((webhooks) => webhooks.remove(key, id)))
        yield* endpoints
        yield* send(key)
        yield* settled
        assert.strictEqual(open.now, max)
        yield* pass(hour)
        // The five of the new endpoints had their turn.
        assert.deepStrictEqual([calls.length, open.most], [max + 5, max])
        const { callbackCalls, receiverCalls } = sharedLimits
        assert.strictEqual(receiverCalls.share.most, max + callbackCalls.share.most)
      }),
      { egress },
    )
  })
})
