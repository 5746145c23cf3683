/**
 * Asks WhatsApp what a number may do with people who never wrote to it, and takes what WhatsApp tells by itself.
 * A question that WhatsApp refuses leaves `unknown`; it delays no send and ends no connection.
 */
import { nextRestrictionsCheck, unknownRestrictions } from "@messaging-service/core"
import type { CapWarning, LiveNumber, NewChatCap, Restrictions } from "@messaging-service/core"
import type { NewChatMessageCapInfo, ReachoutTimelockState, WASocket } from "baileys"
import { Clock, Effect, Latch } from "effect"

/** What one question, or one notice, says. */
type Notice = Partial<Restrictions>

/** The library names a reason also where there is none. */
export const fromTimelock = ({
  enforcementType,
  isActive = false,
  timeEnforcementEnds,
}: ReachoutTimelockState): Pick<Restrictions, "state" | "until" | "reason"> =>
  isActive
    ? {
        state: "new_chats_closed",
        until: timeEnforcementEnds?.getTime() ?? null,
        reason: enforcementType ?? null,
      }
    : { state: "none", until: null, reason: null }

const warnings: Readonly<Record<string, CapWarning>> = {
  NONE: "none",
  FIRST_WARNING: "first",
  SECOND_WARNING: "second",
  CAPPED: "capped",
}

/** Null when WhatsApp does not say. Negative quotas mean: without a cap. */
export const fromCap = ({
  capping_status,
  cycle_end_timestamp = "0",
  total_quota = -1,
  used_quota,
}: NewChatMessageCapInfo): NewChatCap | null => {
  if (used_quota === undefined) return null
  const resetsAt = Number(cycle_end_timestamp) * 1000
  return {
    limit: total_quota < 0 ? null : total_quota,
    used: used_quota,
    resetsAt: resetsAt > 0 ? resetsAt : null,
    warning: warnings[capping_status ?? "NONE"] ?? "none",
  }
}

type Questions = Pick<WASocket, "fetchAccountReachoutTimelock" | "fetchNewChatMessageCap">

/** Null: refused, or not as expected. */
const answer = <A, B>(question: () => Promise<A>, read: (found: NonNullable<A>) => B) =>
  Effect.tryPromise(question).pipe(
    Effect.map((found) => (found === undefined || found === null ? null : read(found))),
    Effect.catchCause(() => Effect.succeed(null)),
  )

const fetchRestrictions = Effect.fnUntraced(function* fetchRestrictions(
  questions: Questions,
  checkedAt: number,
) {
  const known = yield* answer(() => questions.fetchAccountReachoutTimelock(), fromTimelock)
  const newChats = yield* answer(() => questions.fetchNewChatMessageCap(), fromCap)
  return { ...unknownRestrictions(checkedAt), ...known, newChats }
})

const isSaid = (known: Restrictions, told: Notice): boolean =>
  JSON.stringify({ ...known, ...told }) === JSON.stringify(known)

/** How long a refusal waits for the answer that explains it. */
const refusalWaitMillis = 5_000

/** How long it waits for a notice where nothing may be asked: one that came before the refusal is still being read. */
const noticeWaitMillis = 1_000

const awaitNotice = (noticed: Latch.Latch) =>
  Effect.andThen(noticed.close, Effect.timeoutOption(noticed.await, noticeWaitMillis))

/** What one connection knows of its number's restrictions. */
export interface RestrictionChecks {
  /**
   * WhatsApp refused a message to someone new. Returns once its answer is stored, for the verdict that follows from
   * it, or after a short wait; at once where it is not asked.
   */
  readonly refused: Effect.Effect<void>
  /** WhatsApp told of it by itself. */
  told(told: Notice): Effect.Effect<void>
  /** Asks while the number's workspace has conversations, until interrupted. */
  readonly run: Effect.Effect<never>
}

/** `store` takes what is known, and waits until it is stored. */
export const makeRestrictionChecks = (
  questions: Questions,
  { conversing, notConversing }: Pick<LiveNumber<never>, "conversing" | "notConversing">,
  store: (restrictions: Restrictions) => Effect.Effect<void>,
): RestrictionChecks => {
  const changed = Latch.makeUnsafe(false)
  /** Open while nothing is to be asked or stored. */
  const settled = Latch.makeUnsafe(true)
  const noticed = Latch.makeUnsafe(false)
  let known = unknownRestrictions(null)
  let isStored = true
  let askedAt: number | null = null
  let refusedAt: number | null = null
  /** Otherwise nothing is asked, and no answer is awaited. */
  let isConversing = false

  const nextCheck = () =>
    nextRestrictionsCheck({ checkedAt: askedAt, until: known.until }, refusedAt)
  const forget = Effect.suspend(() => {
    known = unknownRestrictions(null)
    isStored = true
    askedAt = null
    refusedAt = null
    isConversing = false
    return settled.open
  })
  const askNow = Effect.gen(function* askNow() {
    const now = yield* Clock.currentTimeMillis
    if (now < nextCheck()) return
    askedAt = now
    known = yield* fetchRestrictions(questions, now)
    isStored = false
  })
  const storeNow = Effect.suspend(() => {
    if (isStored) return Effect.void
    isStored = true
    return store(known)
  })
  const rest = Effect.gen(function* rest() {
    yield* settled.open
    const now = yield* Clock.currentTimeMillis
    yield* Effect.raceFirst(Effect.sleep(Math.max(0, nextCheck() - now)), changed.await)
    yield* changed.close
  })
  const checking = Effect.forever(Effect.andThen(Effect.andThen(askNow, storeNow), rest))

  return {
    refused: Effect.gen(function* refused() {
      if (!isConversing) return
      refusedAt = yield* Clock.currentTimeMillis
      const isAsked = askedAt !== null && refusedAt >= nextCheck()
      if (isAsked) yield* settled.close
      yield* changed.open
      if (!isAsked && known.state !== "new_chats_closed") yield* awaitNotice(noticed)
      yield* Effect.timeoutOption(settled.await, refusalWaitMillis)
    }),
    told: Effect.fnUntraced(function* heard(one) {
      // The library reports answers too.
      if (!isConversing || isSaid(known, one)) return
      known = { ...known, ...one, checkedAt: yield* Clock.currentTimeMillis }
      isStored = false
      yield* settled.close
      yield* noticed.open
      yield* changed.open
    }),
    run: Effect.forever(
      Effect.gen(function* run() {
        yield* forget
        yield* conversing.await
        isConversing = true
        yield* Effect.raceFirst(checking, notConversing.await)
      }),
    ),
  }
}
