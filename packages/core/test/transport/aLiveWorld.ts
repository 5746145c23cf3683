/** Numbers on a transport without wires: a scripted remote server, and a vault in memory. */
import { Clock, Deferred, Effect, Layer, Option, Queue, Redacted } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../src/model/Refusal.ts"
import type { NumberId } from "../../src/model/Ids.ts"
import { NumberProxies } from "../../src/service/Numbers.ts"
import { CannotOpen } from "../../src/model/Secrets.ts"
import { makeLiveNumbers } from "../../src/service/LiveNumbers.ts"
import type { AfterClose, LiveNumbersOptions, LiveSettings } from "../../src/service/LiveNumbers.ts"
import type { LiveConnection, TransportEvent } from "../../src/store/Transport.ts"
import { NumberOwnership } from "../../src/service/NumberOwnership.ts"
import { SessionVault } from "../../src/service/Sessions.ts"
import type { StoredSession, Owned } from "../../src/model/Shards.ts"

export const second = 1000
export const minute = 60 * second
export const day = 24 * 60 * minute

export const toId = (index: number) => index as NumberId

/** The first of all numbers. */
export const one = toId(1)

export const settings: LiveSettings = {
  firstPauseMillis: second,
  longestPauseMillis: 5 * minute,
  lostMillis: 10 * minute,
  lookMillis: 3 * second,
  startsAtOnce: 8,
}

export const again: AfterClose = { _tag: "Again" }

const newSession = (numberId: NumberId): StoredSession => ({
  numberId,
  platform: "whatsapp",
  status: "connected",
  removed: false,
  leavingSince: null,
  pauseReason: null,
  hasConversations: false,
  reason: null,
  proxy: null,
})

interface RemoteConnection extends LiveConnection {
  readonly numberId: NumberId
}

interface Outages {
  /** The remote server opens no connection. */
  remote: boolean | "refuses"
  /** The store does not answer, or fails like this. */
  store: boolean | Effect.Effect<never>
  /** This worker has no number. */
  owner: boolean
}

