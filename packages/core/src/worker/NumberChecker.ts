/**
 * The loop of number checks: claims checks chunk by chunk, asks WhatsApp, and records what it said.
 * A chunk is held by a lease; when the process dies it is asked for again, which harms nothing.
 * Checks of test keys reach no transport (contract: Test mode).
 */
import { Clock, Context, Effect, FiberSet, Layer, Schedule } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { crowdedOf, heldBy } from "../limit/Held.ts"
import type { Shares } from "../limit/Held.ts"
import { sharedResources } from "../limit/sharedResources.ts"
import { Numbers } from "../number/Numbers.ts"
import { NumberCheckStore, isRegisteredInTestMode } from "../numberCheck/NumberCheck.ts"
import type { CheckSettlement, ClaimedCheck } from "../numberCheck/NumberCheck.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { WorkStatus } from "../queue/WorkStatus.ts"
import type { Phone } from "../recipient/Phone.ts"
import { sleep } from "../time/RealTime.ts"
import { NumberOwnership } from "../transport/NumberOwnership.ts"
import { PhoneDirectory } from "../transport/Transport.ts"
import type { PhonesOutcome } from "../transport/Transport.ts"
import { runLoop } from "./Loop.ts"

/** Phones that one call asks for. */
export const checkChunk = 50

/** Checks that one worker holds at once. */
const { share, whole: maximumChecks } = sharedResources.numberChecks

/** A transport that does not answer for this long has found nothing out, in service time. */
export const checkTimeoutMillis = 60_000

/** Longer than a call may take, so that a lease never runs out under it. In service time. */
export const checkLeaseMillis = 90_000

/** The pauses after tries that found nothing out; after one more try the chunk is `failed`. */
export const checkRetryMillis: ReadonlyArray<number> = [5000, 30_000]

/** Settling is tried again until the store answers; the lease decides whether it still counts. */
const retrySettling = Schedule.spaced("250 millis")

/** How long a stopping worker takes to give its chunks back, in real time. */
const giveBackMillis = 1000

/** What a look at a claimed check comes to. */
type Look = PhonesOutcome | { readonly _tag: "Removed" }

/** What a look means for the chunk. Pure. */
export const judgeCheck = (
  claimed: Pick<ClaimedCheck, "id" | "lease" | "phones" | "tries">,
  look: Look,
  now: number,
): CheckSettlement => {
  const { id, lease, phones, tries } = claimed
  const again = (notBefore: number | null, tried: boolean) =>
    ({ _tag: "Again", id, lease, notBefore, tried }) as const
  const failed = () =>
    ({
      _tag: "Answered",
      id,
      lease,
      answers: phones.map((phone) => ({ phone, status: "failed" as const })),
    }) as const
  switch (look._tag) {
    case "Checked":
      return {
        _tag: "Answered",
        id,
        lease,
        answers: phones.map((phone) => ({
          phone,
          status: look.registered.has(phone) ? "registered" : "not_registered",
        })),
      }
    case "Removed":
      return failed()
    case "NotConnected":
      return again(null, false)
    case "Postponed":
      return again(now + look.afterMillis, false)
    case "Unknown": {
      const pause = checkRetryMillis[tries]
      return pause === undefined ? failed() : again(now + pause, true)
    }
  }
}

export class NumberChecker extends Context.Service<
  NumberChecker,
  {
    /**
     * Claims what is due, asks, and records the answers; returns how many chunks. For embedders that
     * drive the service themselves, and for tests.
     */
    readonly runOnce: Effect.Effect<number, StoreUnavailable>
    /** The loop. When interrupted it gives the chunks under way back. */
    readonly run: Effect.Effect<never>
  }
