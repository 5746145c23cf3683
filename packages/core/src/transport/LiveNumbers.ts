/**
 * The numbers whose connections this process keeps, for transports that have connections of their own:
 * each is kept open for as long as it is this worker's and its transport's events are taken. Numbers
 * begin side by side a few at a time, so that many of them load neither this machine nor the far side
 * at once.
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
import type { KeptSession } from "./Sessions.ts"
import type { Owned } from "./Shards.ts"
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

// Asking a store again until it answers, for those whose connections to the far side must not end, or go
// on without what they need, because the store was away.

/** Between two tries, in real milliseconds. */
const againMillis = 250

const hasMoved = (error: unknown): error is NumberMoved => error instanceof NumberMoved

/**
 * Asks until the store answers. That a number moved is an answer, and so is that what it keeps cannot be
 * opened: asked again it would say the same.
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

/** What a library reads and writes of its number, for as long as its connection is kept here. */
export interface Hold {
  /** Asks until the store answers, for as long as the number is held and this worker's. */
  read<A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E>
  /**
   * The same for a write. What is not written must not leave: a write that is refused because another
   * worker has the number does not end, so that the library does not go on to what comes behind it. It is
   * tried again for as long as the number is held, since a worker may be in doubt for a moment alone, as
   * after its clock was set forward.
   */
  write<E>(work: Effect.Effect<void, E>): Effect.Effect<void, E>
  /** From now on nothing is written any more, whatever the library still does. */
  readonly letGo: () => void
}

/** `isOwned`: a process that was frozen wakes up in the midst of its work, and another has the number. */
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

// Sessions that are to end: their number was removed or logged out, or the core did not take it. Each stays
// in the vault until it is logged out at the far side, or for `leavingMillis`.

/** Logins that go on or came to nothing, where the vault has some in place of sessions. */
interface Logins {
  readonly isLogin: (credentials: string) => boolean
  /** Ends what a login may have left at the far side; whether nothing of it is known to be left. */
  readonly end: (numberId: NumberId, credentials: string) => Effect.Effect<boolean>
  /** What is to be done about a login of a number that stays, at that service time; null for nothing. */
  readonly settle: (
    numberId: NumberId,
    credentials: string,
    now: number,
  ) => Effect.Effect<void, NumberMoved> | null
}

/** What a transport knows of the ends of its sessions. */
interface Ends<Open extends LiveConnection> {
  /** Logs the session out at the far side; whether that has heard. It has 5 seconds. */
  readonly logOut: (connection: Open) => Effect.Effect<boolean>
  /** The ends after which the far side knows the session no more, as if it had been logged out here. */
  readonly meansLoggedOut: ReadonlyArray<ClosedReason>
  /** Those with which it refuses a session, also one that asks to be logged out: no more can be done. */
  readonly refusesLogOut?: ReadonlyArray<ClosedReason>
  /** Left out where the vault has nothing but sessions. */
  readonly logins?: Logins
}

/** How long one try to log a session out may take. */
const logOutMillis = 5000

/** How long a session that is to end is kept while the far side cannot be reached: 30 days. */
const leavingMillis = 30 * 24 * 60 * 60_000

