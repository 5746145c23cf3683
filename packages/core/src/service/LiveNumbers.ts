/**
 * Keeps the connections of live numbers for transports that have their own. A connection stays open
 * while this worker owns the number and the service takes the transport's events. A few numbers
 * connect at a time, to limit the load on machine and remote. Sections: ending sessions, one
 * connection, all numbers.
 */
import {
  Cause,
  Clock,
  Deferred,
  Effect,
  Exit,
  FiberMap,
  Latch,
  Option,
  Random,
  Redacted,
  References,
  Scope,
  Semaphore,
} from "effect"
import type { Context } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { NumberId } from "../model/Ids.ts"
import { logThrottled, logFailure } from "./logThrottled.ts"
import { NumberProxies } from "./Numbers.ts"
import type { ConnectionReport } from "../store/NumberStore.ts"
import { suspends, reasonOnceResumed } from "../model/SendingNumber.ts"
import type { Platform } from "../model/SendingNumber.ts"
import type { CannotOpen } from "../model/Secrets.ts"
import { sleep } from "../model/Time.ts"
import { retryUntilStoreAnswers } from "./SessionAccess.ts"
import { NumberOwnership } from "./NumberOwnership.ts"
import type { NumberMoved } from "./NumberOwnership.ts"
import { SessionVault } from "./Sessions.ts"
import type { StoredSession, Owned } from "../model/Shards.ts"
import {
  changeStatus,
  closeConnection,
  makeReconnectPauses,
  newLiveNumber,
  noteConversations,
  settled,
  getStatus,
} from "../store/Transport.ts"
import type {
  ClosedReason,
  LiveConnection,
  LiveNumber,
  LiveStatus,
  TakeEvent,
} from "../store/Transport.ts"

// Ending sessions: the number was removed or logged out, or the core rejected the session. The
// vault keeps each until the remote has logged it out, or for `leavingMillis`.

/** Logins that are open or failed, where the vault stores some instead of sessions. */
interface Logins {
  readonly isLogin: (credentials: string) => boolean
  /** Ends a login's traces at the remote; true when none is known to be left. */
  readonly end: (numberId: NumberId, credentials: string) => Effect.Effect<boolean>
  /** How to handle the login of a number that stays, at that service time; null for nothing. */
  readonly settle: (
    numberId: NumberId,
    credentials: string,
    now: number,
  ) => Effect.Effect<void, NumberMoved> | null
}

/** What a transport knows about ends of its sessions. */
interface Ends<Open extends LiveConnection> {
  /** Logs the session out; whether the remote confirmed. It has 5 seconds. */
  readonly logOut: (connection: Open) => Effect.Effect<boolean>
  /** Reasons that mean the remote no longer knows the session, as after a log-out here. */
  readonly meansLoggedOut: ReadonlyArray<ClosedReason>
  /** Reasons that refuse a session even for a log-out: nothing more can be done. */
  readonly refusesLogOut?: ReadonlyArray<ClosedReason>
  /** Absent where the vault has only sessions. */
  readonly logins?: Logins
}

/** Time limit of one log-out attempt. */
const logOutMillis = 5000

/** How long to keep an ending session while the remote is unreachable: 30 days. */
const leavingMillis = 30 * 24 * 60 * 60_000

/** Ends sessions, one at a time for each number. */
interface EndingSessions<Open extends LiveConnection> {
  readonly ends: Ends<Open>
  readonly vault: SessionVault["Service"]
  readonly numbers: LiveHandles<Open>
  readonly fibers: FiberMap.FiberMap<NumberId>
}

/** What ends of sessions need of the connected numbers. */
interface LiveHandles<Open extends LiveConnection> {
  find(numberId: NumberId): LiveNumber<Open> | undefined
  /** Connects a number. */
  start(numberId: NumberId): Effect.Effect<LiveNumber<Open>>
  /** Ends its connection. */
  release(numberId: NumberId): Effect.Effect<void>
  /** Gives work that outlives its caller the service's clock, without the caller's annotations. */
  detached<A>(work: Effect.Effect<A>): Effect.Effect<A>
}

/** The vault's session of a number. */
const inVault = <Open extends LiveConnection>(
  { ends, vault }: EndingSessions<Open>,
  numberId: NumberId,
) =>
  Effect.map(vault.credentials(numberId), (text) => {
    if (text === null) return null
    return ends.logins?.isLogin(text) === true ? { login: text } : "session"
  })

const isKnownOver = <Open extends LiveConnection>(
  { ends }: EndingSessions<Open>,
  { status: { reason } }: LiveNumber<Open>,
): boolean => reason !== null && ends.meansLoggedOut.includes(reason)

/** Whether the remote no longer knows the session. */
const isLoggedOut = <Open extends LiveConnection>(
  { ends }: EndingSessions<Open>,
  reached: Open | ClosedReason,
): Effect.Effect<boolean> =>
  typeof reached === "string"
    ? Effect.succeed(
        ends.meansLoggedOut.includes(reached) || ends.refusesLogOut?.includes(reached) === true,
      )
    : Effect.map(
        Effect.timeoutOption(ends.logOut(reached), logOutMillis),
        Option.getOrElse(() => false),
      )

