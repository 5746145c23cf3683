/**
 * Event feed for programs that embed the service. It reads the outbox after each commit, in order,
 * skipping none. A listener passes the position to continue after. A subscription has a name, under
 * which the store keeps its position, and one process at a time handles its events.
 */
import { Cause, Clock, Context, Data, Effect, Exit, Latch, Layer, Semaphore } from "effect"
import type { Scope } from "effect"
import { refuse } from "../model/Refusal.ts"
import type { Refusal, StoreUnavailable } from "../model/Refusal.ts"
import { logFailure } from "./logThrottled.ts"
import { WakeUp } from "../store/DueWork.ts"
import { sleep } from "../model/Time.ts"
import type { OutboxEvent } from "../store/WebhookStore.ts"
import { Store } from "../store/Store.ts"
import { maximumSubscriptions } from "../store/SubscriptionStore.ts"
import type { StoredSubscription } from "../store/SubscriptionStore.ts"

/** Events per read. */
const batch = 100

/**
 * How far behind the latest position a new listener starts: a smaller position may commit after a
 * larger one.
 */
const lookBehind = 1000

/** How often to check for other processes' events, in real milliseconds. */
const pollMillis = 1000

/** Pauses before a failed listener gets an event again; after the last the feed skips it. */
const listenerPauses: ReadonlyArray<number> = [1000, 5000, 30_000, 120_000]

/** Pause between all later tries of an event that a subscription cannot handle: it skips none. */
const lastingPause = 600_000

/** How long a subscription's lease lasts without a renewal, and how often it is renewed. */
const leaseMillis = 30_000
const renewMillis = 10_000

/** Where no other process shares the store, a renewal only shows that the name is in use. */
const showMillis = 24 * 60 * 60 * 1000

/** Pause before a failed read of the outbox is retried, in real milliseconds. */
const storePauseMillis = 1000

/** Wakes this process's listeners after a commit that may have written events. */
export class EventSignal extends Context.Service<
  EventSignal,
  {
    readonly wake: Effect.Effect<void>
    /** Opens when woken, until the scope closes. */
    readonly latch: Effect.Effect<Latch.Latch, never, Scope.Scope>
  }
>()("core/EventSignal") {
  static readonly layer = Layer.sync(EventSignal, () => {
    const latches = new Set<Latch.Latch>()
    return {
      wake: Effect.suspend(() => Effect.forEach(latches, Latch.open, { discard: true })),
      latch: Effect.acquireRelease(
        Effect.map(Latch.make(true), (latch) => {
          latches.add(latch)
          return latch
        }),
        (latch) => Effect.sync(() => latches.delete(latch)),
      ),
    }
  })
}

/** Another process has the lease by now. */
class LeaseLost extends Data.TaggedError("LeaseLost")<Record<never, never>> {}

const tooMany = refuse("validation_failed", {
  field: "name",
  message: `must be one in use: there are ${maximumSubscriptions} names, and an unused one goes after 30 days`,
})

type Handler = (event: OutboxEvent) => Effect.Effect<void, unknown>

export interface Subscriber {
  /** Whether the listener gets the event. */
  readonly concerns: (event: OutboxEvent) => boolean
  readonly listener: Handler
  /** Runs once the store knows the name: from then on the subscription misses no event. */
  readonly known: Effect.Effect<void>
}

/**
 * Passes one event to a listener until it succeeds; `pauseAfter` null skips the event. `allowed` runs
 * before each try.
 */
