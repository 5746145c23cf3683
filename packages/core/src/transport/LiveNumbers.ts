/**
 * Keeps the connections of live numbers for transports that have their own. A connection stays open
 * while this worker owns the number and the service takes the transport's events. A few numbers
 * connect at a time, to limit the load on machine and remote. Sections: retries, ending sessions,
 * one connection, all numbers.
 */
import {
  Cause,
  Clock,
  Deferred,
  Effect,
  FiberMap,
  Latch,
  Option,
  Random,
  Redacted,
  References,
  Semaphore,
} from "effect"
import type { Scope } from "effect"
import { StoreUnavailable } from "../error/Refusal.ts"
import type { NumberId } from "../Ids.ts"
import { logThrottled, logFailure } from "../monitoring/logThrottled.ts"
import { NumberProxies } from "../number/Numbers.ts"
import type { ConnectionReport } from "../number/NumberStore.ts"
import { keepsAway, reasonOnceResumed } from "../number/SendingNumber.ts"
import type { Platform } from "../number/SendingNumber.ts"
import type { CannotOpen } from "../secret/Secrets.ts"
import { sleep } from "../time/Time.ts"
import { NumberMoved, NumberOwnership } from "./NumberOwnership.ts"
import { SessionVault } from "./Sessions.ts"
import type { KeptSession, Owned } from "./Shards.ts"
import {
  changeStatus,
  closeConnection,
  newLiveNumber,
  reconnectPauseMillis,
  settled,
  statusOf,
} from "./Transport.ts"
import type {
  ClosedReason,
  LiveConnection,
  LiveNumber,
  LiveStatus,
  TakeEvent,
} from "./Transport.ts"

// Retries a store until it answers. Connections to the remote must not end, or run without their
// data, because the store was away.

/** Between two tries, in real milliseconds. */
const againMillis = 250

const hasMoved = (error: unknown): error is NumberMoved => error instanceof NumberMoved

/**
 * Retries until the store answers. `NumberMoved` and `CannotOpen` are answers: retrying would not
 * change them.
 */
export const retryUntilStoreAnswers = <A, E>(
  work: Effect.Effect<A, E>,
): Effect.Effect<A, Exclude<E, StoreUnavailable>> => {
  const isAnswer = (error: E): error is Exclude<E, StoreUnavailable> =>
    !(error instanceof StoreUnavailable)
  return Effect.retry(
    Effect.tapError(work, (error) => (isAnswer(error) ? Effect.void : sleep(againMillis))),
    { until: isAnswer },
  )
}

/** A library's reads and writes of its number while this process keeps its connection. */
export interface Hold {
  /** Retries until the store answers, while the number is held and owned. */
  read<A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E>
  /**
   * As `read`, for a write. Nothing may leave before its write: when another worker owns the
   * number, the write never returns, so the library cannot continue. It retries while the number is
   * held, since ownership may be in doubt only briefly, as after a clock change.
   */
  write<E>(work: Effect.Effect<void, E>): Effect.Effect<void, E>
  /** Stops all writes, whatever the library still does. */
  readonly letGo: () => void
}

/**
 * `isOwned`: a frozen process may wake up in the middle of its work while another owns the number.
 */
export const makeHold = (isOwned: () => boolean): Hold => {
  let isHeld = true
  const read = <A, E>(work: Effect.Effect<A, E>) =>
    Effect.retry(
      Effect.tapError(work, () => sleep(againMillis)),
      { while: (error) => isHeld && isOwned() && !hasMoved(error) },
    )
  const write = <E>(work: Effect.Effect<void, E>): Effect.Effect<void, E> =>
    Effect.suspend(() =>
      isOwned() ? Effect.catchIf(read(work), hasMoved, () => refused(work)) : refused(work),
    )
  const refused = <E>(work: Effect.Effect<void, E>): Effect.Effect<void, E> =>
    Effect.andThen(
      sleep(againMillis),
      Effect.suspend(() => (isHeld ? write(work) : Effect.never)),
    )
  return {
    read,
    write: (work) => Effect.suspend(() => (isHeld ? write(work) : Effect.void)),
    letGo: () => {
      isHeld = false
    },
  }
}

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