const wipeAfter = Effect.fnUntraced(function* wipeAfter<Open extends LiveConnection>(
  { numbers, vault }: EndingSessions<Open>,
  numberId: NumberId,
  leavingSince: number,
  isOver: boolean,
) {
  const now = yield* Clock.currentTimeMillis
  if (!isOver && now - leavingSince < leavingMillis) return
  yield* numbers.release(numberId)
  yield* retryUntilStoreAnswers(vault.wipe(numberId))
  yield* Effect.logInfo(
    isOver ? "number logged out" : "number forgotten: the remote server was away for too long",
  )
})

/** One log-out attempt. Its connection stays, and opens when the remote is back. */
const logOutNow = Effect.fnUntraced(function* logOutNow<Open extends LiveConnection>(
  ending: EndingSessions<Open>,
  numberId: NumberId,
  leavingSince: number,
) {
  const { numbers } = ending
  const known = numbers.find(numberId)
  // A number that was given up connects once more for this, then never again.
  const isOut = known?.isAbandoned === true && !known.leaves && !isKnownOver(ending, known)
  if (isOut) yield* numbers.release(numberId)
  const live = numbers.find(numberId) ?? (yield* numbers.start(numberId))
  live.isReported = false
  live.leaves = true
  const reached = yield* Effect.timeoutOption(settled(live), logOutMillis)
  const isOver = Option.isSome(reached) && (yield* isLoggedOut(ending, reached.value))
  yield* wipeAfter(ending, numberId, leavingSince, isOver)
})

/** Starts ending a session, unless that is under way. */
const startEnding = <Open extends LiveConnection>(
  { fibers, numbers }: EndingSessions<Open>,
  numberId: NumberId,
  work: Effect.Effect<void, NumberMoved>,
): Effect.Effect<void> =>
  work.pipe(
    // Another worker has the number now and logs it out.
    Effect.ignore,
    Effect.annotateLogs({ number: numberId }),
    (ending) => numbers.detached(ending),
    (ending) => FiberMap.run(fibers, numberId, ending, { onlyIfMissing: true }),
    Effect.asVoid,
  )

/** The number's session ends, from now on or since then. */
const endSession = <Open extends LiveConnection>(
  ending: EndingSessions<Open>,
  numberId: NumberId,
  leavingSince: number | null,
): Effect.Effect<void> =>
  startEnding(
    ending,
    numberId,
    Effect.gen(function* endNow() {
      const { logins } = ending.ends
      if (leavingSince === null) yield* retryUntilStoreAnswers(ending.vault.leave(numberId))
      const since = leavingSince ?? (yield* Clock.currentTimeMillis)
      // An unreadable session is kept as long as any other.
      const kept = inVault(ending, numberId).pipe(
        Effect.catchTag("CannotOpen", () => Effect.succeed(null)),
      )
      const known = logins === undefined ? null : yield* retryUntilStoreAnswers(kept)
      if (logins === undefined || known === null || known === "session") {
        return yield* logOutNow(ending, numberId, since)
      }
      return yield* wipeAfter(ending, numberId, since, yield* logins.end(numberId, known.login))
    }),
  )

// Keeps one number connected: opens a connection, waits for its end, and reconnects as the
// transport's table of ends says. It never loops when the remote forbids reconnecting.

/** What to do after a connection ends, from the transport's table of ends. */
export type AfterClose =
  /** Reconnect at once, as the remote asked. A second one in a row waits as `Again` does. */
  | { readonly _tag: "Restart" }
  /**
   * Reconnect after a pause that grows with each failure. Up to 15 s, unless the remote refused the
   * connection: by default it did not answer.
   */
  | { readonly _tag: "Again"; readonly isRefused?: boolean }
  /** Reconnect after the remote's requested time. */
  | { readonly _tag: "Pause"; readonly reason: ClosedReason; readonly millis: number }
  /** Do not reconnect. `wipe`: the stored session is worthless. */
  | { readonly _tag: "Stop"; readonly reason: ClosedReason; readonly wipe: boolean }

const again: AfterClose = { _tag: "Again" }

const unreadable = "a number's session could not be read, and is tried again"

/** A shorter connection counts as a failure and lengthens the next pause. */
const steadyMillis = 60_000

/** How often to trim a number's keys, besides at its start and after many writes. */
const trimMillis = 60 * 60_000
const trimKeys = 10_000

/**
 * How long a connecting number's slot stays empty: with eight slots, at most 40 connections open
 * per second.
 */
const emptyMillis = 200

/** How often to check which numbers this worker owns. */
const askMillis = 250

