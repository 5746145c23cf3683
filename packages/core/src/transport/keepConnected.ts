/**
 * Keeping one number connected: a connection is opened, heard until it is over, and opened again as its
 * transport's table says of its end. A number is never connected again in a loop after the far side said
 * that it must not be.
 */
import { Cause, Clock, Deferred, Effect, Random, Redacted, Semaphore } from "effect"
import type { Scope } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { logThrottled, logTrouble } from "../monitoring/rareLog.ts"
import { NumberProxies } from "../number/Proxy.ts"
import type { CannotOpen } from "../secret/Secrets.ts"
import { changeStatus, closeConnection, reconnectPauseMillis } from "./LiveNumber.ts"
import type { ClosedReason, LiveConnection, LiveNumber } from "./LiveNumber.ts"
import { NumberOwnership } from "./NumberOwnership.ts"
import { retryUntilStoreAnswers } from "./retryUntilStoreAnswers.ts"
import { SessionVault } from "./SessionVault.ts"
import type { TakeEvent } from "./Transport.ts"

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

export const unreadable = "a number's session could not be read, and is tried again"

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
export type LiveChange =
  | { readonly status: "connected"; readonly phone: string; readonly reason: null }
  | { readonly status: "disconnected"; readonly phone: null; readonly reason: ClosedReason }

/** What a transport says and asks for while it connects a number. */
export interface Connecting<Open extends LiveConnection> {
  /**
   * What each connection needs before it is opened: keys are trimmed, and its turn has come. Gives the
   * URL of its proxy, null without one, and `leavePlace`, for connections that are not open for long.
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
export interface LiveTransport<Open extends LiveConnection, E> {
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
const takePlace = Effect.fnUntraced(function* (starts: Semaphore.Semaphore) {
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

export interface Keeper<Open extends LiveConnection> {
  /**
   * Keeps the number connected until it was given up, and perhaps wiped; or there was nothing to connect
   * (`over`); or its session could not be read.
   */
  keep(live: LiveNumber<Open>): Effect.Effect<"given_up" | "wiped" | "over" | "unreadable">
  /** Drops keys beyond as many as are kept (`keptKeys`): once an hour, and after many writes. */
  trim(live: LiveNumber<Open>): Effect.Effect<void>
}

export const makeKeeper = Effect.fnUntraced(function* <Open extends LiveConnection, E>(
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

  /** It was away for so long that it counts as disconnected, although it is still tried again. */
  const tellLost = (live: LiveNumber<Open>) =>
    tell(live, { status: "disconnected", phone: null, reason: "connection_lost" })

  const trim = Effect.fnUntraced(
    function* (live: LiveNumber<Open>) {
      const now = yield* Clock.currentTimeMillis
      const isRecent = live.trimmedAt !== null && now - live.trimmedAt < trimMillis
      if (isRecent && live.wroteSince < trimKeys) return
      live.trimmedAt = now
      live.wroteSince = 0
      for (const [type, most] of Object.entries(keptKeys)) {
        yield* vault.trim(live.numberId, type, most)
      }
    },
    Effect.catch((error) => logTrouble("keys are trimmed another time", error)),
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
      ready: Effect.gen(function* () {
        const proxy = yield* proxies.of(live.numberId)
        live.proxyUrl = proxy === null ? null : Redacted.value(proxy)
        yield* trim(live)
        leavePlace = yield* takePlace(starts)
        return { proxy: live.proxyUrl, leavePlace }
      }),
      opened: Effect.fnUntraced(function* (connection, phone) {
        live.open = connection
        live.lostAt = null
        yield* leavePlace
        yield* changeStatus(live, { state: "connected", reason: null })
        yield* Deferred.succeed(live.turn, connection)
        yield* logThrottled("number connected", { number: live.numberId })
        yield* Effect.forkScoped(tell(live, { status: "connected", phone, reason: null }))
      }),
      lost: Effect.gen(function* () {
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
        const tellLater = Effect.gen(function* () {
          yield* Effect.sleep(settings.lostMillis)
          if (live.lostAt === lostAt) yield* tellLost(live)
        })
        yield* Effect.forkScoped(tellLater)
      }),
    }
  }

  /** Opens no connection again. With `wipe` the session is wiped, once the core was told. */
  const giveUp = Effect.fnUntraced(function* (
    live: LiveNumber<Open>,
    reason: ClosedReason,
    wipe: boolean,
  ) {
    const { numberId } = live
    // Another worker has the number by now and has replaced this one; what is true is told there.
    if (!ownership.owns(numberId)) return yield* Effect.never
    yield* Effect.logWarning(`number disconnected: ${reason}`)
    yield* changeStatus(live, { state: "disconnected", reason })
    yield* Deferred.succeed(live.turn, reason)
    yield* tell(live, { status: "disconnected", phone: null, reason })
    live.isGivenUp = true
    // Here the store says that another worker has the number.
    if (wipe)
      yield* retryUntilStoreAnswers(vault.wipe(numberId)).pipe(Effect.catch(() => Effect.never))
  })

  const wait = Effect.fnUntraced(function* (failures: number) {
    const drawn = yield* Random.next
    const { firstPauseMillis: first, longestPauseMillis: longest } = settings
    yield* Effect.sleep(reconnectPauseMillis(failures, drawn, { first, longest }))
  })

  const tellIfLost = Effect.fnUntraced(function* (live: LiveNumber<Open>) {
    const now = yield* Clock.currentTimeMillis
    live.lostAt ??= now
    if (now - live.lostAt >= settings.lostMillis) yield* tellLost(live)
  })

  const keep = Effect.fnUntraced(
    function* (live: LiveNumber<Open>) {
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
            : Effect.as(logTrouble("a connection broke off", cause, Effect.logError), {
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
    Effect.catch((error) => Effect.as(logTrouble(unreadable, error), "unreadable" as const)),
    (effect, { numberId }) => Effect.annotateLogs(effect, { number: numberId }),
  )

  const keeper: Keeper<Open> = { keep, trim }
  return keeper
})
