/**
 * Housekeeping: completes removals that a killed process left unfinished, and deletes old data. It
 * runs seldom; several workers may run it at once.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { subscriptionsRetentionMillis } from "../store/SubscriptionStore.ts"
import { forgetBrowserSessions } from "../service/BrowserSessions.ts"
import { eventsRetentionMillis } from "../store/WebhookStore.ts"
import { applyEarlyTicks, makeTick } from "../service/makeTick.ts"
import { makeMediaSweep } from "../service/MediaDirectory.ts"
import { makeReceivedErasure } from "../service/Chats.ts"
import { makeErasure, makeOrphaned } from "../service/Workspaces.ts"
import { checksRetentionMillis } from "../store/NumberCheckStore.ts"
import { figuresRetentionMillis } from "../model/HourlyFigures.ts"
import { logFailure } from "../service/logThrottled.ts"
import { processesRetentionMillis } from "../store/Processes.ts"
import { countFigures } from "../service/WorkspaceFigures.ts"
import { WakeUp } from "../store/DueWork.ts"
import { runsRetentionMillis } from "../model/Reminder.ts"
import { DeferrableSleep } from "../model/Time.ts"
import { runLoop } from "./LeaseLoop.ts"
import { Store } from "../store/Store.ts"

/**
 * Milliseconds of service time between rounds. A clock that is moved on does not stop for a round; one
 * follows.
 */
export const HousekeepingInterval = Context.Reference<number>("core/HousekeepingInterval", {
  defaultValue: () => 600_000,
})

const rest = Effect.flatMap(HousekeepingInterval, (millis) =>
  Effect.provideService(Effect.sleep(millis), DeferrableSleep, true),
)

/** Whether this process is tidying: a change of service time waits for the round's end. */
export class Housekeeping extends Context.Service<Housekeeping, { isUnderWay: boolean }>()(
  "core/Housekeeping",
) {
  static readonly layer = Layer.sync(Housekeeping, () => ({ isUnderWay: false }))
}

export const makeHousekeeper = Effect.gen(function* makeHousekeeper() {
  const orphaned = yield* makeOrphaned
  const store = yield* Store
  const {
    campaigns,
    figures,
    messages: idempotency,
    numberChecks: checks,
    reminders,
    system,
    webhooks,
  } = store
  const sweepMedia = yield* makeMediaSweep
  const applyTick = yield* makeTick
  const forgetSessions = yield* forgetBrowserSessions
  const eraseReceived = yield* makeReceivedErasure
  const erase = yield* makeErasure
  const housekeeping = yield* Housekeeping
  const context = yield* Effect.context<WakeUp | Store>()
  const is = (underWay: boolean) =>
    Effect.sync(() => {
      housekeeping.isUnderWay = underWay
    })
  const tidy = Effect.gen(function* tidy() {
    const now = yield* Clock.currentTimeMillis
    const tasks = [
      // The process to which the remote told of them was killed before their message had left.
      Effect.provideService(applyEarlyTicks(applyTick), Store, store),
      // First: what is erased still counts.
      Effect.provideService(countFigures, Store, store),
      figures.forgetFigures(now - figuresRetentionMillis),
      system.forgetProcesses(now - processesRetentionMillis),
      idempotency.forgetVoidClaims(now),
      webhooks.forgetAttempts(now - eventsRetentionMillis),
      webhooks.forgetEvents(now - eventsRetentionMillis),
      webhooks.forgetSubscriptions(now - subscriptionsRetentionMillis),
      reminders.forget(now - runsRetentionMillis),
      campaigns.forget(now),
      checks.forget(now - checksRetentionMillis),
      forgetSessions,
      eraseReceived(null),
      sweepMedia,
      // Last: it deletes records of files once their bytes are gone.
      erase,
    ]
    // One failed task ends neither the other tasks nor the worker's other loops.
    for (const task of tasks) {
      yield* Effect.catchCause(task, (cause) => logFailure("housekeeping is tried again", cause))
    }
  }).pipe((round) =>
    Effect.acquireUseRelease(
      is(true),
      () => round,
      () => is(false),
    ),
  )
  const loop = runLoop({
    work: "orphaned",
    runOnce: Effect.map(orphaned.cancelSome, (cancelled) => cancelled > 0),
  }).pipe(Effect.provideContext(context))
  // First round at once: the previous process may have been killed.
  const tidying = Effect.forever(Effect.andThen(tidy, rest))
  return { run: Effect.raceFirst(loop, tidying) }
})
