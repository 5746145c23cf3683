/**
 * The connections of accounts that are logged in: each is kept open for as long as the service runs, and
 * given up when the far side says so. Numbers begin side by side a few at a time.
 *
 * A session that is to go (its number was removed or logged out) stays in the vault until the far side
 * has heard of it, or for `leavingMillis`.
 */
import {
  NumberOwnership,
  NumberProxies,
  SessionVault,
  keepsAway,
} from "@messaging-service/core/ports"
import type {
  ConnectionReport,
  KeptSession,
  NumberId,
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
  References,
} from "effect"
import { asked } from "./Client.ts"
import type { ClosedReason } from "./closing.ts"
import { fromText, hasEnded, toText } from "./credentials.ts"
import type { LoginCredentials } from "./credentials.ts"
import { makeKeeper, patiently } from "./keepConnected.ts"
import { makeLoginClients, storedCredentials } from "./loginClient.ts"
import { statusOf } from "./OpenAccount.ts"
import type { AccountStatus, Held, OpenAccount } from "./OpenAccount.ts"
import type { TelegramSettings } from "./settings.ts"

export class Sessions extends Context.Service<
  Sessions,
  {
    /**
     * Keeps all accounts connected until interrupted, and looks after those that leave. What
     * connections say is handed to `take`.
     */
    listen(take: TakeEvent): Effect.Effect<never>
    /**
     * The number's open connection, waited for while it is being opened; why there is none, as when
     * another worker has it; null when the number is not logged in.
     */
    open(numberId: NumberId): Effect.Effect<OpenAccount | ClosedReason | "elsewhere" | null>
    /** Whether the number is still this worker's. */
    owns(numberId: NumberId): boolean
    status(numberId: NumberId): AccountStatus | null
    readonly reports: Effect.Effect<ReadonlyArray<ConnectionReport>>
  }
>()("transport-telegram/Sessions") {
  static readonly layer = (settings: TelegramSettings) => Layer.effect(Sessions, make(settings))
}

/** How often it is asked which numbers are this worker's. */
const askMillis = 250

/** How long one try to say goodbye to the far side may take. */
const goodbyeMillis = 5000

/** How long a session that is to go is kept for the day that the far side is there again: 30 days. */
const leavingMillis = 30 * 24 * 60 * 60_000