/** A transport's patience; all in service time. */
export interface LiveSettings {
  /** The pause after the first lost connection. */
  readonly firstPauseMillis: number
  /** The longest pause after refusals; without an answer it is at most 15 s. */
  readonly longestPauseMillis: number
  /** After this long without a connection, the core marks the number disconnected. */
  readonly lostMillis: number
  /** How often to look for numbers with a session, and for those that leave. */
  readonly lookMillis: number
  /** Connections that open concurrently; others queue. */
  readonly startsAtOnce: number
}

/** A change of a number's connection, reported to the core. */
type LiveChange =
  | { readonly status: "connected"; readonly phone: string; readonly reason: null }
  | { readonly status: "disconnected"; readonly phone: null; readonly reason: ClosedReason }

/** What a transport calls while it connects a number. */
export interface Connecting<Open extends LiveConnection> {
  /**
   * Prepares each connection: trims keys, waits for a slot and for ownership. Gives the proxy's
   * URL, null without one, and `releaseSlot` for short connections.
   */
  readonly ready: Effect.Effect<
    { readonly proxy: string | null; readonly releaseSlot: Effect.Effect<void> },
    StoreUnavailable | CannotOpen,
    Scope.Scope
  >
  /** Reports an open connection. `phone`: digits with country code. */
  opened(connection: Open, phone: string): Effect.Effect<void, never, Scope.Scope>
  /**
   * Reports a lost connection that the library reopens by itself. After `lostMillis` the core marks
   * the number disconnected.
   */
  readonly lost: Effect.Effect<void, never, Scope.Scope>
  /** Tells the core, unless the number's status is not reported. Done once stored. */
  notify(change: LiveChange): Effect.Effect<void>
  /** Hands over any other event; done once stored. */
  readonly take: TakeEvent
  /** Counts written keys; many of them trigger a trim. */
  readonly wrote: (keys: number) => void
}

/** How a transport connects its numbers. */
interface LiveTransport<Open extends LiveConnection, E> {
  readonly settings: LiveSettings
  /** How many keys of each type a number keeps. */
  readonly keptKeys: Readonly<Record<string, number>>
  /**
   * Called whenever a number starts. The result runs once per connection, in its own scope, and
   * returns what to do afterwards; null when there is nothing to connect. A failure is logged, and
   * the number starts again at the next look.
   */
  readonly connect: (
    live: LiveNumber<Open>,
    connecting: Connecting<Open>,
  ) => Effect.Effect<AfterClose | null, E, Scope.Scope>
}

/**
 * Takes a slot for opening; it frees up shortly after use, or after the scope. Even fast
 * connections then reach the remote a few per second.
 */
const acquireSlot = Effect.fnUntraced(function* acquireSlot(starts: Semaphore.Semaphore) {
  let hasLeft = false
  const slot = yield* Scope.make()
  const leave = Effect.suspend(() => {
    if (hasLeft) return Effect.void
    hasLeft = true
    const free = Effect.andThen(Effect.sleep(emptyMillis), Scope.close(slot, Exit.void))
    return Effect.asVoid(Effect.forkDetach(free))
  })
  yield* Effect.addFinalizer(() => leave)
  yield* Scope.provide(starts.takeScoped(1), slot)
  return leave
})

/** What keeps numbers connected. */
interface Keeper<Open extends LiveConnection, E> {
  readonly transport: LiveTransport<Open, E>
  readonly take: TakeEvent
  readonly vault: SessionVault["Service"]
  readonly ownership: NumberOwnership["Service"]
  readonly proxies: NumberProxies["Service"]
  /** Slots for connections that open. */
  readonly starts: Semaphore.Semaphore
}

const notify = <Open extends LiveConnection, E>(
  { take }: Keeper<Open, E>,
  live: LiveNumber<Open>,
  change: LiveChange,
) =>
  Effect.suspend(() => {
    const { numberId, isReported } = live
    return isReported ? take({ _tag: "ConnectionChanged", numberId, ...change }) : Effect.void
  })

/**
 * Waits until this worker owns the number. A worker that was frozen is in doubt at first; this is
 * interrupted if another owns the number by then.
 */
const untilOwned = <Open extends LiveConnection, E>(
  keeper: Keeper<Open, E>,
  numberId: NumberId,
): Effect.Effect<void> =>
  Effect.suspend(() =>
    keeper.ownership.owns(numberId)
      ? Effect.void
      : Effect.andThen(sleep(askMillis), untilOwned(keeper, numberId)),
  )

/**
 * Reports an open connection, and repeats it when a late report marked the number disconnected:
 * from a send before it opened, or from the previous owner.
 */
const reportOpen = <Open extends LiveConnection, E>(
  keeper: Keeper<Open, E>,
  live: LiveNumber<Open>,
  phone: string,
) =>
  notify(keeper, live, { status: "connected", phone, reason: null }).pipe(
    Effect.andThen(live.contradicted.close),
    Effect.andThen(live.contradicted.await),
    Effect.forever,
  )

/** Marks the number disconnected after a long loss, while it keeps retrying. */
const reportLost = <Open extends LiveConnection, E>(
  keeper: Keeper<Open, E>,
  live: LiveNumber<Open>,
) => notify(keeper, live, { status: "disconnected", phone: null, reason: "connection_lost" })

