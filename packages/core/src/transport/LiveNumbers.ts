/**
 * The numbers whose connections this process keeps, for transports that have connections of their own:
 * each is kept open for as long as it is this worker's and its transport's events are taken. Numbers
 * begin side by side a few at a time, so that many of them load neither this machine nor the far side
 * at once.
 */
import { Clock, Deferred, Effect, FiberMap, Latch, Option, Redacted, References } from "effect"
import type { Scope } from "effect"
import type { NumberId } from "../Ids.ts"
import { logTrouble } from "../monitoring/rareLog.ts"
import { keepsAway, reasonOnceResumed } from "../number/Breaker.ts"
import type { ConnectionReport } from "../number/Connection.ts"
import { NumberProxies } from "../number/Proxy.ts"
import type { Platform } from "../number/SendingNumber.ts"
import { makeEndingSessions } from "./endingSessions.ts"
import type { Ends } from "./endingSessions.ts"
import { makeKeeper, unreadable } from "./keepConnected.ts"
import type { LiveTransport } from "./keepConnected.ts"
import { newLiveNumber, settled, statusOf } from "./LiveNumber.ts"
import type { ClosedReason, LiveConnection, LiveNumber, LiveStatus } from "./LiveNumber.ts"
import { NumberOwnership } from "./NumberOwnership.ts"
import type { NumberMoved } from "./NumberOwnership.ts"
import { retryUntilStoreAnswers } from "./retryUntilStoreAnswers.ts"
import type { KeptSession } from "./SessionStore.ts"
import { SessionVault } from "./SessionVault.ts"
import type { Owned } from "./Shards.ts"
import type { TakeEvent } from "./Transport.ts"

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

/** How often it is asked which numbers are this worker's. */
const askMillis = 250

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
    const start = Effect.fnUntraced(function* (numberId: NumberId, told: boolean) {
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

    const release = Effect.fnUntraced(function* (numberId: NumberId) {
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
      function* (live: LiveNumber<Open>, { numberId, proxy }: KeptSession) {
        // The same URL, sealed again, is another text.
        if (live.proxy === proxy || live.proxyUrl === undefined) return false
        const url = yield* proxies.of(numberId)
        live.proxy = proxy
        return live.proxyUrl !== (url === null ? null : Redacted.value(url))
      },
      Effect.catch((error) => Effect.as(logTrouble("a proxy is read later", error), false)),
    )

    /**
     * Whether a connection has to be opened anew: the number has another proxy, or an operator has resumed
     * it after a pause that kept it from connecting.
     */
    const beginsAnew = Effect.fnUntraced(function* (live: LiveNumber<Open>, kept: KeptSession) {
      const wasKeptAway = live.isKeptAway
      live.isKeptAway = keepsAway(kept.pauseReason)
      if (live.isKeptAway) return false
      // A link opens its connection before the pause of the one before ends.
      const isResumed =
        (wasKeptAway && live.open === null) || (live.isGivenUp && kept.reason === reasonOnceResumed)
      return isResumed || (yield* hasAnotherProxy(live, kept))
    })

    const begin = Effect.fnUntraced(
      function* ({ numberId, pauseReason, proxy }: KeptSession) {
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
      Effect.catchTag("CannotOpen", (error) => logTrouble(unreadable, error)),
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

    const lookAt = Effect.fnUntraced(function* (kept: KeptSession) {
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
      } else yield* keeper.trim(live)
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
      Effect.catchCause((cause) => logTrouble(`numbers of ${platform} are read later`, cause)),
    )

    const keepAll = Effect.gen(function* () {
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
      open: Effect.fnUntraced(function* (numberId) {
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
      connectQuietly: Effect.fnUntraced(function* (numberId) {
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
      makeRoom: Effect.fnUntraced(function* (numberId, leaves) {
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
