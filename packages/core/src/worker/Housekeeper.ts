/**
 * Housekeeping: finishes removals that a killed process left half done, and drops what no longer
 * matters. Runs seldom, and harms nothing when several workers do it.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { eventsKeptMillis, Outbox } from "../event/EventFeed.ts"
import { makeMediaSweep } from "../media/MediaDirectory.ts"
import { makeErasure, makeOrphaned } from "../workspace/Workspaces.ts"
import { checksKeptMillis, NumberCheckStore } from "../numberCheck/NumberChecks.ts"
import { logFailure } from "../monitoring/logThrottled.ts"
import { WakeUp, DueWork } from "../queue/DueWork.ts"
import { ReminderStore, runsKeptMillis } from "../reminder/Reminder.ts"
import { IdempotencyStore } from "../request/Idempotency.ts"
import { DeferrableSleep, sleep } from "../time/Time.ts"
import { WebhookStore } from "../webhook/WebhookStore.ts"
import { runLoop } from "./LeaseLoop.ts"

/**
 * Milliseconds between two rounds: in real time, and at most in service time, which tests and the
 * emulator's controls move on.
 */
export const HousekeepingRest = Context.Reference<{
  readonly real: number
  readonly service: number
}>("core/HousekeepingRest", {
  defaultValue: () => ({ real: 600_000, service: 3_600_000 }),
})

const rest = Effect.flatMap(HousekeepingRest, ({ real, service }) =>
  Effect.raceFirst(
    sleep(real),
    Effect.provideService(Effect.sleep(service), DeferrableSleep, true),
  ),
)

/** Whether this process tidies at the moment: what moves service time on waits for the round's end. */
export class Housekeeping extends Context.Service<Housekeeping, { isUnderWay: boolean }>()(
  "core/Housekeeping",
) {
  static readonly layer = Layer.sync(Housekeeping, () => ({ isUnderWay: false }))
}

/** Makes the loop. */
export const makeHousekeeper = Effect.gen(function* makeHousekeeper() {
  const orphaned = yield* makeOrphaned
  const idempotency = yield* IdempotencyStore
  const sweepMedia = yield* makeMediaSweep
  const webhooks = yield* WebhookStore
  const outbox = yield* Outbox
  const reminders = yield* ReminderStore
  const checks = yield* NumberCheckStore
  const erase = yield* makeErasure
  const housekeeping = yield* Housekeeping
  const context = yield* Effect.context<WakeUp | DueWork>()
  const is = (underWay: boolean) =>
    Effect.sync(() => {
      housekeeping.isUnderWay = underWay
    })
  const tidy = Effect.gen(function* tidy() {
    const now = yield* Clock.currentTimeMillis
    const tasks = [
      idempotency.forgetVoid(now),
      webhooks.forgetAttempts(now - eventsKeptMillis),
      outbox.forget(now - eventsKeptMillis),
      reminders.forget(now - runsKeptMillis),
      checks.forget(now - checksKeptMillis),
      sweepMedia,
      // The last: of a deleted workspace it takes the records of files whose bytes are gone by now.
      erase,
    ]
    // A failed task ends neither the other tasks nor the loops that run beside this one.
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
  // The first round at once: the process before this one may have been killed.
  const tidying = Effect.forever(Effect.andThen(tidy, rest))
  return { run: Effect.raceFirst(loop, tidying) }
})