/** Deletes keys beyond `keptKeys`: hourly, and after many writes. */
const trim = <Open extends LiveConnection, E>(
  { transport, vault }: Keeper<Open, E>,
  live: LiveNumber<Open>,
) =>
  Effect.gen(function* trimNow() {
    const now = yield* Clock.currentTimeMillis
    const isRecent = live.trimmedAt !== null && now - live.trimmedAt < trimMillis
    if (isRecent && live.wroteSince < trimKeys) return
    live.trimmedAt = now
    live.wroteSince = 0
    for (const [type, max] of Object.entries(transport.keptKeys)) {
      yield* vault.trim(live.numberId, type, max)
    }
  }).pipe(Effect.catch((error) => logFailure("keys are trimmed another time", error)))

const logLost = ({ numberId }: Pick<LiveNumber<LiveConnection>, "numberId">) =>
  logThrottled("number lost its connection", { number: numberId })

const makeConnecting = <Open extends LiveConnection, E>(
  keeper: Keeper<Open, E>,
  live: LiveNumber<Open>,
): Connecting<Open> => {
  const { proxies, starts, take, transport } = keeper
  let releaseSlot: Effect.Effect<void> = Effect.void
  return {
    take,
    notify: (change) => notify(keeper, live, change),
    wrote: (keys) => {
      live.wroteSince += keys
    },
    ready: Effect.gen(function* ready() {
      const proxy = yield* proxies.of(live.numberId)
      live.proxyUrl = proxy === null ? null : Redacted.value(proxy)
      yield* trim(keeper, live)
      releaseSlot = yield* acquireSlot(starts)
      yield* untilOwned(keeper, live.numberId)
      return { proxy: live.proxyUrl, releaseSlot }
    }),
    opened: Effect.fnUntraced(function* opened(connection, phone) {
      live.open = connection
      live.lostAt = null
      yield* releaseSlot
      yield* changeStatus(live, { state: "connected", reason: null })
      yield* Deferred.succeed(live.turn, connection)
      yield* logThrottled("number connected", { number: live.numberId })
      yield* Effect.forkScoped(
        Effect.raceFirst(reportOpen(keeper, live, phone), Deferred.await(connection.over)),
      )
    }),
    lost: Effect.gen(function* lost() {
      closeConnection(live)
      const { reconnects, state } = live.status
      yield* changeStatus(live, {
        state: "waiting",
        reason: "connection_lost",
        reconnects: state === "connected" ? reconnects + 1 : reconnects,
      })
      if (state === "connected") yield* logLost(live)
      if (live.lostAt !== null) return
      const lostAt = yield* Clock.currentTimeMillis
      live.lostAt = lostAt
      const reportLater = Effect.gen(function* reportLater() {
        yield* Effect.sleep(transport.settings.lostMillis)
        if (live.lostAt === lostAt) yield* reportLost(keeper, live)
      })
      yield* Effect.forkScoped(reportLater)
    }),
  }
}

/** Stops reconnecting. With `wipe`, deletes the session once the core knows. */
const abandon = Effect.fnUntraced(function* abandon<Open extends LiveConnection, E>(
  keeper: Keeper<Open, E>,
  live: LiveNumber<Open>,
  reason: ClosedReason,
  wipe: boolean,
) {
  const { numberId } = live
  // Another worker may own the number and have replaced this session; it then reports the truth.
  yield* untilOwned(keeper, numberId)
  // The core logs a log-out itself, because operators log numbers out too.
  if (reason !== "logged_out") yield* Effect.logWarning(`number disconnected: ${reason}`)
  yield* changeStatus(live, { state: "disconnected", reason })
  yield* Deferred.succeed(live.turn, reason)
  yield* notify(keeper, live, { status: "disconnected", phone: null, reason })
  live.isAbandoned = true
  // Here the store says whether another worker owns the number.
  if (wipe) {
    const wiping = retryUntilStoreAnswers(keeper.vault.wipe(numberId))
    yield* wiping.pipe(Effect.catch(() => Effect.never))
  }
})

const tellIfLost = Effect.fnUntraced(function* tellIfLost<Open extends LiveConnection, E>(
  keeper: Keeper<Open, E>,
  live: LiveNumber<Open>,
) {
  const now = yield* Clock.currentTimeMillis
  live.lostAt ??= now
  if (now - live.lostAt >= keeper.transport.settings.lostMillis) yield* reportLost(keeper, live)
})

/** One connection, from its start to its end. */
const connectOnce = <Open extends LiveConnection, E>(
  keeper: Keeper<Open, E>,
  live: LiveNumber<Open>,
) =>
  Effect.scoped(
    Effect.ensuring(
      keeper.transport.connect(live, makeConnecting(keeper, live)),
      Effect.sync(() => closeConnection(live)),
    ),
  ).pipe(
    // A bug or an interruption elsewhere: otherwise the number would stay away for good.
    Effect.catchCause((cause) =>
      Cause.hasFails(cause)
        ? Effect.failCause(cause)
        : Effect.as(logFailure("a connection broke off", cause, Effect.logError), again),
    ),
  )

