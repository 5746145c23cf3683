/**
 * The connections of linked numbers: each is kept open for as long as the service runs, opened again
 * when it is lost, and given up when the far side says so. Numbers begin side by side a few at a
 * time, so that many of them load neither this machine nor the far side at once.
 *
 * A device that is to go (its number was removed, logged out, or not taken by the core) stays in the
 * vault until the far side has heard of it, or for `leavingMillis`.
 */
import {
  logTrouble,
  NumberOwnership,
  NumberProxies,
  SessionVault,
  keepsAway,
  triedAgain,
} from "@messaging-service/core/ports"
import type {
  ConnectionReport,
  KeptSession,
  NumberId,
  NumberMoved,
  NumberStatus,
  Owned,
  TakeEvent,
} from "@messaging-service/core/ports"
import {
  Clock,
  Context,
  Deferred,
  Effect,
  FiberMap,
  Latch,
  Layer,
  Option,
  Redacted,
  References,
} from "effect"
import { digitsOf } from "./addresses.ts"
import { confirm, fromText, isUnconfirmed } from "./authState.ts"
import type { ClosedReason } from "./closing.ts"
import { makeKeeper, patiently } from "./keepConnected.ts"
import { closeSession, logOutThere, statusOf } from "./OpenSession.ts"
import type { Held, OpenSession, SessionStatus } from "./OpenSession.ts"
import type { WhatsAppSettings } from "./settings.ts"
import { sweepLeftFiles } from "./leftFiles.ts"

export class Sessions extends Context.Service<
  Sessions,
  {
    /**
     * Keeps all linked numbers connected until interrupted, and looks after those that leave. What
     * connections say is handed to `take`.
     */
    listen(take: TakeEvent): Effect.Effect<never>
    /**
     * The number's open session, waited for while it is being opened; why there is none, as when
     * another worker has it; null when the number is not linked.
     */
    open(numberId: NumberId): Effect.Effect<OpenSession | ClosedReason | "elsewhere" | null>
    /**
     * Connects a number that was just linked, and answers how that ended. Only the caller hears what
     * becomes of it, before `announce`.
     */
    connectLinked(numberId: NumberId): Effect.Effect<OpenSession | ClosedReason>
    /**
     * The phone of a link that was made and that the core does not know of, since the process ended or
     * the store failed meanwhile: its digits; null when there is none.
     */
    unconfirmed(numberId: NumberId): Effect.Effect<string | null>
    /** Whether the number is still this worker's. */
    owns(numberId: NumberId): boolean
    /** The core has taken the link. */
    announce(numberId: NumberId): Effect.Effect<void>
    /**
     * Ends the number's connection before it is linked anew. A device of it that leaves says goodbye
     * first, as far as the far side is there; `leaves`: that is so from now on.
     */
    makeRoom(numberId: NumberId, leaves: boolean): Effect.Effect<void, NumberMoved>
    /** From now on the number's device leaves: it is logged out as soon as the far side is there. */
    logOut(numberId: NumberId): Effect.Effect<void>
    status(numberId: NumberId): SessionStatus | null
    /** How the connections stand of which is told. */
    readonly reports: Effect.Effect<ReadonlyArray<ConnectionReport>>
  }
>()("transport-whatsapp/Sessions") {
  static readonly layer = (settings: WhatsAppSettings) => Layer.effect(Sessions, make(settings))
}

/** How often it is asked which numbers are this worker's. */
const askMillis = 250

/** How long one try to say goodbye to the far side may take. */
const goodbyeMillis = 5000

/** How long a device that is to go is kept for the day that the far side is there again: 30 days. */
const leavingMillis = 30 * 24 * 60 * 60_000

