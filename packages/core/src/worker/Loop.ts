/**
 * The form of every worker loop: work while there is work, then sleep until the next due moment of
 * the store, or until woken, or until the slow poll. A store that does not answer is tried again
 * with growing pauses; a loop never ends by itself.
 */
import { Clock, Duration, Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { Crowded } from "../limit/Held.ts"
import { logTrouble } from "../monitoring/rareLog.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import type { Sleeper } from "../queue/WakeUp.ts"
import { WorkStatus } from "../queue/WorkStatus.ts"
import type { Work } from "../queue/WorkStatus.ts"
import { RealTime, sleep, untilLeap } from "../time/RealTime.ts"
import type { Owned } from "../transport/Shards.ts"

/** Pauses after a failure, in real milliseconds: doubling between these two. */
const firstPauseMillis = 100
const longestPauseMillis = 5000

/** Real milliseconds between looks when something is due that this loop could not take. */
const busyPauseMillis = 20

interface LoopOptions<E, R> {
  readonly work: Work
  /** Made by a loop that wakes itself too. */
  readonly sleeper?: Sleeper
  /** One round; returns whether it found work, so that another round follows at once. */
  readonly runOnce: Effect.Effect<boolean, E, R>
  /** The workspaces whose share is used up: only what this loop settles makes room for them. */
  readonly crowded?: () => Crowded
  /** The numbers whose work it may take; all when left out. */
  readonly owned?: Effect.Effect<Owned>
}

/**
 * For so many real milliseconds the loops of a worker take one look for new work to be enough. It is
 * shorter than a poll, so that no loop is answered with what was there before its own last look.
 */
const sharedLookMillis = 100

/** `WorkStatus` for all loops of one worker, which share what they ask of all work. */
export const sharedWorkStatus = Effect.gen(function* () {
  const status = yield* WorkStatus
  const { stopwatch } = yield* RealTime
  let age = () => Infinity
  const look = Effect.flatMap(stopwatch, (since) => {
    age = since
    return status.earliest()
  })
  const [earliest, forget] = yield* Effect.cachedInvalidateWithTTL(look, Duration.infinity)
  return WorkStatus.of({
    ...status,
    earliest: () => (age() < sharedLookMillis ? earliest : Effect.andThen(forget, earliest)),
  })
})

/**
 * Returns when another process may have made such work: the earliest moment of it has changed since the
 * last look, or has come. Else a look of the loop itself would find what it found before.
 */
const untilNews = (
  status: typeof WorkStatus.Service,
  work: Work,
  poll: Duration.Input,
  known?: number | null,
) => {
  let seen = known
  return Effect.gen(function* () {
    for (;;) {
      yield* sleep(poll)
      const { [work]: due } = yield* status.earliest()
      const isNew = due !== seen || (due !== null && due <= (yield* Clock.currentTimeMillis))
      seen = due
      if (isNew) return
    }
  })
}

/**
 * Whether there is nothing at all of a loop's work when it begins. The loops of a worker begin together and
 * share this look; a first round of each would open a connection for each. Where no poll would find what
 * came since the look was taken, none is taken.
 */
const isNothingYet = (work: Work) =>
  Effect.gen(function* () {
    const status = yield* WorkStatus
    const { poll } = yield* WakeUp
    return poll !== null && (yield* status.earliest())[work] === null
  })

/** Sleeps until there may be work. `isNothing`: it is known that there is none. */
const untilNext = <E, R>(
  { crowded, owned, work }: LoopOptions<E, R>,
  sleeper: Sleeper,
  isNothing: boolean,
) =>
  Effect.gen(function* () {
    const status = yield* WorkStatus
    const { poll } = yield* WakeUp
    const news =
      poll === null ? Effect.never : untilNews(status, work, poll, isNothing ? null : undefined)
    for (let looks = 0; !sleeper.isOpen(); looks++) {
      const mine = owned === undefined ? "all" : yield* owned
      const isKnown = isNothing && looks === 0
      const due = isKnown ? null : yield* status.nextDue(work, crowded?.() ?? [], mine)
      const now = yield* Clock.currentTimeMillis
      if (due !== null && due <= now) {
        // Due already when this round found nothing: another worker is at it.
        if (looks === 0) yield* Effect.raceFirst(sleep(busyPauseMillis), sleeper.await)
        return
      }
      const moment =
        due === null ? Effect.never : Effect.raceFirst(Effect.sleep(due - now), untilLeap)
      const polled = yield* Effect.raceFirst(
        Effect.as(Effect.raceFirst(moment, sleeper.await), false),
        Effect.as(news, true),
      )
      if (!polled) return
    }
  })

/** Runs a loop until it is interrupted. */
export const runLoop = <E, R>(options: LoopOptions<E | StoreUnavailable, R>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const sleeper = options.sleeper ?? (yield* (yield* WakeUp).sleeper(options.work))
      let pause = firstPauseMillis
      let hasBegun = false
      const round = Effect.gen(function* () {
        // Reset before looking: what arrives while we look wakes us again.
        yield* sleeper.close
        const isNothing = !hasBegun && (yield* isNothingYet(options.work))
        hasBegun = true
        const found = !isNothing && (yield* options.runOnce)
        if (!found) yield* untilNext(options, sleeper, isNothing)
        pause = firstPauseMillis
      })
      const survive = round.pipe(
        // Also a question that was cut off from outside. An interruption of the loop itself never gets
        // here.
        Effect.catchCause((cause) =>
          Effect.gen(function* () {
            yield* logTrouble("the loop failed and pauses", cause, Effect.logError)
            yield* sleep(pause)
            pause = Math.min(pause * 2, longestPauseMillis)
          }),
        ),
      )
      return yield* Effect.forever(survive)
    }),
  ).pipe(Effect.annotateLogs({ loop: options.work }))