const keepConnected = Effect.fnUntraced(function* keepConnected<Open extends LiveConnection, E>(
  keeper: Keeper<Open, E>,
  live: LiveNumber<Open>,
) {
  const connection = connectOnce(keeper, live)
  const { firstPauseMillis: first, longestPauseMillis: longest } = keeper.transport.settings
  const pauses = makeReconnectPauses({ first, longest })
  let hasFailed = false
  for (;;) {
    yield* changeStatus(live, { state: "connecting" })
    const after = yield* connection
    if (after === null) return "over" as const
    if (after._tag === "Stop") {
      yield* abandon(keeper, live, after.reason, after.wipe)
      return after.wipe ? ("wiped" as const) : ("given_up" as const)
    }
    const { reconnects, since, state } = live.status
    const now = yield* Clock.currentTimeMillis
    if (state === "connected" && now - since >= steadyMillis) {
      pauses.reset()
      hasFailed = false
    }
    yield* changeStatus(live, { reconnects: reconnects + 1 })
    if (state === "connected") yield* logLost(live)
    if (after._tag === "Pause") {
      const { millis, reason } = after
      const waits = { number: live.numberId, reason, millis }
      yield* logThrottled("number waits to connect", waits, "Warn")
      yield* changeStatus(live, { state: "waiting", reason })
      yield* notify(keeper, live, { status: "disconnected", phone: null, reason })
      yield* Effect.sleep(millis)
      continue
    }
    const isRefused = after._tag !== "Again" || after.isRefused === true
    const pause = pauses.next(isRefused, yield* Random.next)
    if (after._tag === "Again" || hasFailed) {
      yield* changeStatus(live, { state: "waiting", reason: "connection_lost" })
      yield* tellIfLost(keeper, live)
      yield* Effect.sleep(pause)
    }
    hasFailed = true
  }
})

/**
 * Keeps the number connected until it was given up or wiped, there was nothing to connect (`over`),
 * or its session could not be read.
 */
const keep = <Open extends LiveConnection, E>(keeper: Keeper<Open, E>, live: LiveNumber<Open>) =>
  keepConnected(keeper, live).pipe(
    Effect.catch((error) => Effect.as(logFailure(unreadable, error), "unreadable" as const)),
    Effect.annotateLogs({ number: live.numberId }),
  )

/** How a transport connects its numbers, and what it knows of their sessions. */
export interface LiveNumbersOptions<Open extends LiveConnection, E>
  extends LiveTransport<Open, E>, Ends<Open> {
  readonly platform: Platform
  /**
   * Whether a number with a wiped session stays known as disconnected until this process links it
   * again. Where any process may log it in, it is forgotten and looked up again.
   */
  readonly remembersWiped: boolean
  /**
   * The transport's own work on a number that was not removed, instead of all else in this look;
   * null for none.
   */
  readonly instead?: (
    kept: StoredSession,
    live: LiveNumber<Open> | undefined,
  ) => Effect.Effect<unknown> | null
}

export interface LiveNumbers<Open extends LiveConnection> {
  /**
   * Keeps all numbers connected and ends those that leave, until interrupted. `take` receives
   * events, including earlier ones.
   */
  listen(take: TakeEvent): Effect.Effect<never>
  /**
   * The number's connection, waiting while it opens; or why there is none, such as `elsewhere`.
   * Null when it has no session.
   */
  open(numberId: NumberId): Effect.Effect<Open | ClosedReason | "elsewhere" | null>
  /** The number's open, usable connection right now; or null. */
  openNow(numberId: NumberId): Open | null
  owns(numberId: NumberId): boolean
  status(numberId: NumberId): LiveStatus | null
  /** The state of each connection, except of those not reported (`LiveNumber.isReported`). */
  readonly reports: Effect.Effect<ReadonlyArray<ConnectionReport>>
  /** Hands over an event once something listens. */
  readonly take: TakeEvent
  /** The number, if this process keeps its connection. */
  find(numberId: NumberId): LiveNumber<Open> | undefined
  /** Reconnects the number without reporting, and returns the result. */
  connectQuietly(numberId: NumberId): Effect.Effect<Open | ClosedReason>
  /**
   * Ends the number's connection to make way for another session. A leaving session is logged out
   * first if the remote is reachable; `leaves` marks it so.
   */
  makeRoom(numberId: NumberId, leaves: boolean): Effect.Effect<void, NumberMoved>
  /** The session ends from now on, and is logged out as soon as the remote is reachable. */
  logOut(numberId: NumberId): Effect.Effect<void>
}