>()("core/NumberChecker") {
  static readonly layer = Layer.effect(
    NumberChecker,
    Effect.gen(function* () {
      const store = yield* NumberCheckStore
      const directory = yield* PhoneDirectory
      const numbers = yield* Numbers
      const ownership = yield* NumberOwnership
      const wakeUp = yield* WakeUp
      const context = yield* Effect.context<WakeUp | WorkStatus>()

      const claim = (limit: number, held: Shares["held"]) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          return yield* store.claim({
            now,
            leaseUntil: now + checkLeaseMillis,
            limit,
            chunk: checkChunk,
            perWorkspace: share.most,
            held,
            owned: yield* ownership.owned,
          })
        })

      const ask = ({ mode, numberId, phones, removed }: ClaimedCheck): Effect.Effect<Look> => {
        if (mode === "test") return Effect.succeed(byTheRule(phones))
        if (removed) return Effect.succeed({ _tag: "Removed" })
        return directory.checkPhones(numberId, phones).pipe(
          Effect.timeoutOrElse({
            duration: checkTimeoutMillis,
            orElse: () => Effect.succeed<Look>({ _tag: "Unknown" }),
          }),
          Effect.catchDefect((defect) =>
            Effect.as(Effect.logError("a look-up of phones broke off", defect), {
              _tag: "Unknown",
            } as const),
          ),
        )
      }

      const look = Effect.fn("NumberChecker.look")(function* (claimed: ClaimedCheck) {
        const found = yield* ask(claimed)
        if (found._tag === "NotConnected") {
          yield* Effect.ignore(numbers.connectionChanged(claimed.numberId, "disconnected", null))
        }
        return judgeCheck(claimed, found, yield* Clock.currentTimeMillis)
      })

      const settle = (settlement: CheckSettlement) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => store.settle(settlement, now))

      const runOnce = Effect.gen(function* () {
        const claimed = yield* claim(maximumChecks, new Map())
        yield* Effect.forEach(claimed, (each) => Effect.flatMap(look(each), settle), {
          concurrency: "unbounded",
          discard: true,
        })
        return claimed.length
      })

      /** From now on the chunk is anybody's. */
      const giveBack = ({ id, lease }: ClaimedCheck) =>
        Effect.raceFirst(
          Effect.ignore(settle({ _tag: "Again", id, lease, notBefore: null, tried: false })),
          sleep(giveBackMillis),
        )

      const work = (claimed: ClaimedCheck, end: Effect.Effect<unknown>) =>
        Effect.gen(function* () {
          const settlement = yield* look(claimed)
          yield* settle(settlement).pipe(
            Effect.tapError((error) => Effect.logWarning("settling is tried again", error)),
            Effect.retry(retrySettling),
          )
        }).pipe(
          Effect.onInterrupt(() => giveBack(claimed)),
          Effect.ensuring(Effect.andThen(end, wakeUp.wake("number_checks"))),
        )

      const run = Effect.scoped(
        Effect.gen(function* () {
          const fibers = yield* FiberSet.make<void, StoreUnavailable>()
          const working = new Set<ClaimedCheck>()
          const heldOf = () => heldBy(Array.from(working, (each) => each.workspaceId))
          const begin = (claimed: ClaimedCheck) => {
            working.add(claimed)
            const end = Effect.sync(() => working.delete(claimed))
            return FiberSet.run(fibers, work(claimed, end))
          }
          const claimMore = Effect.gen(function* () {
            const room = maximumChecks - working.size
            if (room <= 0) return false
            const claimed = yield* claim(room, heldOf())
            yield* Effect.forEach(claimed, begin, { discard: true })
            return claimed.length > 0
          }).pipe(
            // A claim that is cut off after the store made it would leave chunks with nobody.
            Effect.uninterruptible,
          )
          return yield* runLoop({
            work: "number_checks",
            runOnce: claimMore,
            crowded: () => crowdedOf(heldOf(), sharedResources.numberChecks),
          })
        }),
      ).pipe(Effect.provideContext(context))

      return NumberChecker.of({ runOnce, run })
    }),
  )
}

/** What a test key is told, whoever is registered in a simulated world (contract: Test mode). */
const byTheRule = (phones: ReadonlyArray<Phone>): Look => ({
  _tag: "Checked",
  registered: new Set(phones.filter(isRegisteredInTestMode)),
})