/**
 * `start` connects a number, `release` ends that. `detached`: the work goes on when what began it has ended,
 * with the clock of the service and without the log annotations of that caller.
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

  /** What the vault has of a number. */
  const inVault = (numberId: NumberId) =>
    Effect.map(vault.credentials(numberId), (text) => {
      if (text === null) return null
      return logins?.isLogin(text) === true ? { login: text } : "session"
    })

  const isKnownOver = ({ status: { reason } }: LiveNumber<Open>): boolean =>
    reason !== null && meansLoggedOut.includes(reason)

  /** Whether the far side knows the session no more. */
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
      isOver ? "number logged out" : "number forgotten: the far side was away for too long",
    )
  })

  /** One try to log it out. The connection for that stays, and is opened when the far side is back. */
  const logOutNow = Effect.fnUntraced(function* logOutNow(
    numberId: NumberId,
    leavingSince: number,
  ) {
    const known = numbers.find(numberId)
    // What was given up is connected once more for it, and then not again.
    const isOut = known?.isGivenUp === true && !known.leaves && !isKnownOver(known)
    if (isOut) yield* numbers.release(numberId)
    const live = numbers.find(numberId) ?? (yield* numbers.start(numberId))
    live.told = false
    live.leaves = true
    const reached = yield* Effect.timeoutOption(settled(live), logOutMillis)
    const isOver = Option.isSome(reached) && (yield* isLoggedOut(reached.value))
    yield* wipeAfter(numberId, leavingSince, isOver)
  })

  /** Begins to end a session, unless that goes on already. */
  const begin = (numberId: NumberId, work: Effect.Effect<void, NumberMoved>): Effect.Effect<void> =>
    work.pipe(
      // The number is another worker's by now, which logs it out.
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
    /** From now on, or since then, the number's session leaves. */
    leave: (numberId: NumberId, leavingSince: number | null): Effect.Effect<void> =>
      begin(
        numberId,
        Effect.gen(function* () {
          if (leavingSince === null) yield* retryUntilStoreAnswers(vault.leave(numberId))
          const since = leavingSince ?? (yield* Clock.currentTimeMillis)
          // A session that cannot be read is kept for as long as any other.
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
    /** Another worker goes on with it, or something new takes its place. */
    stop: (numberId: NumberId) => FiberMap.remove(fibers, numberId),
    stopAll: FiberMap.clear(fibers),
  }
})

// Keeping one number connected: a connection is opened, heard until it is over, and opened again as its
// transport's table says of its end. A number is never connected again in a loop after the far side said
// that it must not be.

/** What is done once a connection is over. A transport's own table says so of each end. */
export type AfterClose =
  /** A new connection at once: the far side asked for it. A second one in a row waits as `Again` does. */
  | { readonly _tag: "Restart" }
  /** A new connection after a pause, which grows with each failure. */
  | { readonly _tag: "Again" }
  /** A new connection once the far side's own time is over. */
  | { readonly _tag: "Pause"; readonly reason: ClosedReason; readonly millis: number }
  /** No new connection by itself. With `wipe` what is kept of the session is worth nothing any more. */
  | { readonly _tag: "Stop"; readonly reason: ClosedReason; readonly wipe: boolean }

const unreadable = "a number's session could not be read, and is tried again"

/** A connection that stood for less is one more failure: the next pause is longer. */
const steadyMillis = 60_000

/** How often the keys of a number are trimmed, beside each time that it begins or has written so many. */
const trimMillis = 60 * 60_000
const trimKeys = 10_000

/**
 * How long the place of a number that was connecting stays empty before the next one has it: with eight
 * places, 40 connections are opened a second at the most.
 */
const emptyMillis = 200

/** How often it is asked which numbers are this worker's. */
const askMillis = 250

/** How patient a transport is; all in service time. */
export interface LiveSettings {
  /** The pause after the first lost connection; it doubles up to the longest. */
  readonly firstPauseMillis: number
  readonly longestPauseMillis: number
  /** After so long without a connection the core is told that the number is disconnected. */
  readonly lostMillis: number
  /** How often it is looked which numbers have a session, and which leave. */
  readonly lookMillis: number
  /** Connections that are opened side by side; the others wait for their turn. */
  readonly startsAtOnce: number
}

/** What became of a number's connection, as it is told to the core. */
type LiveChange =
  | { readonly status: "connected"; readonly phone: string; readonly reason: null }
  | { readonly status: "disconnected"; readonly phone: null; readonly reason: ClosedReason }

/** What a transport says and asks for while it connects a number. */
export interface Connecting<Open extends LiveConnection> {
  /**
   * What each connection needs before it is opened: keys are trimmed, its turn has come, and the number is
   * this worker's. Gives the URL of its proxy, null without one, and `leavePlace`, for connections that are
   * not open for long.
   */
  readonly ready: Effect.Effect<
    { readonly proxy: string | null; readonly leavePlace: Effect.Effect<void> },
    StoreUnavailable | CannotOpen,
    Scope.Scope
  >
  /** The connection is open. `phone`: digits with country code. */
  opened(connection: Open, phone: string): Effect.Effect<void, never, Scope.Scope>
  /**
   * The connection is lost, and the library opens another by itself. After `lostMillis` without one the core
   * is told that the number is disconnected.
   */
  readonly lost: Effect.Effect<void, never, Scope.Scope>
  /** Tells the core, unless the number is one of which nothing is told. Done once it is stored. */
  tell(change: LiveChange): Effect.Effect<void>
  /** Hands over what else the connection says; done once it is stored. */
  readonly take: TakeEvent
  /** Counts keys that are written, for those whose keys grow fast: after many of them keys are trimmed. */
  readonly wrote: (keys: number) => void
}

/** How a transport connects its numbers. */
interface LiveTransport<Open extends LiveConnection, E> {
  readonly settings: LiveSettings
  /** How many keys of each type a number keeps. */
  readonly keptKeys: Readonly<Record<string, number>>
  /**
   * Called once each time that a number begins. What it gives is run for each connection, from its
   * beginning to its end, in a scope of its own: what is to be done then, or null where there is nothing
   * to connect. A failure is said, and the number begins anew at the next look.
   */
  readonly connect: (
    live: LiveNumber<Open>,
    connecting: Connecting<Open>,
  ) => Effect.Effect<AfterClose | null, E, Scope.Scope>
}

/**
 * A place among those that are being opened: free soon after it was left, or after the end of the
 * scope. However fast connections open, many numbers do not meet the far side in one second.
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
   * Keeps the number connected until it was given up, and perhaps wiped; or there was nothing to connect
   * (`over`); or its session could not be read.
   */
  keep(live: LiveNumber<Open>): Effect.Effect<"given_up" | "wiped" | "over" | "unreadable">
  /** Drops keys beyond as many as are kept (`keptKeys`): once an hour, and after many writes. */
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
   * Waits until the number is this worker's. A worker that was frozen is in doubt when it goes on: this is
   * interrupted if another worker has the number by then.
   */
  const owned = (numberId: NumberId): Effect.Effect<void> =>
    Effect.suspend(() =>
      ownership.owns(numberId) ? Effect.void : Effect.andThen(sleep(askMillis), owned(numberId)),
    )

  /**
   * Tells that it is open, and again where a late word has made it disconnected since: a message that found
   * no connection before, or a worker that had the number before.
   */
  const tellOpen = (live: LiveNumber<Open>, phone: string) =>
    tell(live, { status: "connected", phone, reason: null }).pipe(
      Effect.andThen(live.contradicted.close),
      Effect.andThen(live.contradicted.await),
      Effect.forever,
    )

  /** It was away for so long that it counts as disconnected, although it is still tried again. */
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

  /** Opens no connection again. With `wipe` the session is wiped, once the core was told. */
  const giveUp = Effect.fnUntraced(function* giveUp(
    live: LiveNumber<Open>,
    reason: ClosedReason,
    wipe: boolean,
  ) {
    const { numberId } = live
    // Another worker may have the number by now and have replaced this one; what is true is told there.
    yield* owned(numberId)
    yield* Effect.logWarning(`number disconnected: ${reason}`)
    yield* changeStatus(live, { state: "disconnected", reason })
    yield* Deferred.succeed(live.turn, reason)
    yield* tell(live, { status: "disconnected", phone: null, reason })
    live.isGivenUp = true
    // Here the store says that another worker has the number.
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
        // A bug, or it was cut off elsewhere: the number would stay away for as long as the process runs.
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

/** How a transport connects its numbers, and what else it knows of their sessions. */
export interface LiveNumbersOptions<Open extends LiveConnection, E>
  extends LiveTransport<Open, E>, Ends<Open> {
  readonly platform: Platform
  /**
   * Whether a number whose session was wiped is known as disconnected until it gets another one here. Where
   * any process may log it in it is forgotten, and looked for again.
   */
  readonly remembersWiped: boolean
  /**
   * Work of the transport's own on a number that was not removed, in place of all else that this look would
   * do about it; null where there is none.
   */
  readonly instead?: (
    kept: KeptSession,
    live: LiveNumber<Open> | undefined,
  ) => Effect.Effect<unknown> | null
}

export interface LiveNumbers<Open extends LiveConnection> {
  /**
   * Keeps all numbers connected until interrupted, and looks after those that leave. What connections say
   * is handed to `take`; what they said before waits for it.
   */
  listen(take: TakeEvent): Effect.Effect<never>
  /**
   * The number's open connection, waited for while it is being opened; why there is none, as when
   * another worker has it; null when the number has no session.
   */
  open(numberId: NumberId): Effect.Effect<Open | ClosedReason | "elsewhere" | null>
  /** The number's open connection where it has one at this very moment, and may use it; or null. */
  openNow(numberId: NumberId): Open | null
  /** Whether the number is still this worker's. */
  owns(numberId: NumberId): boolean
  status(numberId: NumberId): LiveStatus | null
  /** How each connection stands, but for those whose status is not to be told (`LiveNumber.told`). */
  readonly reports: Effect.Effect<ReadonlyArray<ConnectionReport>>
  /** Hands over an event once something listens. */
  readonly take: TakeEvent
  /** What is known of a number whose connection is kept. */
  find(numberId: NumberId): LiveNumber<Open> | undefined
  /** Ends its connection if there is one, opens it anew, and gives how that went. Nothing is told of it. */
  connectQuietly(numberId: NumberId): Effect.Effect<Open | ClosedReason>
  /**
   * Ends the number's connection before it gets another session. One that leaves is logged out first, as
   * far as the far side is there; `leaves`: that is so from now on.
   */
  makeRoom(numberId: NumberId, leaves: boolean): Effect.Effect<void, NumberMoved>
  /** From now on its session leaves: it is logged out as soon as the far side is there. */
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

    /** Events wait for the first that takes them. */
    const isListening = Latch.makeUnsafe(false)
    let taker: TakeEvent = () => Effect.never
    const take: TakeEvent = (event) =>
      Effect.andThen(
        isListening.await,
        Effect.suspend(() => taker(event)),
      )
    const keeper = yield* makeKeeper(options, take)

    /** The work goes on when its caller is gone, so it takes this service's clock and not the caller's. */
    const detached = <A, F>(work: Effect.Effect<A, F>) =>
      work.pipe(
        Effect.provideService(References.CurrentLogAnnotations, {}),
        Effect.provideContext(context),
      )

    /** Begins to keep the number connected. `told`: whether the core is told of its status. */
    const start = Effect.fnUntraced(function* start(numberId: NumberId, told: boolean) {
      const live = yield* newLiveNumber<Open>(numberId, told)
      // Begun meanwhile: by a look at all numbers, by a send, or to log it out.
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

    /** What waits for its connection waits no longer: the next one is opened elsewhere, or on its own. */
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

    /** Lets go of the numbers that another worker has by now: that one connects them, or logs them out. */
    const releaseOthers = Effect.suspend(() =>
      Effect.forEach(
        [...held.keys()].filter((numberId) => !ownership.owns(numberId)),
        (numberId) => Effect.andThen(endingSessions.stop(numberId), release(numberId)),
        { discard: true },
      ),
    )

    const hasAnotherProxy = Effect.fnUntraced(
      function* hasAnotherProxy(live: LiveNumber<Open>, { numberId, proxy }: KeptSession) {
        // The same URL, sealed again, is another text.
        if (live.proxy === proxy || live.proxyUrl === undefined) return false
        const url = yield* proxies.of(numberId)
        live.proxy = proxy
        return live.proxyUrl !== (url === null ? null : Redacted.value(url))
      },
      Effect.catch((error) => Effect.as(logFailure("a proxy is read later", error), false)),
    )

    /**
     * Whether a connection has to be opened anew: the number has another proxy, or an operator has resumed
     * it after a pause that kept it from connecting.
     */
    const beginsAnew = Effect.fnUntraced(function* beginsAnew(
      live: LiveNumber<Open>,
      kept: KeptSession,
    ) {
      const wasKeptAway = live.isKeptAway
      live.isKeptAway = keepsAway(kept.pauseReason)
      if (live.isKeptAway) return false
      // A link opens its connection before the pause of the one before ends.
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
        // The connection reads the proxy later than this: it gets this one, or one that came after it.
        live.proxy = proxy
      },
      // One number that cannot be opened does not keep the others from being connected.
      Effect.catchTag("CannotOpen", (error) => logFailure(unreadable, error)),
      (effect, { numberId }) => Effect.annotateLogs(effect, { number: numberId }),
    )

    /** Whether a login has taken the place of what the number had. */
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
        // One that its owner logs out is open until it leaves.
        const isDenied = kept.status === "disconnected" && kept.reason !== "logged_out"
        if (isDenied && live.open !== null) yield* live.contradicted.open
        yield* keeper.trim(live)
      }
    })

    /** Connects what has a session, and logs out what leaves. */
    const look = vault.list.pipe(
      Effect.flatMap((all) =>
        Effect.forEach(
          all.filter((kept) => kept.platform === platform && ownership.owns(kept.numberId)),
          lookAt,
          { discard: true },
        ),
      ),
      // Also a bug, and a question that was cut off from outside: if this loop ended, all others of the
      // worker would.
      Effect.catchCause((cause) => logFailure(`numbers of ${platform} are read later`, cause)),
    )

    const keepAll = Effect.gen(function* keepAll() {
      let lookedAt: number | null = null
      let known: Owned | null = null
      for (;;) {
        const now = yield* Clock.currentTimeMillis
        const owned = yield* ownership.owned
        yield* releaseOthers
        // A clock that was set back by hours must not put the next look off by as much.
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
          // The store did not say what the number has, and is asked again.
          if (reached !== "connection_lost" || !ownership.owns(numberId)) return reached
        }
      }),
      makeRoom: Effect.fnUntraced(function* makeRoom(numberId, leaves) {
        // A log-out that is under way would wipe what the new session writes.
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