/** The numbers that this process keeps connected. */
interface Connected<Open extends LiveConnection, E> {
  readonly options: LiveNumbersOptions<Open, E>
  readonly ownership: NumberOwnership["Service"]
  readonly keeper: Keeper<Open, E>
  readonly held: Map<NumberId, LiveNumber<Open>>
  readonly fibers: FiberMap.FiberMap<NumberId>
  readonly context: Context.Context<never>
}

/** The connected numbers, and the sessions that end. */
interface LiveService<Open extends LiveConnection, E> extends Connected<Open, E> {
  readonly vault: SessionVault["Service"]
  readonly proxies: NumberProxies["Service"]
  readonly endingSessions: EndingSessions<Open>
}

const find = <Open extends LiveConnection, E>({ held }: Connected<Open, E>, numberId: NumberId) =>
  held.get(numberId)

/** The work outlives its caller, so it uses this service's clock. */
const detached = <Open extends LiveConnection, E, A, F>(
  { context }: Connected<Open, E>,
  work: Effect.Effect<A, F>,
) =>
  work.pipe(
    Effect.provideService(References.CurrentLogAnnotations, {}),
    Effect.provideContext(context),
  )

/**
 * Starts keeping the number connected. `isReported`: whether its status is reported. Uninterruptible: a
 * number that is held without a fiber would never connect.
 */
const start = Effect.fnUntraced(function* start<Open extends LiveConnection, E>(
  service: Connected<Open, E>,
  numberId: NumberId,
  isReported: boolean,
) {
  const { fibers, held, keeper, options, ownership } = service
  const live = yield* newLiveNumber<Open>(numberId, isReported)
  // Started meanwhile, by a look, a send or a log-out.
  const started = held.get(numberId)
  if (started !== undefined) return started
  held.set(numberId, live)
  const forget = Effect.suspend(() => {
    if (held.get(numberId) === live) held.delete(numberId)
    return Deferred.succeed(live.turn, "connection_lost")
  })
  const kept = Effect.flatMap(keep(keeper, live), (end) =>
    end === "given_up" || (end === "wiped" && options.remembersWiped) ? Effect.void : forget,
  )
  yield* FiberMap.run(
    fibers,
    numberId,
    detached(
      service,
      Effect.tap(ownership.whileOwned(numberId, kept), (end) =>
        Option.isNone(end) ? forget : Effect.void,
      ),
    ),
  )
  return live
}, Effect.uninterruptible)

/** Ends the wait for its connection: the next one opens elsewhere or by itself. */
const giveUpWaiting = <Open extends LiveConnection>(live: LiveNumber<Open>) =>
  Deferred.doneUnsafe(live.turn, Effect.succeed("connection_lost" as const))

/** Ends its connection, and is uninterruptible for the same reason as `start`. */
const release = Effect.fnUntraced(function* release<Open extends LiveConnection, E>(
  { fibers, held }: Connected<Open, E>,
  numberId: NumberId,
) {
  const live = held.get(numberId)
  yield* FiberMap.remove(fibers, numberId)
  held.delete(numberId)
  if (live !== undefined) giveUpWaiting(live)
}, Effect.uninterruptible)

const releaseAll = <Open extends LiveConnection, E>({
  endingSessions,
  fibers,
  held,
}: LiveService<Open, E>) =>
  Effect.suspend(() => {
    const all = [...held.values()]
    held.clear()
    return FiberMap.clear(endingSessions.fibers).pipe(
      Effect.andThen(FiberMap.clear(fibers)),
      Effect.andThen(Effect.sync(() => all.forEach((live) => giveUpWaiting(live)))),
    )
  })

/** Releases numbers that another worker owns; that one connects or ends them. */
const releaseOthers = <Open extends LiveConnection, E>(service: LiveService<Open, E>) =>
  Effect.suspend(() =>
    Effect.forEach(
      [...service.held.keys()].filter((numberId) => !service.ownership.owns(numberId)),
      (numberId) =>
        Effect.andThen(
          FiberMap.remove(service.endingSessions.fibers, numberId),
          release(service, numberId),
        ),
      { discard: true },
    ),
  )

const hasAnotherProxy = <Open extends LiveConnection, E>(
  { proxies }: LiveService<Open, E>,
  live: LiveNumber<Open>,
  { numberId, proxy }: StoredSession,
) =>
  Effect.gen(function* compareProxies() {
    // Sealing the same URL again yields another text.
    if (live.proxy === proxy || live.proxyUrl === undefined) return false
    const url = yield* proxies.of(numberId)
    live.proxy = proxy
    return live.proxyUrl !== (url === null ? null : Redacted.value(url))
  }).pipe(Effect.catch((error) => Effect.as(logFailure("a proxy is read later", error), false)))

/**
 * Whether to reconnect: the proxy changed, or an operator resumed a number that a pause kept
 * away.
 */
