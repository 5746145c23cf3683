/**
 * Sessions that are to end: their number was removed or logged out, or the core did not take it. Each stays
 * in the vault until it is logged out at the far side, or for `leavingMillis`.
 */
import { Clock, Effect, FiberMap, Option } from "effect"
import type { NumberId } from "../Ids.ts"
import { settled } from "./LiveNumber.ts"
import type { ClosedReason, LiveConnection, LiveNumber } from "./LiveNumber.ts"
import type { NumberMoved } from "./NumberOwnership.ts"
import { retryUntilStoreAnswers } from "./retryUntilStoreAnswers.ts"
import { SessionVault } from "./SessionVault.ts"

/** Logins that go on or came to nothing, where the vault has some in place of sessions. */
export interface Logins {
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
export interface Ends<Open extends LiveConnection> {
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
export const makeEndingSessions = Effect.fnUntraced(function* <Open extends LiveConnection>(
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

  const wipeAfter = Effect.fnUntraced(function* (
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
  const logOutNow = Effect.fnUntraced(function* (numberId: NumberId, leavingSince: number) {
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
