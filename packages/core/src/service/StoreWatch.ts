/**
 * Detects that the store is behind what this process has seen: a backup was restored, or a lagging
 * standby took over. Such a store reuses ids and has forgotten what left. The process then claims
 * and accepts nothing until `restored` begins another epoch, or it restarts.
 *
 * It also shows for how long callers' transactions hold numbers, and names those that do for long.
 *
 * It looks every two seconds. After a store failure it looks before any claim or acceptance: a
 * store that went back in time was away first.
 */
import { Context, Effect, Layer, Semaphore } from "effect"
import { StoreUnavailable } from "../model/Refusal.ts"
import type { MessageId } from "../model/Ids.ts"
import type {
  HeldNumber,
  ObservedMessages,
  StorePosition,
  StoreRisk,
} from "../store/SystemStore.ts"
import { showCallersHold, showStoreRisks } from "../store/Metrics.ts"
import { logFailure } from "./logThrottled.ts"
import { RealTime, sleep } from "../model/Time.ts"
import { WorkGate } from "./Readiness.ts"
import { Store } from "../store/Store.ts"

/** What a process has seen of its store. */
export interface ObservedStore extends ObservedMessages {
  readonly epoch: number
  readonly server: string
  readonly highestMessage: number
  readonly highestEvent: number
}

/** What is seen once the store was found there; the highest of what was seen within one epoch. */
export const observe = (
  { epoch, events, messages, server }: StorePosition,
  before: ObservedStore | null,
): ObservedStore => {
  const same = before?.epoch === epoch ? before : null
  return {
    epoch,
    server,
    highestMessage: Math.max(messages.highest, same?.highestMessage ?? 0),
    highestEvent: Math.max(events.highest, same?.highestEvent ?? 0),
    accepted: same?.accepted.slice(-1) ?? [],
    ended: same?.ended.slice(-1) ?? [],
  }
}

/**
 * What is still to be found there: an accepted message is not, once retention has erased it, as the same
 * server tells. Another server without it is then not behind.
 */
export const withoutErased = (
  observed: ObservedStore,
  { missing, server }: Pick<StorePosition, "missing" | "server">,
): ObservedStore =>
  missing !== null && server === observed.server ? { ...observed, accepted: [] } : observed

/**
 * Why the store is behind what was seen of it; null when it is not. What was given out covers the highest
 * id of a commit in any store that has that commit, also where the latest records are erased. That an
 * accepted message is missing says so only once another server answers: on the same one it was erased.
 */
export const behindBecause = (observed: ObservedStore, now: StorePosition): string | null => {
  if (now.epoch > observed.epoch) return null
  if (now.epoch < observed.epoch) return `its epoch is ${now.epoch} and was ${observed.epoch}`
  const highest = observed.accepted.reduce<number>(
    (high, id) => Math.max(high, id),
    observed.highestMessage,
  )
  if (now.messages.given < highest) {
    return `it has given out message ids up to ${now.messages.given} alone, and had message ${highest}`
  }
  if (now.events.given < observed.highestEvent) {
    return `it has written ${now.events.given} events, and had written ${observed.highestEvent}`
  }
  if (now.waitsAgain !== null) return `message ${now.waitsAgain} had ended, and waits again`
  if (now.missing !== null && now.server !== observed.server) {
    return `message ${now.missing} was accepted, and is not there`
  }
  return null
}

const riskWords: Readonly<Record<StoreRisk, string>> = {
  asynchronous_commit:
    "the database runs with synchronous_commit=off: a crash of it loses messages that were acknowledged",
  asynchronous_standby:
    "the database has a standby that is not synchronous: a fail-over loses messages that were acknowledged; say restored after one",
}

/** Real milliseconds between two looks. */
const lookMillis = 2000

/** As many messages as are remembered between two looks; of more every second one goes. */
const maxRemembered = 1000

const remembered = (
  before: ReadonlyArray<MessageId>,
  more: Iterable<MessageId>,
): ReadonlyArray<MessageId> => {
  const all = [...before, ...more]
  return all.length <= maxRemembered ? all : all.filter((_, index) => index % 2 === 1)
}

/**
 * Whether what is done is part of a caller's transaction, which may be rolled back, fails for reasons of
 * its own, and has no place for a look.
 */
const InCallersTransaction = Context.Reference<boolean>("core/InCallersTransaction", {
  defaultValue: () => false,
})

const unlessJoined = (note: () => void) =>
  Effect.map(InCallersTransaction, (isJoined) => {
    if (!isJoined) note()
  })

/** Real milliseconds after which a number that a caller's transaction holds is named. */
const longHoldMillis = 10_000

interface Hold {
  readonly heldMillis: () => number
  isNamed: boolean
}

/** Each transaction's holds, from the look that first found them. */
const makeHolds = () => {
  let before: ReadonlyMap<string, Hold> = new Map()
  return Effect.fnUntraced(function* logHolds(numbers: ReadonlyArray<HeldNumber>) {
    const { stopwatch } = yield* RealTime
    const holds = new Map<string, Hold>()
    for (const { numberId, transaction } of numbers) {
      const key = `${numberId} ${transaction}`
      const hold = before.get(key) ?? { heldMillis: yield* stopwatch, isNamed: false }
      holds.set(key, hold)
      if (hold.isNamed || hold.heldMillis() < longHoldMillis) continue
      hold.isNamed = true
      yield* Effect.annotateLogs(
        Effect.logWarning(
          "a transaction of the program's that cancelled a message is still open: until it ends, its number sends nothing",
        ),
        { number: numberId },
      )
    }
    before = holds
    const longest = Math.max(0, ...[...holds.values()].map(({ heldMillis }) => heldMillis()))
    yield* showCallersHold(longest / 1000)
  })
}