const restarts = Effect.fnUntraced(function* restarts<Open extends LiveConnection, E>(
  service: LiveService<Open, E>,
  live: LiveNumber<Open>,
  kept: StoredSession,
) {
  const wasSuspended = live.isSuspended
  live.isSuspended = suspends(kept.pauseReason)
  if (live.isSuspended) return false
  // A link opens its connection before the previous pause ends.
  const isResumed =
    (wasSuspended && live.open === null) || (live.isAbandoned && kept.reason === reasonOnceResumed)
  return isResumed || (yield* hasAnotherProxy(service, live, kept))
})

const connectKept = <Open extends LiveConnection, E>(
  service: LiveService<Open, E>,
  { numberId, pauseReason, proxy }: StoredSession,
) =>
  Effect.gen(function* connectNow() {
    const { logins } = service.options
    if (logins !== undefined) {
      const kept = yield* inVault(service.endingSessions, numberId)
      if (kept === null) return
      if (kept !== "session") {
        const settles = logins.settle(numberId, kept.login, yield* Clock.currentTimeMillis)
        if (settles !== null) yield* startEnding(service.endingSessions, numberId, settles)
        return
      }
    }
    if (suspends(pauseReason)) return
    const live = yield* start(service, numberId, true)
    // The connection reads the proxy later: it gets this one or a newer one.
    live.proxy = proxy
  }).pipe(
    // One unreadable number must not keep the others from connecting.
    Effect.catchTag("CannotOpen", (error) => logFailure(unreadable, error)),
    Effect.annotateLogs({ number: numberId }),
  )

/** Whether a login replaces the number's session. */
const isLoggingIn = <Open extends LiveConnection, E>(
  { endingSessions, options }: LiveService<Open, E>,
  numberId: NumberId,
) =>
  options.logins === undefined
    ? Effect.succeed(false)
    : inVault(endingSessions, numberId).pipe(
        Effect.map((kept) => kept !== null && kept !== "session"),
        Effect.catchTag("CannotOpen", () => Effect.succeed(false)),
      )

const lookAt = Effect.fnUntraced(function* lookAt<Open extends LiveConnection, E>(
  service: LiveService<Open, E>,
  kept: StoredSession,
) {
  const { endingSessions, held, keeper, options } = service
  const { leavingSince, numberId, removed } = kept
  const live = held.get(numberId)
  const instead = removed ? null : (options.instead?.(kept, live) ?? null)
  if (instead !== null) yield* instead
  else if (removed || leavingSince !== null)
    yield* endSession(endingSessions, numberId, leavingSince)
  else if (live === undefined) yield* connectKept(service, kept)
  else if (yield* restarts(service, live, kept)) {
    yield* release(service, numberId)
    yield* start(service, numberId, true)
  } else if (live.isAbandoned && (yield* isLoggingIn(service, numberId))) {
    yield* release(service, numberId)
    yield* connectKept(service, kept)
  } else {
    // After a log-out by its owner the connection stays open until the session ends.
    const isDenied = kept.status === "disconnected" && kept.reason !== "logged_out"
    if (isDenied && live.open !== null) yield* live.contradicted.open
    yield* trim(keeper, live)
  }
  yield* noteConversations(held.get(numberId), kept.hasConversations)
})

/** Connects numbers with a session, and logs out those that leave. */
const checkAll = <Open extends LiveConnection, E>(service: LiveService<Open, E>) =>
  service.vault.list.pipe(
    Effect.flatMap((all) =>
      Effect.forEach(
        all.filter(
          (kept) =>
            kept.platform === service.options.platform && service.ownership.owns(kept.numberId),
        ),
        (kept) => lookAt(service, kept),
        { discard: true },
      ),
    ),
    // Also catches bugs and outside interruptions: its end would end all loops of the worker.
    Effect.catchCause((cause) =>
      logFailure(`numbers of ${service.options.platform} are read later`, cause),
    ),
  )

const keepAll = Effect.fnUntraced(function* keepAll<Open extends LiveConnection, E>(
  service: LiveService<Open, E>,
) {
  const { options, ownership } = service
  let checkedAt: number | null = null
  let known: Owned | null = null
  for (;;) {
    const now = yield* Clock.currentTimeMillis
    const owned = yield* ownership.owned
    yield* releaseOthers(service)
    // A clock set back by hours must not delay the next look as long.
    const isRecent = checkedAt !== null && Math.abs(now - checkedAt) < options.settings.lookMillis
    if (owned !== known || !isRecent) {
      known = owned
      checkedAt = now
      yield* checkAll(service)
    }
    yield* Effect.sleep(Math.min(askMillis, options.settings.lookMillis))
  }
})

const open = Effect.fnUntraced(function* open<Open extends LiveConnection, E>(
  service: LiveService<Open, E>,
  numberId: NumberId,
) {
  const { endingSessions, held, ownership } = service
  if (!ownership.owns(numberId)) return "elsewhere"
  const known = held.get(numberId)
  if (known?.leaves === true) return null
  if (known !== undefined) {
    const { reason, state } = known.status
    const isOut = state === "disconnected" || (state === "waiting" && reason === "banned")
    return isOut ? reason : yield* settled(known)
  }
  const kept = yield* Effect.result(inVault(endingSessions, numberId))
  if (kept._tag === "Failure") return "connection_lost"
  if (kept.success !== "session") return null
  return yield* settled(held.get(numberId) ?? (yield* start(service, numberId, true)))
})