const make = Effect.fnUntraced(function* (settings: TelegramSettings) {
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
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
  const logins = makeLoginClients(settings, yield* NumberProxies)

  const start = Effect.fnUntraced(function* (numberId: NumberId, leaves: boolean) {
    const state: Held = {
      status: {
        state: "connecting",
        reason: null,
        since: yield* Clock.currentTimeMillis,
        lastSeenAt: null,
        reconnects: 0,
      },
      open: null,
      turn: yield* Deferred.make<OpenAccount | ClosedReason>(),
      lastWordAt: null,
      leaves,
      isKeptAway: false,
      proxy: undefined,
      lostAt: null,
      trimmedAt: 0,
      wroteSince: 0,
    }
    held.set(numberId, state)
    const ended = Effect.suspend(() => {
      if (held.get(numberId) === state) held.delete(numberId)
      return Deferred.succeed(state.turn, "connection_lost")
    })
    const kept = Effect.andThen(keeper.keep(numberId, state), ended)
    // It outlives the one that asked for it first, and lives by the service's own clock.
    yield* FiberMap.run(
      fibers,
      numberId,
      ownership.whileOwned(numberId, kept).pipe(
        Effect.tap((end) => (Option.isNone(end) ? ended : Effect.void)),
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
    Effect.suspend(() =>
      state.open === null ? Deferred.await(state.turn) : Effect.succeed(state.open),
    )

  /** One try to say goodbye. The connection for it stays, and is opened when the far side is back. */
  const sayGoodbye = Effect.fnUntraced(function* (numberId: NumberId, leavingSince: number) {
    const state = held.get(numberId) ?? (yield* start(numberId, true))
    state.leaves = true
    const account = yield* Effect.timeoutOption(settled(state), goodbyeMillis)
    const reached = Option.getOrNull(account)
    // The far side's own word that the session is over is as good.
    const isOver = reached === "logged_out" || reached === "replaced" || reached === "banned"
    const isSaid =
      reached === null || typeof reached === "string"
        ? isOver
        : yield* asked(() => reached.client.call({ _: "auth.logOut" })).pipe(
            Effect.as(true),
            Effect.timeoutOption(goodbyeMillis),
            Effect.map(Option.getOrElse(() => false)),
            Effect.orElseSucceed(() => false),
          )
    const now = yield* Clock.currentTimeMillis
    if (!isSaid && now - leavingSince < leavingMillis) return
    yield* release(numberId)
    yield* patiently(vault.wipe(numberId))
    yield* Effect.logInfo(
      isSaid ? "number logged out" : "number forgotten: the far side was away for too long",
    )
  })

  const goodbye = <E>(numberId: NumberId, said: Effect.Effect<void, E>) =>
    FiberMap.run(
      goodbyes,
      numberId,
      said.pipe(
        // It is said by the worker that has the number now.
        Effect.ignore,
        Effect.annotateLogs({ number: numberId }),
        Effect.provideService(References.CurrentLogAnnotations, {}),
        Effect.provideContext(context),
      ),
      { onlyIfMissing: true },
    )

  /** A login that came to nothing leaves no session behind. */
  const leave = (numberId: NumberId, leavingSince: number) =>
    goodbye(
      numberId,
      Effect.gen(function* () {
        const kept = yield* patiently(storedCredentials(vault, numberId))
        if (kept?.kind !== "login") return yield* sayGoodbye(numberId, leavingSince)
        const isEnded = !kept.mayBeIn || (yield* logins.end(numberId, kept.keys))
        const isLate = (yield* Clock.currentTimeMillis) - leavingSince >= leavingMillis
        if (isEnded || isLate) yield* patiently(vault.wipe(numberId))
      }),
    )

  /** What a login may have left when its process died, or when it was given up, is logged out. */
  const endLogin = (numberId: NumberId, login: LoginCredentials) =>
    goodbye(
      numberId,
      Effect.gen(function* () {
        if (!(yield* logins.end(numberId, login.keys))) return
        const kept = yield* patiently(storedCredentials(vault, numberId))
        if (kept?.kind !== "login" || kept.id !== login.id) return
        const ended = toText({ ...kept, keys: [], mayBeIn: false })
        yield* patiently(
          kept.isCancelled ? vault.wipe(numberId) : vault.replace(numberId, ended, []),
        )
      }),
    )

  /** It is opened anew with another proxy, and once an operator has resumed what was kept away. */
  const beginsAnew = (state: Held, { pauseReason, proxy }: KeptSession): boolean => {
    const hasAnotherProxy = state.proxy !== undefined && state.proxy !== proxy
    const wasKeptAway = state.isKeptAway
    state.proxy = proxy
    state.isKeptAway = keepsAway(pauseReason)
    return !state.isKeptAway && (hasAnotherProxy || wasKeptAway)
  }

  const lookAt = Effect.fnUntraced(function* (kept: KeptSession) {
    const { leavingSince, numberId, pauseReason, removed } = kept
    if (removed || leavingSince !== null) {
      const now = yield* Clock.currentTimeMillis
      return yield* Effect.asVoid(leave(numberId, leavingSince ?? now))
    }
    const state = held.get(numberId)
    if (state === undefined) {
      const known = yield* storedCredentials(vault, numberId)
      if (known?.kind === "account" && !keepsAway(pauseReason)) yield* start(numberId, false)
      if (known?.kind === "login" && known.mayBeIn) {
        if (hasEnded(known, yield* Clock.currentTimeMillis)) yield* endLogin(numberId, known)
      }
      return
    }
    if (beginsAnew(state, kept)) {
      yield* release(numberId)
      yield* start(numberId, false)
    } else {
      yield* keeper.trim(numberId, state)
    }
  })

  /** Connects what is logged in, and logs out what leaves. */
  const look = vault.list.pipe(
    Effect.flatMap((all) =>
      Effect.forEach(
        all.filter(({ numberId, platform }) => platform === "telegram" && ownership.owns(numberId)),
        lookAt,
        { discard: true },
      ),
    ),
    Effect.catch((error) => Effect.logWarning("accounts are read later", error)),
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

  return Sessions.of({
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
      if (known !== undefined) return yield* settled(known)
      const text = yield* Effect.result(vault.credentials(numberId))
      if (text._tag === "Failure") return "connection_lost"
      if (text.success === null || fromText(text.success).kind === "login") return null
      return yield* settled(held.get(numberId) ?? (yield* start(numberId, false)))
    }),
    status: (numberId) => {
      const known = held.get(numberId)
      return known === undefined ? null : statusOf(known)
    },
    reports: Effect.sync(() =>
      [...held].flatMap(([numberId, state]) =>
        state.leaves ? [] : [{ ...statusOf(state), numberId }],
      ),
    ),
  })
})