const make = Effect.fnUntraced(function* (settings: WhatsAppSettings) {
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
  const proxies = yield* NumberProxies
  const fibers = yield* FiberMap.make<NumberId>()
  const goodbyes = yield* FiberMap.make<NumberId>()
  const context = yield* Effect.context<never>()
  const held = new Map<NumberId, Held>()

  /** Events wait for the first that takes them. */
  const isListening = Latch.makeUnsafe(false)
  let taker: TakeEvent = () => Effect.never
  const take: TakeEvent = (event) =>
    Effect.andThen(
      isListening.await,
      Effect.suspend(() => taker(event)),
    )
  const keeper = yield* makeKeeper(settings, take)

  const start = Effect.fnUntraced(function* (numberId: NumberId, told: boolean) {
    const state: Held = {
      status: {
        state: "connecting",
        reason: null,
        since: yield* Clock.currentTimeMillis,
        lastSeenAt: null,
        reconnects: 0,
      },
      open: null,
      turn: yield* Deferred.make<OpenSession | ClosedReason>(),
      told,
      leaves: false,
      isKeptAway: false,
      isGivenUp: false,
      proxyUrl: undefined,
      proxy: undefined,
      lostAt: null,
      trimmedAt: 0,
    }
    held.set(numberId, state)
    const kept = Effect.gen(function* () {
      if ((yield* keeper.keep(numberId, state)) === "over") return
      held.delete(numberId)
      yield* Deferred.succeed(state.turn, "connection_lost")
    })
    const lost = Effect.suspend(() => {
      if (held.get(numberId) === state) held.delete(numberId)
      return Deferred.succeed(state.turn, "connection_lost")
    })
    // It outlives the caller that asked for it first, and lives by the service's own clock.
    yield* FiberMap.run(
      fibers,
      numberId,
      ownership.whileOwned(numberId, kept).pipe(
        Effect.tap((ended) => (Option.isNone(ended) ? lost : Effect.void)),
        Effect.provideService(References.CurrentLogAnnotations, {}),
        Effect.provideContext(context),
      ),
    )
    return state
  })

  const release = Effect.fnUntraced(function* (numberId: NumberId) {
    yield* FiberMap.remove(fibers, numberId)
    held.delete(numberId)
  })

  const releaseAll = Effect.suspend(() => {
    held.clear()
    return Effect.andThen(FiberMap.clear(goodbyes), FiberMap.clear(fibers))
  })

  /** What another worker has by now is told of there, and said goodbye to. */
  const releaseOthers = Effect.suspend(() =>
    Effect.forEach(
      [...held.keys()].filter((numberId) => !ownership.owns(numberId)),
      (numberId) => Effect.andThen(FiberMap.remove(goodbyes, numberId), release(numberId)),
      { discard: true },
    ),
  )

  const settled = (state: Held) =>
    Effect.suspend(() => {
      // A connection may be over before that was heard from it.
      const { open } = state
      if (open !== null && Deferred.isDoneUnsafe(open.connection.over)) closeSession(state, open)
      return state.open === null ? Deferred.await(state.turn) : Effect.succeed(state.open)
    })

  /** One try to say goodbye. The connection for it stays, and is opened when the far side is back. */
  const sayGoodbye = Effect.fnUntraced(function* (numberId: NumberId, leavingSince: number) {
    const state = held.get(numberId) ?? (yield* start(numberId, false))
    state.told = false
    state.leaves = true
    const session = yield* Effect.timeoutOption(settled(state), goodbyeMillis)
    const isSaid =
      session._tag === "Some" && typeof session.value !== "string"
        ? yield* logOutThere(session.value).pipe(
            Effect.timeoutOption(goodbyeMillis),
            Effect.map((answer) => answer._tag === "Some" && answer.value),
          )
        : false
    const now = yield* Clock.currentTimeMillis
    if (!isSaid && now - leavingSince < leavingMillis) return
    yield* release(numberId)
    yield* patiently(vault.wipe(numberId))
    yield* Effect.logInfo(
      isSaid ? "number logged out" : "number forgotten: the far side was away for too long",
    )
  })

  const leave = (numberId: NumberId, leavingSince: number | null) =>
    FiberMap.run(
      goodbyes,
      numberId,
      Effect.gen(function* () {
        if (leavingSince === null) yield* patiently(vault.leave(numberId))
        yield* sayGoodbye(numberId, leavingSince ?? (yield* Clock.currentTimeMillis))
      }).pipe(
        // It is said by the worker that has the number now.
        Effect.ignore,
        Effect.annotateLogs({ number: numberId }),
        Effect.provideService(References.CurrentLogAnnotations, {}),
        Effect.provideContext(context),
      ),
      { onlyIfMissing: true },
    )

  const announce = Effect.fnUntraced(function* (numberId: NumberId) {
    const state = held.get(numberId)
    if (state === undefined || state.told || state.leaves) return
    state.told = true
    const { reason, state: now } = state.status
    if (state.open !== null) {
      confirm(state.open.connection.credentials)
      state.open.connection.credentialsChanged()
    } else if (now === "disconnected" && reason !== null) {
      // It ended before the core had taken the link, which was not told yet.
      yield* Effect.forkDetach(
        take({ _tag: "ConnectionChanged", numberId, status: now, phone: null, reason }),
      )
    }
  })

  /** A link that was made, and of which it is not known here whether the core has taken it. */
  const settleLink = (numberId: NumberId, status: NumberStatus) =>
    status === "connected" ? announce(numberId) : leave(numberId, null)

  const hasAnotherProxy = Effect.fnUntraced(
    function* (state: Held, { numberId, proxy }: KeptSession) {
      // What is kept differs with each sealing.
      if (state.proxy === proxy || state.proxyUrl === undefined) return false
      const url = yield* proxies.of(numberId)
      state.proxy = proxy
      return state.proxyUrl !== (url === null ? null : Redacted.value(url))
    },
    Effect.catch((error) => Effect.as(Effect.logWarning("a proxy is read later", error), false)),
  )

  /** It is opened anew with another proxy, and once an operator has resumed what was kept away. */
  const beginsAnew = Effect.fnUntraced(function* (state: Held, kept: KeptSession) {
    const wasKeptAway = state.isKeptAway
    state.isKeptAway = keepsAway(kept.pauseReason)
    if (state.isKeptAway) return false
    const isResumed = wasKeptAway || (state.isGivenUp && kept.reason === triedAgain)
    return isResumed || (yield* hasAnotherProxy(state, kept))
  })

  const lookAt = (kept: KeptSession) => {
    const { leavingSince, numberId, pauseReason, removed, status } = kept
    if (removed) return leave(numberId, leavingSince)
    // The attempt at linking has it.
    if (status === "connecting") return Effect.void
    if (leavingSince !== null) return leave(numberId, leavingSince)
    const state = held.get(numberId)
    if (state === undefined) {
      return keepsAway(pauseReason) ? Effect.void : start(numberId, true)
    }
    if (!state.told) return settleLink(numberId, status)
    return Effect.flatMap(beginsAnew(state, kept), (anew) =>
      anew
        ? Effect.andThen(release(numberId), start(numberId, true))
        : keeper.trim(numberId, state),
    )
  }

  /** Connects what is linked, and logs out what leaves. */
  const look = vault.list.pipe(
    Effect.flatMap((all) =>
      Effect.forEach(
        all.filter(({ numberId, platform }) => platform === "whatsapp" && ownership.owns(numberId)),
        lookAt,
        { discard: true },
      ),
    ),
    Effect.catch((error) => logTrouble("linked numbers are read later", error)),
  )

  const keepAll = Effect.gen(function* () {
    let nextLook = 0
    let known: Owned | null = null
    for (;;) {
      const now = yield* Clock.currentTimeMillis
      const owned = yield* ownership.owned
      yield* releaseOthers
      if (owned !== known || now >= nextLook) {
        known = owned
        nextLook = now + settings.lookMillis
        yield* look
      }
      yield* Effect.sleep(Math.min(askMillis, settings.lookMillis))
    }
  })

  const makeRoom = Effect.fnUntraced(function* (numberId: NumberId, leaves: boolean) {
    // Its wiping must not meet what the new link keeps.
    yield* FiberMap.remove(goodbyes, numberId)
    yield* release(numberId)
    if (leaves) yield* patiently(vault.leave(numberId))
    const kept = (yield* patiently(vault.list)).find((one) => one.numberId === numberId)
    if (kept === undefined || kept.leavingSince === null) return
    yield* sayGoodbye(numberId, kept.leavingSince)
    yield* release(numberId)
  })

  const connectLinked = Effect.fnUntraced(function* (numberId: NumberId) {
    for (;;) {
      yield* release(numberId)
      yield* patiently(vault.credentials(numberId))
      const session = yield* settled(yield* start(numberId, false))
      // The store did not say what the number has, and is asked again.
      if (session !== "connection_lost" || !ownership.owns(numberId)) return session
    }
  })

  return Sessions.of({
    owns: ownership.owns,
    listen: (taking) =>
      Effect.suspend(() => {
        taker = taking
        isListening.openUnsafe()
        return Effect.raceFirst(keepAll, sweepLeftFiles)
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
      const linked = yield* Effect.result(vault.credentials(numberId))
      if (linked._tag === "Failure") return "connection_lost"
      if (linked.success === null) return null
      return yield* settled(held.get(numberId) ?? (yield* start(numberId, true)))
    }),
    connectLinked,
    unconfirmed: (numberId) =>
      Effect.map(patiently(vault.credentials(numberId)), (text) => {
        if (text === null) return null
        const credentials = fromText(text)
        return isUnconfirmed(credentials) ? digitsOf(credentials.me?.id ?? "") : null
      }),
    announce,
    makeRoom,
    logOut: (numberId) => Effect.asVoid(leave(numberId, null)),
    status: (numberId) => {
      const known = held.get(numberId)
      return known === undefined ? null : statusOf(known)
    },
    reports: Effect.sync(() =>
      [...held].flatMap(([numberId, state]) =>
        state.told ? [{ ...statusOf(state), numberId }] : [],
      ),
    ),
  })
})