const openNow = <Open extends LiveConnection, E>(
  { held, ownership }: LiveService<Open, E>,
  numberId: NumberId,
): Open | null => {
  const known = held.get(numberId)
  if (known === undefined || known.leaves || !ownership.owns(numberId)) return null
  const { open: connection } = known
  return connection === null || Deferred.isDoneUnsafe(connection.over) ? null : connection
}

const connectQuietly = Effect.fnUntraced(function* connectQuietly<Open extends LiveConnection, E>(
  service: LiveService<Open, E>,
  numberId: NumberId,
) {
  const { ownership, vault } = service
  for (;;) {
    yield* release(service, numberId)
    const isReadable = yield* retryUntilStoreAnswers(vault.credentials(numberId)).pipe(
      Effect.as(true),
      Effect.catchTag("CannotOpen", () => Effect.succeed(false)),
    )
    if (!isReadable) return "connection_lost"
    const reached = yield* settled(yield* start(service, numberId, false))
    // The store did not say what the number has: ask again.
    if (reached !== "connection_lost" || !ownership.owns(numberId)) return reached
  }
})

const makeRoom = Effect.fnUntraced(function* makeRoom<Open extends LiveConnection, E>(
  service: LiveService<Open, E>,
  numberId: NumberId,
  leaves: boolean,
) {
  const { endingSessions, vault } = service
  // A running log-out would wipe what the new session writes.
  yield* FiberMap.remove(endingSessions.fibers, numberId)
  yield* release(service, numberId)
  if (leaves) yield* retryUntilStoreAnswers(vault.leave(numberId))
  const kept = (yield* retryUntilStoreAnswers(vault.list)).find((one) => one.numberId === numberId)
  if (kept === undefined || kept.leavingSince === null) return
  yield* logOutNow(endingSessions, numberId, kept.leavingSince)
  yield* release(service, numberId)
})

/** Hands events to the current taker. They wait for the first one. */
const makeEventGate = () => {
  const isListening = Latch.makeUnsafe(false)
  let taker: TakeEvent = () => Effect.never
  const take: TakeEvent = (event) =>
    Effect.andThen(
      isListening.await,
      Effect.suspend(() => taker(event)),
    )
  const handTo = (taking: TakeEvent) => {
    taker = taking
    isListening.openUnsafe()
  }
  return { take, handTo, close: () => isListening.closeUnsafe() }
}

/** Connections end with the scope. */
export const makeLiveNumbers = Effect.fnUntraced(function* makeLiveNumbers<
  Open extends LiveConnection,
  E,
>(
  options: LiveNumbersOptions<Open, E>,
): Effect.fn.Return<
  LiveNumbers<Open>,
  never,
  SessionVault | NumberOwnership | NumberProxies | Scope.Scope
> {
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
  const proxies = yield* NumberProxies
  const gate = makeEventGate()
  const starts = yield* Semaphore.make(options.settings.startsAtOnce)
  const connected: Connected<Open, E> = {
    options,
    ownership,
    keeper: { transport: options, take: gate.take, vault, ownership, proxies, starts },
    held: new Map(),
    fibers: yield* FiberMap.make<NumberId>(),
    context: yield* Effect.context<never>(),
  }
  const handles: LiveHandles<Open> = {
    find: (numberId) => find(connected, numberId),
    start: (numberId) => start(connected, numberId, false),
    release: (numberId) => release(connected, numberId),
    detached: (work) => detached(connected, work),
  }
  const endingSessions: EndingSessions<Open> = {
    ends: options,
    vault,
    numbers: handles,
    fibers: yield* FiberMap.make<NumberId>(),
  }
  const service: LiveService<Open, E> = { ...connected, vault, proxies, endingSessions }
  const numbers: LiveNumbers<Open> = {
    take: gate.take,
    find: handles.find,
    owns: ownership.owns,
    listen: (taking) =>
      Effect.suspend(() => {
        gate.handTo(taking)
        return keepAll(service)
      }).pipe(
        Effect.ensuring(
          Effect.suspend(() => {
            gate.close()
            return releaseAll(service)
          }),
        ),
      ),
    open: (numberId) => open(service, numberId),
    openNow: (numberId) => openNow(service, numberId),
    connectQuietly: (numberId) => connectQuietly(service, numberId),
    makeRoom: (numberId, leaves) => makeRoom(service, numberId, leaves),
    logOut: (numberId) => endSession(endingSessions, numberId, null),
    status: (numberId) => {
      const known = find(service, numberId)
      return known === undefined ? null : getStatus(known)
    },
    reports: Effect.sync(() =>
      [...service.held.values()].flatMap((live) =>
        live.isReported ? [{ ...getStatus(live), numberId: live.numberId }] : [],
      ),
    ),
  }
  return numbers
})