export const aLiveWorld = () => {
  const stored = new Map<NumberId, StoredSession>()
  const credentials = new Map<NumberId, string>()
  const started = new Map<NumberId, Array<number>>()
  const ends = new Map<NumberId, Queue.Queue<AfterClose>>()
  const proxies = new Map<NumberId, string>()
  const open = new Set<NumberId>()
  const trimmed: Array<string> = []
  const loggedOut: Array<NumberId> = []
  const reported: Array<TransportEvent> = []
  const counts = new Set<(keys: number) => void>()
  const outages: Outages = { remote: false, store: false, owner: false }
  let over = Deferred.makeUnsafe<void>()
  const [all, none]: [Owned, Owned] = ["all", { of: 1, shards: [] }]

  const answer = <A>(what: () => A) =>
    Effect.suspend((): Effect.Effect<A, StoreUnavailable> => {
      if (outages.store === false) return Effect.sync(what)
      return outages.store === true
        ? Effect.fail(new StoreUnavailable({ operation: "sessions", cause: "away" }))
        : outages.store
    })
  const getEnds = (numberId: NumberId) => {
    const known = ends.get(numberId)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.tap(Queue.unbounded<AfterClose>(), (created) =>
      Effect.sync(() => ends.set(numberId, created)),
    )
  }

  const services = Layer.mergeAll(
    Layer.mock(SessionVault, {
      list: answer(() => [...stored.values()]),
      credentials: (numberId) =>
        Effect.flatMap(
          answer(() => credentials.get(numberId) ?? null),
          (text) => (text === "unreadable" ? Effect.fail(new CannotOpen()) : Effect.succeed(text)),
        ),
      trim: (numberId, type, max) =>
        answer(() => void trimmed.push(`${numberId}: ${max} of ${type}`)),
      leave: (numberId) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          answer(() => {
            const known = stored.get(numberId)
            if (known !== undefined) {
              stored.set(numberId, { ...known, leavingSince: known.leavingSince ?? now })
            }
          }),
        ),
      wipe: (numberId) =>
        answer(() => {
          stored.delete(numberId)
          credentials.delete(numberId)
        }),
    }),
    Layer.succeed(NumberProxies, {
      of: (numberId) =>
        answer(() => {
          const url = proxies.get(numberId)
          return url === undefined ? null : Redacted.make(url)
        }),
    }),
    Layer.mock(NumberOwnership, {
      owned: Effect.sync(() => (outages.owner ? none : all)),
      owns: () => !outages.owner,
      finishes: () => !outages.owner,
      whileOwned: (_, use) =>
        outages.owner
          ? Effect.succeedNone
          : Effect.raceFirst(Effect.asSome(use), Effect.as(Deferred.await(over), Option.none())),
    }),
  )

  const connect: LiveNumbersOptions<RemoteConnection, unknown>["connect"] = (
    { numberId },
    connecting,
  ) =>
    Effect.gen(function* () {
      if (!credentials.has(numberId)) return null
      yield* answer(() => undefined)
      yield* connecting.ready
      counts.add(connecting.wrote)
      const now = yield* Clock.currentTimeMillis
      started.set(numberId, [...(started.get(numberId) ?? []), now])
      if (outages.remote !== false) return { ...again, isRefused: outages.remote === "refuses" }
      yield* Effect.acquireRelease(
        Effect.sync(() => open.add(numberId)),
        () => Effect.sync(() => open.delete(numberId)),
      )
      const connection = { numberId, over: Deferred.makeUnsafe<void>(), lastWordAt: () => now }
      yield* connecting.opened(connection, `49151${numberId}`)
      return yield* Queue.take(yield* getEnds(numberId))
    })

  return {
    away: outages,
    credentials,
    loggedOut,
    stored,
    /** Numbers with an open connection. */
    open,
    proxies,
    /** Everything that a listener heard, oldest first. */
    reported,
    trimmed,
    /** When each connection of the number began, in service time. */
    startedFor: (numberId: NumberId): ReadonlyArray<number> => started.get(numberId) ?? [],
    /** Gives the number a session, or another one. */
    keep: (numberId: NumberId, change: Partial<StoredSession> = {}) => {
      stored.set(numberId, { ...(stored.get(numberId) ?? newSession(numberId)), ...change })
      if (!credentials.has(numberId)) credentials.set(numberId, "session")
    },
    /** The remote server ends the number's connection, or the next one that is opened. */
    end: (numberId: NumberId, after: AfterClose) =>
      Effect.flatMap(getEnds(numberId), (queue) => Queue.offer(queue, after)),
    /** Gives all numbers to another worker, or back to this one. */
    move: (isUnavailable: boolean) =>
      Effect.sync(() => {
        outages.owner = isUnavailable
        if (isUnavailable) Deferred.doneUnsafe(over, Effect.void)
        else over = Deferred.makeUnsafe()
      }),
    /** Makes each connected number write so many keys. */
    wrote: (keys: number) => {
      for (const count of counts) count(keys)
    },
    takeAll: (event: TransportEvent) => Effect.sync(() => void reported.push(event)),
    /** The transport, over a vault and an ownership of its own. */
    numbers: (
      options: Partial<LiveNumbersOptions<RemoteConnection, unknown>> = {},
    ): Effect.Effect<
      Effect.Success<ReturnType<typeof makeLiveNumbers<RemoteConnection, unknown>>>,
      never,
      Scope.Scope
    > =>
      makeLiveNumbers<RemoteConnection, unknown>({
        platform: "whatsapp",
        settings,
        keptKeys: { session: 100 },
        connect,
        remembersWiped: true,
        meansLoggedOut: ["logged_out"],
        logOut: ({ numberId }) =>
          Effect.sync(() => {
            loggedOut.push(numberId)
            return true
          }),
        ...options,
      }).pipe(Effect.provide(services)),
  }
}

export const listening = (
  world: ReturnType<typeof aLiveWorld>,
  options: Parameters<typeof world.numbers>[0] = {},
) =>
  Effect.gen(function* () {
    const numbers = yield* world.numbers(options)
    const listener = yield* Effect.forkScoped(numbers.listen(world.takeAll))
    yield* TestClock.adjust("1 second")
    return { numbers, listener }
  })