const makeWatch = Effect.fnUntraced(function* makeWatch(first: StorePosition) {
  const gate = yield* WorkGate
  const store = (yield* Store).system
  const one = yield* Semaphore.make(1)
  const logHolds = makeHolds()
  let observed = observe(first, null)
  /** Whether the store failed since it was last looked at. */
  let isSuspect = false

  const check = Effect.gen(function* inspect() {
    isSuspect = false
    const before = observed
    const position = yield* store.position(before)
    if (position === null) return
    yield* showStoreRisks(position.risks)
    yield* logHolds(position.heldByCallers)
    const because = behindBecause(before, position)
    if (because !== null) {
      return yield* gate.close(
        "store_behind",
        `the store went back in time: ${because}; until \`restored\` or a restart this process claims and accepts nothing`,
      )
    }
    const found = observe(position, withoutErased(before, position))
    // What came meanwhile is looked for the next time.
    observed = {
      ...found,
      accepted: [...found.accepted, ...observed.accepted.slice(before.accepted.length)],
      ended: [...found.ended, ...observed.ended.slice(before.ended.length)],
    }
    yield* gate.open("store_behind")
  }).pipe(
    // A look that is interrupted has found nothing either.
    Effect.onError(() =>
      Effect.sync(() => {
        isSuspect = true
      }),
    ),
  )

  return {
    check: one.withPermits(1)(check),
    /** Looks first where the store failed since the last look. */
    assured: Effect.flatMap(InCallersTransaction, (isJoined) =>
      isSuspect && !isJoined
        ? one.withPermits(1)(Effect.suspend(() => (isSuspect ? check : Effect.void)))
        : Effect.void,
    ),
    isClosed: () => gate.causes().has("store_behind"),
    /** The store's work; a failure of it makes the store suspect. */
    watched: <A, R>(work: Effect.Effect<A, StoreUnavailable, R>) =>
      Effect.tapError(work, () =>
        unlessJoined(() => {
          isSuspect = true
        }),
      ),
    accepted: (ids: ReadonlyArray<MessageId>) =>
      unlessJoined(() => {
        observed = { ...observed, accepted: remembered(observed.accepted, ids) }
      }),
    ended: (ids: ReadonlySet<MessageId>) =>
      ids.size === 0
        ? Effect.void
        : unlessJoined(() => {
            observed = { ...observed, ended: remembered(observed.ended, ids) }
          }),
  }
})

type Watch = Effect.Success<ReturnType<typeof makeWatch>>

const behind = new StoreUnavailable({
  operation: "accept",
  cause: new Error("the store went back in time"),
  retryAfter: 5,
})

const accepting =
  ({ accepted, assured, isClosed, watched }: Watch) =>
  <A extends { readonly _tag: string; readonly ids?: ReadonlyArray<MessageId> }>(
    accept: Effect.Effect<A, StoreUnavailable>,
  ): Effect.Effect<A, StoreUnavailable> =>
    assured.pipe(
      Effect.andThen(Effect.suspend(() => (isClosed() ? Effect.fail(behind) : watched(accept)))),
      Effect.tap(({ ids }) => (ids === undefined ? Effect.void : accepted(ids))),
    )

const watchedStore = (store: typeof Store.Service, watch: Watch): typeof Store.Service => {
  const { messages, queue, reminders, system } = store
  const accept = accepting(watch)
  return {
    ...store,
    messages: {
      ...messages,
      accept: (acceptance) => accept(messages.accept(acceptance)),
      end: (changes, options) =>
        Effect.tap(watch.watched(messages.end(changes, options)), watch.ended),
    },
    reminders: {
      ...reminders,
      run: (acceptance, run) => accept(reminders.run(acceptance, run)),
    },
    queue: {
      ...queue,
      claim: (query) =>
        Effect.andThen(
          watch.assured,
          Effect.suspend(() =>
            watch.isClosed() ? Effect.succeed([]) : watch.watched(queue.claim(query)),
          ),
        ),
      settle: (settlements, now) =>
        Effect.tap(watch.watched(queue.settle(settlements, now)), ({ settled }) => {
          const ended = settlements.flatMap((one) =>
            one._tag === "Ended" && settled.has(one.change.message.id) ? one.change.message.id : [],
          )
          return watch.ended(new Set(ended))
        }),
    },
    system: {
      ...system,
      joinTransaction: (client, effect) =>
        system.joinTransaction(client, Effect.provideService(effect, InCallersTransaction, true)),
    },
  }
}

/**
 * Watches a shared store until the layer closes, and wraps it for the core. A store that is away at
 * first is watched from its first answer.
 */
export const layerWatchedStore = Layer.effect(
  Store,
  Effect.gen(function* () {
    const store = yield* Store
    const first = yield* store.system.position({ accepted: [], ended: [] })
    yield* showCallersHold(0)
    if (first === null) {
      yield* showStoreRisks([])
      return store
    }
    const watch = yield* makeWatch(first)
    yield* showStoreRisks(first.risks)
    for (const risk of first.risks) yield* Effect.logWarning(riskWords[risk])
    const looking = watch.check.pipe(
      Effect.catchCause((cause) => logFailure("the store is looked at later", cause)),
    )
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(sleep(lookMillis), looking)))
    return watchedStore(store, watch)
  }),
)
