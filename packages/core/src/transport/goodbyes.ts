/**
 * Sessions that are to go: their number was removed or logged out, or the core did not take it. Each stays
 * in the vault until the far side has heard of it, or for `leavingMillis`.
 */
import { Clock, Effect, FiberMap, Option } from "effect"
import type { NumberId } from "../Ids.ts"
import { settled } from "./LiveNumber.ts"
import type { ClosedReason, LiveConnection, LiveNumber } from "./LiveNumber.ts"
import type { NumberMoved } from "./NumberOwnership.ts"
import { patiently } from "./patience.ts"
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
  /** The ends after which the far side knows the session no more: they are as good as a goodbye. */
  readonly saysGoodbye: ReadonlyArray<ClosedReason>
  /** Left out where the vault has nothing but sessions. */
  readonly logins?: Logins
}

/** How long one try to say goodbye to the far side may take. */
const goodbyeMillis = 5000

/** How long a session that is to go is kept for the day that the far side is there again: 30 days. */
const leavingMillis = 30 * 24 * 60 * 60_000

/** `start` begins with a number, `release` ends that; `apart` frees work of the one that asked for it first. */
export const makeGoodbyes = Effect.fnUntraced(function* <Open extends LiveConnection>(
  { logOut, logins, saysGoodbye }: Ends<Open>,
  numbers: {
    readonly find: (numberId: NumberId) => LiveNumber<Open> | undefined
    readonly start: (numberId: NumberId) => Effect.Effect<LiveNumber<Open>>
    readonly release: (numberId: NumberId) => Effect.Effect<void>
    readonly apart: <A>(work: Effect.Effect<A>) => Effect.Effect<A>
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
    reason !== null && saysGoodbye.includes(reason)

  /** Whether the far side knows the session no more. */
  const isSaid = (reached: Open | ClosedReason): Effect.Effect<boolean> =>
    typeof reached === "string"
      ? Effect.succeed(saysGoodbye.includes(reached))
      : Effect.map(
          Effect.timeoutOption(logOut(reached), goodbyeMillis),
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
    yield* patiently(vault.wipe(numberId))
    yield* Effect.logInfo(
      isOver ? "number logged out" : "number forgotten: the far side was away for too long",
    )
  })

  /** One try to say goodbye. The connection for it stays, and is opened when the far side is back. */
  const sayNow = Effect.fnUntraced(function* (numberId: NumberId, leavingSince: number) {
    const known = numbers.find(numberId)
    // What was given up is connected once more for it, and then not again.
    const isOut = known?.isGivenUp === true && !known.leaves && !isKnownOver(known)
    if (isOut) yield* numbers.release(numberId)
    const live = numbers.find(numberId) ?? (yield* numbers.start(numberId))
    live.told = false
    live.leaves = true
    const reached = yield* Effect.timeoutOption(settled(live), goodbyeMillis)
    const isOver = Option.isSome(reached) && (yield* isSaid(reached.value))
    yield* wipeAfter(numberId, leavingSince, isOver)
  })

  /** Works on what is to go unless that goes on already. */
  const begin = (numberId: NumberId, work: Effect.Effect<void, NumberMoved>): Effect.Effect<void> =>
    work.pipe(
      // It is said by the worker that has the number now.
      Effect.ignore,
      Effect.annotateLogs({ number: numberId }),
      numbers.apart,
      (said) => FiberMap.run(fibers, numberId, said, { onlyIfMissing: true }),
      Effect.asVoid,
    )

  return {
    inVault,
    sayNow,
    begin,
    /** From now on, or since then, the number's session leaves. */
    leave: (numberId: NumberId, leavingSince: number | null): Effect.Effect<void> =>
      begin(
        numberId,
        Effect.gen(function* () {
          if (leavingSince === null) yield* patiently(vault.leave(numberId))
          const since = leavingSince ?? (yield* Clock.currentTimeMillis)
          // A session that cannot be read is kept for as long as any other.
          const kept = inVault(numberId).pipe(
            Effect.catchTag("CannotOpen", () => Effect.succeed(null)),
          )
          const known = logins === undefined ? null : yield* patiently(kept)
          if (logins === undefined || known === null || known === "session") {
            return yield* sayNow(numberId, since)
          }
          return yield* wipeAfter(numberId, since, yield* logins.end(numberId, known.login))
        }),
      ),
    /** Another worker goes on with it, or something new takes its place. */
    stop: (numberId: NumberId) => FiberMap.remove(fibers, numberId),
    stopAll: FiberMap.clear(fibers),
  }
})