const notify = Effect.fnUntraced(
  function* notify<E = never>(
    event: OutboxEvent,
    listener: Handler,
    pauseAfter: (failures: number) => number | null,
    allowed: Effect.Effect<void, E> = Effect.void,
  ) {
    for (let failures = 0; ; failures++) {
      yield* allowed
      const exit = yield* Effect.exit(listener(event))
      if (Exit.isSuccess(exit)) return
      if (Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.interrupt
      const pause = pauseAfter(failures)
      if (pause === null) {
        yield* Effect.logError("a listener failed too often; the event is passed over", exit.cause)
        return
      }
      yield* Effect.logWarning("a listener failed; it gets the event again", exit.cause)
      yield* Effect.sleep(pause)
    }
  },
  (effect, event) => Effect.annotateLogs(effect, { event: event.eventId, position: event.id }),
)

/** What both kinds of readers use. */
const makeReading = Effect.gen(function* makeReading() {
  const outbox = (yield* Store).webhooks
  const signal = yield* EventSignal
  const { poll } = yield* WakeUp

  /** Null when the store does not answer; also for a bug or an interruption from outside. */
  const read = (position: number) =>
    Effect.catchCause(outbox.readEvents(position, batch), (cause) =>
      Effect.as(logFailure("events are read later", cause), null),
    )

  /** Hands every event after `after` to `handle`, in order; `caughtUp` runs after each read of some. */
  const readOn = <E>(
    after: number,
    handle: (event: OutboxEvent) => Effect.Effect<void, E>,
    caughtUp: Effect.Effect<void, E> = Effect.void,
  ): Effect.Effect<never, E> =>
    Effect.scoped(
      Effect.gen(function* () {
        const latch = yield* signal.latch
        let position = after
        const woken = poll === null ? latch.await : Effect.raceFirst(latch.await, sleep(pollMillis))
        const round = Effect.gen(function* round() {
          yield* latch.close
          const events = yield* read(position)
          if (events === null) return yield* sleep(storePauseMillis)
          if (events.length === 0) return yield* woken
          for (const event of events) {
            yield* handle(event)
            position = event.id
          }
          yield* caughtUp
        })
        return yield* Effect.forever(round)
      }),
    )

  const end = Effect.gen(function* end() {
    let position = Math.max(0, (yield* outbox.latestEvent) - lookBehind)
    for (;;) {
      const events = yield* outbox.readEvents(position, batch)
      const last = events.at(-1)
      if (last === undefined) return position
      position = last.id
    }
  })

  return { end, isShared: poll !== null, readOn, store: outbox }
})

type Reading = Effect.Success<typeof makeReading>

type TooMany = Refusal<"validation_failed">

/** Asks the store until it answers. */
const answered = <A>(
  request: Effect.Effect<A, TooMany | StoreUnavailable>,
): Effect.Effect<A, TooMany> =>
  Effect.catchTag(request, "StoreUnavailable", (failure) =>
    Effect.gen(function* () {
      yield* logFailure("a subscription asks the store again", Cause.fail(failure))
      yield* sleep(storePauseMillis)
      return yield* answered(request)
    }),
  )

/** What the store has under the name, added with position `reached` or at the end of the outbox. */
const known = Effect.fnUntraced(function* known(
  { end, store }: Reading,
  name: string,
  reached: number | null,
): Effect.fn.Return<StoredSubscription, TooMany | StoreUnavailable> {
  for (;;) {
    const found = yield* store.findSubscription(name)
    if (found !== null) return found
    const added = yield* store.insertSubscription({
      name,
      reached: reached ?? (yield* end),
      now: yield* Clock.currentTimeMillis,
      most: maximumSubscriptions,
    })
    if (added === "full") return yield* tooMany
  }
})

/** Waits for the lease, and takes it. */
const claimed = Effect.fnUntraced(function* claimed(
  reading: Reading,
  name: string,
  reached: number | null,
): Effect.fn.Return<StoredSubscription, TooMany | StoreUnavailable> {
  for (;;) {
    const { lease, leaseUntil } = yield* known(reading, name, reached)
    const now = yield* Clock.currentTimeMillis
    if (leaseUntil > now && reading.isShared) {
      yield* sleep(pollMillis)
      continue
    }
    const until = now + leaseMillis
    const subscription = yield* reading.store.claimSubscription({ name, lease, until })
    if (subscription !== null) return subscription
  }
})

/** Handles events while the lease lasts. */
const holding = Effect.fnUntraced(function* holding(
  { isShared, readOn, store }: Reading,
  name: string,
  { lease, leaseUntil, reached }: StoredSubscription,
  { concerns, listener }: Subscriber,
  note: (reached: number) => void,
) {
  let position = reached
  let saved = reached
  let heldUntil = leaseUntil
  /** Taken while the listener runs: an interrupted one may still run its program's code. */
  const busy = Semaphore.makeUnsafe(1)
  const write = Effect.fnUntraced(function* write(lasting: number) {
    const until = (yield* Clock.currentTimeMillis) + lasting
    const written = position
    if (!(yield* store.saveSubscription({ name, lease, reached: written, until }))) {
      return yield* new LeaseLost()
    }
    saved = written
    heldUntil = until
  })
  /** A store that does not answer gets the position with the next renewal. */
  const save = Effect.catchTag(write(leaseMillis), "StoreUnavailable", (failure) =>
    logFailure("a subscription's position is saved later", Cause.fail(failure)),
  )
  /** After a pause of this process, or a store that did not answer, another one may have the lease. */
  const isOver = Effect.map(Clock.currentTimeMillis, (now) => isShared && heldUntil <= now)
  const stillHeld = Effect.gen(function* stillHeld() {
    while (yield* isOver) {
      yield* save
      if (yield* isOver) yield* sleep(storePauseMillis)
    }
  })
  const runAlone: Handler = (event) => busy.withPermits(1)(listener(event))
  const pauseAfter = (failures: number) => listenerPauses[failures] ?? lastingPause
  const reach = (event: OutboxEvent) =>
    Effect.sync(() => {
      position = event.id
      note(event.id)
    })
  const handle = (event: OutboxEvent) =>
    concerns(event)
      ? Effect.uninterruptibleMask((restore) =>
          restore(notify(event, runAlone, pauseAfter, stillHeld)).pipe(
            Effect.andThen(reach(event)),
            Effect.andThen(save),
          ),
        )
      : reach(event)
  const caughtUp = Effect.suspend(() => (position === saved ? Effect.void : save))
  const renewing = Effect.forever(
    Effect.andThen(sleep(isShared ? renewMillis : showMillis), save),
  ).pipe(Effect.catchTag("LeaseLost", (lost) => busy.withPermits(1)(lost)))
  // The next process need not wait for the end of the lease.
  return yield* Effect.raceFirst(readOn(reached, handle, caughtUp), renewing).pipe(
    Effect.onExit(() => Effect.ignore(write(0))),
  )
})

const subscribing = Effect.fnUntraced(function* subscribing(
  reading: Reading,
  semaphore: Semaphore.Semaphore,
  name: string,
  subscriber: Subscriber,
): Effect.fn.Return<never, TooMany> {
  /** Where this process has come, for a store that has forgotten the name. */
  let reached: number | null = null
  const note = (position: number) => {
    reached = position
  }
  note((yield* answered(known(reading, name, null))).reached)
  yield* subscriber.known
  const hold = Effect.gen(function* hold() {
    const subscription = yield* answered(claimed(reading, name, reached))
    note(subscription.reached)
    return yield* holding(reading, name, subscription, subscriber, note)
  }).pipe(Effect.catchTag("LeaseLost", () => Effect.void))
  return yield* semaphore.withPermits(1)(Effect.forever(hold))
})

export class EventFeed extends Context.Service<
  EventFeed,
  {
    /**
     * A position that precedes all events committed from now on. Exception: an open transaction may
     * commit an event before it, if over a thousand positions were taken meanwhile.
     */
    readonly end: Effect.Effect<number, StoreUnavailable>
    /**
     * Passes on each event after `after`, in order, until interrupted. A failed listener gets the
     * event four more times, after growing pauses of service time; later events wait. Then the feed
     * logs and skips it. `dealtWith` runs after each event.
     */
    follow(
      after: number,
      listener: Handler,
      dealtWith?: (event: OutboxEvent) => void,
    ): Effect.Effect<never>
    /**
     * Passes on each event after the position that the store keeps under `name`, at the end of the
     * outbox for a new name, until interrupted. One process at a time does, and in it one call. The
     * listener gets an event until it succeeds, after growing pauses of service time. The store then
     * has the position: what was handled before a crash, and not saved, comes again. Fails with
     * `validation_failed` when there are too many names.
     */
    subscribe(
      name: string,
      subscriber: Subscriber,
    ): Effect.Effect<never, Refusal<"validation_failed">>
  }
>()("core/EventFeed") {
  static readonly layer = Layer.effect(
    EventFeed,
    Effect.gen(function* make() {
      const reading = yield* makeReading
      /** Subscriptions of one name take turns within this process. */
      const semaphores = new Map<string, Semaphore.Semaphore>()
      const feedLock = (name: string) => {
        const semaphore = semaphores.get(name) ?? Semaphore.makeUnsafe(1)
        semaphores.set(name, semaphore)
        return semaphore
      }
      return EventFeed.of({
        end: reading.end,
        follow: (after, listener, dealtWith = () => undefined) =>
          reading.readOn(after, (event) =>
            Effect.andThen(
              notify(event, listener, (failures) => listenerPauses[failures] ?? null),
              Effect.sync(() => dealtWith(event)),
            ),
          ),
        subscribe: (name, subscriber) => subscribing(reading, feedLock(name), name, subscriber),
      })
    }),
  )
}