/**
 * `start` connects a number, `release` ends that. `detached` work outlives its caller, with the
 * service's clock and without the caller's log annotations.
 */
const makeEndingSessions = Effect.fnUntraced(function* <Open extends LiveConnection>(
  { logOut, logins, meansLoggedOut, refusesLogOut = [] }: Ends<Open>,
  numbers: {
    readonly find: (numberId: NumberId) => LiveNumber<Open> | undefined
    readonly start: (numberId: NumberId) => Effect.Effect<LiveNumber<Open>>
    readonly release: (numberId: NumberId) => Effect.Effect<void>
    readonly detached: <A>(work: Effect.Effect<A>) => Effect.Effect<A>
  },
) {
  const vault = yield* SessionVault
  const fibers = yield* FiberMap.make<NumberId>()

  /** The vault's session of a number. */
  const inVault = (numberId: NumberId) =>
    Effect.map(vault.credentials(numberId), (text) => {
      if (text === null) return null
      return logins?.isLogin(text) === true ? { login: text } : "session"
    })

  const isKnownOver = ({ status: { reason } }: LiveNumber<Open>): boolean =>
    reason !== null && meansLoggedOut.includes(reason)

  /** Whether the remote no longer knows the session. */
  const isLoggedOut = (reached: Open | ClosedReason): Effect.Effect<boolean> =>
    typeof reached === "string"
      ? Effect.succeed(meansLoggedOut.includes(reached) || refusesLogOut.includes(reached))
      : Effect.map(
          Effect.timeoutOption(logOut(reached), logOutMillis),
          Option.getOrElse(() => false),
        )

  const wipeAfter = Effect.fnUntraced(function* wipeAfter(
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
  const logOutNow = Effect.fnUntraced(function* logOutNow(
    numberId: NumberId,
    leavingSince: number,
  ) {
    const known = numbers.find(numberId)
    // A number that was given up connects once more for this, then never again.
    const isOut = known?.isGivenUp === true && !known.leaves && !isKnownOver(known)
    if (isOut) yield* numbers.release(numberId)
    const live = numbers.find(numberId) ?? (yield* numbers.start(numberId))
    live.told = false
    live.leaves = true
    const reached = yield* Effect.timeoutOption(settled(live), logOutMillis)
    const isOver = Option.isSome(reached) && (yield* isLoggedOut(reached.value))
    yield* wipeAfter(numberId, leavingSince, isOver)
  })

  /** Starts ending a session, unless that is under way. */
  const begin = (numberId: NumberId, work: Effect.Effect<void, NumberMoved>): Effect.Effect<void> =>
    work.pipe(
      // Another worker has the number now and logs it out.
      Effect.ignore,
      Effect.annotateLogs({ number: numberId }),
      numbers.detached,
      (ending) => FiberMap.run(fibers, numberId, ending, { onlyIfMissing: true }),
      Effect.asVoid,
    )

  return {
    inVault,
    logOutNow,
    begin,
    /** The number's session ends, from now on or since then. */
    leave: (numberId: NumberId, leavingSince: number | null): Effect.Effect<void> =>
      begin(
        numberId,
        Effect.gen(function* () {
          if (leavingSince === null) yield* retryUntilStoreAnswers(vault.leave(numberId))
          const since = leavingSince ?? (yield* Clock.currentTimeMillis)
          // An unreadable session is kept as long as any other.
          const kept = inVault(numberId).pipe(
            Effect.catchTag("CannotOpen", () => Effect.succeed(null)),
          )
          const known = logins === undefined ? null : yield* retryUntilStoreAnswers(kept)
          if (logins === undefined || known === null || known === "session") {
            return yield* logOutNow(numberId, since)
          }
          return yield* wipeAfter(numberId, since, yield* logins.end(numberId, known.login))
        }),
      ),
    /** Another worker continues, or a new session replaces it. */
    stop: (numberId: NumberId) => FiberMap.remove(fibers, numberId),
    stopAll: FiberMap.clear(fibers),
  }
})

// Keeps one number connected: opens a connection, waits for its end, and reconnects as the
// transport's table of ends says. It never loops when the remote forbids reconnecting.

/** What to do after a connection ends, from the transport's table of ends. */
export type AfterClose =
  /** Reconnect at once, as the remote asked. A second one in a row waits as `Again` does. */
  | { readonly _tag: "Restart" }
  /** Reconnect after a pause that grows with each failure. */
  | { readonly _tag: "Again" }
  /** Reconnect after the remote's requested time. */
  | { readonly _tag: "Pause"; readonly reason: ClosedReason; readonly millis: number }
  /** Do not reconnect. `wipe`: the stored session is worthless. */
  | { readonly _tag: "Stop"; readonly reason: ClosedReason; readonly wipe: boolean }

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
  /** The pause after the first lost connection; it doubles up to the longest. */
  readonly firstPauseMillis: number
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
   * URL, null without one, and `leavePlace` for short connections.
   */
  readonly ready: Effect.Effect<
    { readonly proxy: string | null; readonly leavePlace: Effect.Effect<void> },
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
  tell(change: LiveChange): Effect.Effect<void>
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
const takePlace = Effect.fnUntraced(function* takePlace(starts: Semaphore.Semaphore) {
  let isTaken = false
  const leave = Effect.suspend(() => {
    if (!isTaken) return Effect.void
    isTaken = false
    const free = Effect.andThen(Effect.sleep(emptyMillis), starts.release(1))
    return Effect.asVoid(Effect.forkDetach(free))
  })
  yield* Effect.acquireRelease(
    Effect.map(starts.take(1), () => {
      isTaken = true
    }),
    () => leave,
    { interruptible: true },
  )
  return leave
})

interface Keeper<Open extends LiveConnection> {
  /**
   * Keeps the number connected until it was given up or wiped, there was nothing to connect
   * (`over`), or its session could not be read.
   */
  keep(live: LiveNumber<Open>): Effect.Effect<"given_up" | "wiped" | "over" | "unreadable">
  /** Deletes keys beyond `keptKeys`: hourly, and after many writes. */
  trim(live: LiveNumber<Open>): Effect.Effect<void>
}

const makeKeeper = Effect.fnUntraced(function* <Open extends LiveConnection, E>(
  { connect, keptKeys, settings }: LiveTransport<Open, E>,
  take: TakeEvent,
) {
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
  const proxies = yield* NumberProxies
  const starts = yield* Semaphore.make(settings.startsAtOnce)

  const tell = (live: LiveNumber<Open>, change: LiveChange) =>
    Effect.suspend(() => {
      const { numberId, told } = live
      return told ? take({ _tag: "ConnectionChanged", numberId, ...change }) : Effect.void
    })

  /**
   * Waits until this worker owns the number. A worker that was frozen is in doubt at first; this is
   * interrupted if another owns the number by then.
   */
  const owned = (numberId: NumberId): Effect.Effect<void> =>
    Effect.suspend(() =>
      ownership.owns(numberId) ? Effect.void : Effect.andThen(sleep(askMillis), owned(numberId)),
    )

  /**
   * Reports an open connection, and repeats it when a late report marked the number disconnected:
   * from a send before it opened, or from the previous owner.
   */
  const tellOpen = (live: LiveNumber<Open>, phone: string) =>
    tell(live, { status: "connected", phone, reason: null }).pipe(
      Effect.andThen(live.contradicted.close),
      Effect.andThen(live.contradicted.await),
      Effect.forever,
    )

  /** Marks the number disconnected after a long loss, while it keeps retrying. */
  const tellLost = (live: LiveNumber<Open>) =>
    tell(live, { status: "disconnected", phone: null, reason: "connection_lost" })

  const trim = Effect.fnUntraced(
    function* trim(live: LiveNumber<Open>) {
      const now = yield* Clock.currentTimeMillis
      const isRecent = live.trimmedAt !== null && now - live.trimmedAt < trimMillis
      if (isRecent && live.wroteSince < trimKeys) return
      live.trimmedAt = now
      live.wroteSince = 0
      for (const [type, most] of Object.entries(keptKeys)) {
        yield* vault.trim(live.numberId, type, most)
      }
    },
    Effect.catch((error) => logFailure("keys are trimmed another time", error)),
  )

  const logLost = ({ numberId }: LiveNumber<Open>) =>
    logThrottled("number lost its connection", { number: numberId })

  const connectingOf = (live: LiveNumber<Open>): Connecting<Open> => {
    let leavePlace: Effect.Effect<void> = Effect.void
    return {
      take,
      tell: (change) => tell(live, change),
      wrote: (keys) => {
        live.wroteSince += keys
      },
      ready: Effect.gen(function* ready() {
        const proxy = yield* proxies.of(live.numberId)
        live.proxyUrl = proxy === null ? null : Redacted.value(proxy)
        yield* trim(live)
        leavePlace = yield* takePlace(starts)
        yield* owned(live.numberId)
        return { proxy: live.proxyUrl, leavePlace }
      }),
      opened: Effect.fnUntraced(function* opened(connection, phone) {
        live.open = connection
        live.lostAt = null
        yield* leavePlace
        yield* changeStatus(live, { state: "connected", reason: null })
        yield* Deferred.succeed(live.turn, connection)
        yield* logThrottled("number connected", { number: live.numberId })
        yield* Effect.forkScoped(
          Effect.raceFirst(tellOpen(live, phone), Deferred.await(connection.over)),
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
        const tellLater = Effect.gen(function* tellLater() {
          yield* Effect.sleep(settings.lostMillis)
          if (live.lostAt === lostAt) yield* tellLost(live)
        })
        yield* Effect.forkScoped(tellLater)
      }),
    }
  }

  /** Stops reconnecting. With `wipe`, deletes the session once the core knows. */
  const giveUp = Effect.fnUntraced(function* giveUp(
    live: LiveNumber<Open>,
    reason: ClosedReason,
    wipe: boolean,
  ) {
    const { numberId } = live
    // Another worker may own the number and have replaced this session; it then reports the truth.
    yield* owned(numberId)
    yield* Effect.logWarning(`number disconnected: ${reason}`)
    yield* changeStatus(live, { state: "disconnected", reason })
    yield* Deferred.succeed(live.turn, reason)
    yield* tell(live, { status: "disconnected", phone: null, reason })
    live.isGivenUp = true
    // Here the store says whether another worker owns the number.
    if (wipe)
      yield* retryUntilStoreAnswers(vault.wipe(numberId)).pipe(Effect.catch(() => Effect.never))
  })

  const wait = Effect.fnUntraced(function* wait(failures: number) {
    const drawn = yield* Random.next
    const { firstPauseMillis: first, longestPauseMillis: longest } = settings
    yield* Effect.sleep(reconnectPauseMillis(failures, drawn, { first, longest }))
  })

  const tellIfLost = Effect.fnUntraced(function* tellIfLost(live: LiveNumber<Open>) {
    const now = yield* Clock.currentTimeMillis
    live.lostAt ??= now
    if (now - live.lostAt >= settings.lostMillis) yield* tellLost(live)
  })

  const keep = Effect.fnUntraced(
    function* keep(live: LiveNumber<Open>) {
      const connection = Effect.scoped(
        Effect.ensuring(
          connect(live, connectingOf(live)),
          Effect.sync(() => closeConnection(live)),
        ),
      ).pipe(
        // A bug or an interruption elsewhere: otherwise the number would stay away as long as the
        // process runs.
        Effect.catchCause((cause) =>
          Cause.hasFails(cause)
            ? Effect.failCause(cause)
            : Effect.as(logFailure("a connection broke off", cause, Effect.logError), {
                _tag: "Again",
              } as const),
        ),
      )
      let failures = 0
      for (;;) {
        yield* changeStatus(live, { state: "connecting" })
        const after = yield* connection
        if (after === null) return "over" as const
        if (after._tag === "Stop") {
          yield* giveUp(live, after.reason, after.wipe)
          return after.wipe ? ("wiped" as const) : ("given_up" as const)
        }
        const { reconnects, since, state } = live.status
        const now = yield* Clock.currentTimeMillis
        if (state === "connected" && now - since >= steadyMillis) failures = 0
        yield* changeStatus(live, { reconnects: reconnects + 1 })
        if (state === "connected") yield* logLost(live)
        if (after._tag === "Pause") {
          const { millis, reason } = after
          yield* logThrottled("number waits to connect", { number: live.numberId, reason, millis })
          yield* changeStatus(live, { state: "waiting", reason })
          yield* tell(live, { status: "disconnected", phone: null, reason })
          yield* Effect.sleep(millis)
          continue
        }
        if (after._tag === "Again" || failures > 0) {
          yield* changeStatus(live, { state: "waiting", reason: "connection_lost" })
          yield* tellIfLost(live)
          yield* wait(failures)
        }
        failures++
      }
    },
    Effect.catch((error) => Effect.as(logFailure(unreadable, error), "unreadable" as const)),
    (effect, { numberId }) => Effect.annotateLogs(effect, { number: numberId }),
  )

  const keeper: Keeper<Open> = { keep, trim }
  return keeper
})

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
    kept: KeptSession,
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
  /** The state of each connection, except of those not reported (`LiveNumber.told`). */
  readonly reports: Effect.Effect<ReadonlyArray<ConnectionReport>>
  /** Hands over an event once something listens. */
  readonly take: TakeEvent
  /** A number whose connection this process keeps. */
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

/** Connections end with the scope. */
export const makeLiveNumbers = <Open extends LiveConnection, E>(
  options: LiveNumbersOptions<Open, E>,
): Effect.Effect<
  LiveNumbers<Open>,
  never,
  SessionVault | NumberOwnership | NumberProxies | Scope.Scope
> =>
  Effect.gen(function* () {
    const { platform, settings } = options
    const vault = yield* SessionVault
    const ownership = yield* NumberOwnership
    const proxies = yield* NumberProxies
    const fibers = yield* FiberMap.make<NumberId>()
    const context = yield* Effect.context<never>()
    const held = new Map<NumberId, LiveNumber<Open>>()

    const find = (numberId: NumberId) => held.get(numberId)

    /** Events wait for the first taker. */
    const isListening = Latch.makeUnsafe(false)
    let taker: TakeEvent = () => Effect.never
    const take: TakeEvent = (event) =>
      Effect.andThen(
        isListening.await,
        Effect.suspend(() => taker(event)),
      )
    const keeper = yield* makeKeeper(options, take)

    /** The work outlives its caller, so it uses this service's clock. */
    const detached = <A, F>(work: Effect.Effect<A, F>) =>
      work.pipe(
        Effect.provideService(References.CurrentLogAnnotations, {}),
        Effect.provideContext(context),
      )

    /** Starts keeping the number connected. `told`: whether its status is reported. */
    const start = Effect.fnUntraced(function* start(numberId: NumberId, told: boolean) {
      const live = yield* newLiveNumber<Open>(numberId, told)
      // Started meanwhile, by a look, a send or a log-out.
      const begun = held.get(numberId)
      if (begun !== undefined) return begun
      held.set(numberId, live)
      const forget = Effect.suspend(() => {
        if (held.get(numberId) === live) held.delete(numberId)
        return Deferred.succeed(live.turn, "connection_lost")
      })
      const kept = Effect.flatMap(keeper.keep(live), (end) =>
        end === "given_up" || (end === "wiped" && options.remembersWiped) ? Effect.void : forget,
      )
      yield* FiberMap.run(
        fibers,
        numberId,
        detached(
          Effect.tap(ownership.whileOwned(numberId, kept), (end) =>
            Option.isNone(end) ? forget : Effect.void,
          ),
        ),
      )
      return live
    })

    /** Ends the wait for its connection: the next one opens elsewhere or by itself. */
    const giveUpWaiting = (live: LiveNumber<Open>) =>
      Deferred.doneUnsafe(live.turn, Effect.succeed("connection_lost" as const))

    const release = Effect.fnUntraced(function* release(numberId: NumberId) {
      const live = held.get(numberId)
      yield* FiberMap.remove(fibers, numberId)
      held.delete(numberId)
      if (live !== undefined) giveUpWaiting(live)
    })

    const endingSessions = yield* makeEndingSessions(options, {
      find,
      start: (numberId) => start(numberId, false),
      release,
      detached,
    })

    const releaseAll = Effect.suspend(() => {
      const all = [...held.values()]
      held.clear()
      return endingSessions.stopAll.pipe(
        Effect.andThen(FiberMap.clear(fibers)),
        Effect.andThen(Effect.sync(() => all.forEach(giveUpWaiting))),
      )
    })

    /** Releases numbers that another worker owns; that one connects or ends them. */
    const releaseOthers = Effect.suspend(() =>
      Effect.forEach(
        [...held.keys()].filter((numberId) => !ownership.owns(numberId)),
        (numberId) => Effect.andThen(endingSessions.stop(numberId), release(numberId)),
        { discard: true },
      ),
    )

    const hasAnotherProxy = Effect.fnUntraced(
      function* hasAnotherProxy(live: LiveNumber<Open>, { numberId, proxy }: KeptSession) {
        // Sealing the same URL again yields another text.
        if (live.proxy === proxy || live.proxyUrl === undefined) return false
        const url = yield* proxies.of(numberId)
        live.proxy = proxy
        return live.proxyUrl !== (url === null ? null : Redacted.value(url))
      },
      Effect.catch((error) => Effect.as(logFailure("a proxy is read later", error), false)),
    )

    /**
     * Whether to reconnect: the proxy changed, or an operator resumed a number that a pause kept
     * away.
     */
    const beginsAnew = Effect.fnUntraced(function* beginsAnew(
      live: LiveNumber<Open>,
      kept: KeptSession,
    ) {
      const wasKeptAway = live.isKeptAway
      live.isKeptAway = keepsAway(kept.pauseReason)
      if (live.isKeptAway) return false
      // A link opens its connection before the previous pause ends.
      const isResumed =
        (wasKeptAway && live.open === null) || (live.isGivenUp && kept.reason === reasonOnceResumed)
      return isResumed || (yield* hasAnotherProxy(live, kept))
    })

    const begin = Effect.fnUntraced(
      function* begin({ numberId, pauseReason, proxy }: KeptSession) {
        const { logins } = options
        if (logins !== undefined) {
          const kept = yield* endingSessions.inVault(numberId)
          if (kept === null) return
          if (kept !== "session") {
            const settles = logins.settle(numberId, kept.login, yield* Clock.currentTimeMillis)
            if (settles !== null) yield* endingSessions.begin(numberId, settles)
            return
          }
        }
        if (keepsAway(pauseReason)) return
        const live = yield* start(numberId, true)
        // The connection reads the proxy later: it gets this one or a newer one.
        live.proxy = proxy
      },
      // One unreadable number must not keep the others from connecting.
      Effect.catchTag("CannotOpen", (error) => logFailure(unreadable, error)),
      (effect, { numberId }) => Effect.annotateLogs(effect, { number: numberId }),
    )

    /** Whether a login replaces the number's session. */
    const isLoggingIn = (numberId: NumberId) =>
      options.logins === undefined
        ? Effect.succeed(false)
        : endingSessions.inVault(numberId).pipe(
            Effect.map((kept) => kept !== null && kept !== "session"),
            Effect.catchTag("CannotOpen", () => Effect.succeed(false)),
          )

    const lookAt = Effect.fnUntraced(function* lookAt(kept: KeptSession) {
      const { leavingSince, numberId, removed } = kept
      const live = held.get(numberId)
      const instead = removed ? null : (options.instead?.(kept, live) ?? null)
      if (instead !== null) yield* instead
      else if (removed || leavingSince !== null) yield* endingSessions.leave(numberId, leavingSince)
      else if (live === undefined) yield* begin(kept)
      else if (yield* beginsAnew(live, kept)) {
        yield* release(numberId)
        yield* start(numberId, true)
      } else if (live.isGivenUp && (yield* isLoggingIn(numberId))) {
        yield* release(numberId)
        yield* begin(kept)
      } else {
        // After a log-out by its owner the connection stays open until the session ends.
        const isDenied = kept.status === "disconnected" && kept.reason !== "logged_out"
        if (isDenied && live.open !== null) yield* live.contradicted.open
        yield* keeper.trim(live)
      }
    })

    /** Connects numbers with a session, and logs out those that leave. */
    const look = vault.list.pipe(
      Effect.flatMap((all) =>
        Effect.forEach(
          all.filter((kept) => kept.platform === platform && ownership.owns(kept.numberId)),
          lookAt,
          { discard: true },
        ),
      ),
      // Also catches bugs and outside interruptions: if this loop ended, all the worker's loops
      // would.
      Effect.catchCause((cause) => logFailure(`numbers of ${platform} are read later`, cause)),
    )

    const keepAll = Effect.gen(function* keepAll() {
      let lookedAt: number | null = null
      let known: Owned | null = null
      for (;;) {
        const now = yield* Clock.currentTimeMillis
        const owned = yield* ownership.owned
        yield* releaseOthers
        // A clock set back by hours must not delay the next look as long.
        const isRecent = lookedAt !== null && Math.abs(now - lookedAt) < settings.lookMillis
        if (owned !== known || !isRecent) {
          known = owned
          lookedAt = now
          yield* look
        }
        yield* Effect.sleep(Math.min(askMillis, settings.lookMillis))
      }
    })

    const numbers: LiveNumbers<Open> = {
      take,
      find,
      owns: ownership.owns,
      listen: (taking) =>
        Effect.suspend(() => {
          taker = taking
          isListening.openUnsafe()
          return keepAll
        }).pipe(
          Effect.ensuring(
            Effect.suspend(() => {
              isListening.closeUnsafe()
              return releaseAll
            }),
          ),
        ),
      open: Effect.fnUntraced(function* open(numberId) {
        if (!ownership.owns(numberId)) return "elsewhere"
        const known = held.get(numberId)
        if (known?.leaves === true) return null
        if (known !== undefined) {
          const { reason, state } = known.status
          const isOut = state === "disconnected" || (state === "waiting" && reason === "banned")
          return isOut ? reason : yield* settled(known)
        }
        const kept = yield* Effect.result(endingSessions.inVault(numberId))
        if (kept._tag === "Failure") return "connection_lost"
        if (kept.success !== "session") return null
        return yield* settled(held.get(numberId) ?? (yield* start(numberId, true)))
      }),
      openNow: (numberId) => {
        const known = held.get(numberId)
        if (known === undefined || known.leaves || !ownership.owns(numberId)) return null
        const { open } = known
        return open === null || Deferred.isDoneUnsafe(open.over) ? null : open
      },
      connectQuietly: Effect.fnUntraced(function* connectQuietly(numberId) {
        for (;;) {
          yield* release(numberId)
          const isReadable = yield* retryUntilStoreAnswers(vault.credentials(numberId)).pipe(
            Effect.as(true),
            Effect.catchTag("CannotOpen", () => Effect.succeed(false)),
          )
          if (!isReadable) return "connection_lost"
          const reached = yield* settled(yield* start(numberId, false))
          // The store did not say what the number has: ask again.
          if (reached !== "connection_lost" || !ownership.owns(numberId)) return reached
        }
      }),
      makeRoom: Effect.fnUntraced(function* makeRoom(numberId, leaves) {
        // A running log-out would wipe what the new session writes.
        yield* endingSessions.stop(numberId)
        yield* release(numberId)
        if (leaves) yield* retryUntilStoreAnswers(vault.leave(numberId))
        const kept = (yield* retryUntilStoreAnswers(vault.list)).find(
          (one) => one.numberId === numberId,
        )
        if (kept === undefined || kept.leavingSince === null) return
        yield* endingSessions.logOutNow(numberId, kept.leavingSince)
        yield* release(numberId)
      }),
      logOut: (numberId) => endingSessions.leave(numberId, null),
      status: (numberId) => {
        const known = held.get(numberId)
        return known === undefined ? null : statusOf(known)
      },
      reports: Effect.sync(() =>
        [...held.values()].flatMap((live) =>
          live.told ? [{ ...statusOf(live), numberId: live.numberId }] : [],
        ),
      ),
    }
    return numbers
  })
