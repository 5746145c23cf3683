/**
 * The whole service for tests: ports in memory, simulated phones, a running worker, the test clock
 * and one seed. Builders take what a test is about; everything else has a default.
 */
import { assert } from "@effect/vitest"
import { layer as layerStore, layerMediaFiles } from "@messaging-service/store-memory"
import {
  layerLinking,
  layerPorts,
  layerService,
  layerTransport,
  ParkedSends,
} from "@messaging-service/emulator"
import { aPlan, noon, second, services } from "@messaging-service/testkit/world"
import { Clock, Context, Effect, Fiber, Layer, Random } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import {
  Egress,
  Ids,
  NumberOwnership,
  PhoneDirectory,
  TelegramTransport,
  WhatsAppTransport,
  Worker,
  sharedWork,
  Store,
} from "../../src/index.ts"
import type { MediaFiles, NumberId, NumberLinking, Transport } from "../../src/index.ts"

export { aPlan, day, hour, minute, noon, second } from "@messaging-service/testkit/world"

type Transports = WhatsAppTransport | TelegramTransport | PhoneDirectory | ParkedSends

export interface ServiceParts {
  readonly seed?: string
  /** Replaces the simulated phones. */
  readonly transport?: Layer.Layer<Transports, never, Store | Ids>
  /** Replaces the linking of simulated phones. */
  readonly linking?: Layer.Layer<NumberLinking, never, Ids>
  /** Wraps the store for everything above it. */
  readonly store?: typeof layerStore
  /** The egress; none by default. */
  readonly egress?: Layer.Layer<Egress>
  /** The worker's numbers; all by default. */
  readonly ownership?: Layer.Layer<NumberOwnership>
  /** The file storage; in memory by default. */
  readonly files?: Layer.Layer<MediaFiles, never, Ids>
  /** Whether the worker runs from the start. Without it, nothing is sent, expired or swept. */
  readonly worker?: boolean
}

const makeLayer = ({
  egress = Egress.layerClosed,
  files = layerMediaFiles,
  linking = layerLinking,
  ownership = NumberOwnership.layerAll,
  store = layerStore,
  transport = layerTransport,
}: ServiceParts) =>
  Layer.provideMerge(
    layerService,
    layerPorts(
      Layer.merge(store, files),
      Layer.provideMerge(Layer.merge(transport, linking), Layer.merge(ownership, egress)),
    ),
  )

export type TestService = Layer.Success<ReturnType<typeof makeLayer>>

/** Both platforms on one scripted transport. */
export const layerTransports = (transport: Transport): Layer.Layer<Transports> =>
  Layer.succeedContext(
    Context.make(WhatsAppTransport, transport).pipe(
      Context.add(TelegramTransport, transport),
      Context.add(PhoneDirectory, { checkPhones: () => Effect.succeed({ _tag: "Unknown" }) }),
      Context.add(ParkedSends, { parked: Effect.succeed(new Set<NumberId>()) }),
    ),
  )

/** Runs a test on a service of its own, with a clock that starts at noon. */
export const inAService = <A, E>(
  test: Effect.Effect<A, E, TestService | Scope.Scope>,
  parts: ServiceParts = {},
) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(noon)
    return yield* Effect.gen(function* () {
      if (parts.worker !== false) yield* startWorker
      return yield* test
    }).pipe(Effect.provide(makeLayer(parts)))
  }).pipe(Effect.scoped, Random.withSeed(parts.seed ?? "world"))

/**
 * Starts a worker and returns once its loops are idle. It stops at the end of the test; the test's
 * clock supplies the time that stopping waits for.
 */
export const startWorker = Effect.gen(function* () {
  const worker = yield* Worker
  const fiber = yield* Effect.acquireRelease(Effect.forkDetach(worker.run), stopWorker)
  yield* settled
  return fiber
})

/** Stops a worker as a signal would: attempts in flight have 8 s to end. */
export const stopWorker = (fiber: Fiber.Fiber<never>) =>
  Effect.gen(function* () {
    const stopping = yield* Effect.forkDetach(Fiber.interrupt(fiber))
    while (stopping.pollUnsafe() === undefined) yield* TestClock.adjust(second)
  })

/** More turns than anything here needs to become idle. */
const manyTurns = 1_000_000
/** More turns than an attempt needs that waits for nothing. */
const idleTicks = 200

/** Returns once nothing is due and nothing has happened for long enough. */
export const settled = Effect.gen(function* () {
  const { queue: status, webhooks: outbox } = yield* Store

  let position = 0
  const somethingHappened = Effect.gen(function* () {
    const page = yield* outbox.readEvents(position, 1000)
    position = page.at(-1)?.id ?? position
    return page.length > 0
  })
  const somethingDue = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const { nextDue } = yield* status.workload(now, sharedWork)
    return nextDue !== null && nextDue <= now
  })
  let idleCount = 0
  for (let iteration = 0; idleCount < idleTicks; iteration++) {
    // An assertion makes proxies, thousands of times a test.
    if (iteration >= manyTurns) assert.fail("the service does not come to rest")
    idleCount = (yield* somethingHappened) || (yield* somethingDue) ? 0 : idleCount + 1
    yield* Effect.yieldNow
  }
})

/** Moves time on, in the order in which work falls due. */
export const pass = (millis: number) =>
  Effect.gen(function* () {
    yield* settled
    yield* TestClock.adjust(millis)
    yield* settled
  })

/** A moment in a request's format. */
export const iso = (instant: number): string => {
  const text = new Date(instant).toISOString()
  return text.replace("Z", "+00:00")
}

/** `millis` from now, in a request's format. */
export const ahead = (millis: number) =>
  Effect.map(Clock.currentTimeMillis, (now) => iso(now + millis))

export const { aContact, aKey, aNumber, aWorkspace } = services.builders

export const aWorkspaceWith = (messagesRemaining: number | null) =>
  aWorkspace({ plan: aPlan({ messagesRemaining }) })

/** The usual sender: a workspace with one connected WhatsApp number and a live key. */
export const aSender = (messagesRemaining: number | null = null) =>
  services.builders.aSender({
    workspace: { plan: aPlan({ messagesRemaining }) },
    number: { phone: "+15550000100" },
  })
