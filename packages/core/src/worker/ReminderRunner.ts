/**
 * The reminder loop: decides due runs as POST /messages would now, and commits each with the
 * advance to its next due time. Several workers may decide the same run; one commit succeeds.
 *
 * A run that another transaction blocks, such as a caller's own send from the same number, waits
 * until the others are done.
 */
import { Clock, Effect, Result } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { NumberId, ReminderId } from "../model/Ids.ts"
import { makeAcceptor } from "../service/Messages.ts"
import type { FailedGuard } from "../model/accept.ts"
import { WakeUp } from "../store/DueWork.ts"
import { decideRun } from "../service/decideRun.ts"
import { planRun } from "../model/Reminder.ts"
import type { ReminderStore, DueReminder } from "../model/Reminder.ts"
import { makeDueRound } from "./DueRounds.ts"
import { runLoop } from "./LeaseLoop.ts"
import { Store } from "../store/Store.ts"

/** Reminders per round. */
const batch = 200

/** Concurrent runs: enough to share statements, few enough to spare connections. */
const atOnce = 8

/** Decisions to try while others keep changing the facts. */
const attempts = 5

/** What remains of a run: decide again, or wait for another transaction; null for nothing. */
type Left = FailedGuard | "blockedByLock" | null

interface Runner {
  readonly store: ReminderStore
  readonly acceptor: Effect.Success<typeof makeAcceptor>
}

/** Loads, decides and commits, unless its number is known to be blocked. */
const tryRun = Effect.fnUntraced(function* tryRun(
  runner: Runner,
  due: DueReminder,
  recount: boolean,
  blockedByLock: Set<NumberId>,
): Effect.fn.Return<Left, StoreUnavailable> {
  const { acceptor, store } = runner
  const { dueAt, reminder, workspace } = due
  const now = yield* Clock.currentTimeMillis
  const plan = planRun(reminder, dueAt, now)
  if (plan === null) return null
  const { instead, run } = plan
  if (workspace.deletedAt !== null) {
    return yield* Effect.as(store.advanceWithoutMessage({ ...run, nextRunAt: null }, null), null)
  }
  if (instead !== null) return yield* Effect.as(store.advanceWithoutMessage(run, instead), null)
  const decided = yield* decideRun(acceptor, due, now, recount)
  if (Result.isFailure(decided)) {
    // If another worker was first, the log has its outcome and this one is dropped.
    return yield* Effect.as(
      store.advanceWithoutMessage(run, { outcome: "refused", code: decided.failure }),
      null,
    )
  }

  const { numberId } = decided.success
  if (blockedByLock.has(numberId)) return "blockedByLock"
  const outcome = yield* store.run(decided.success, run)
  if (outcome._tag === "Accepted") {
    yield* acceptor.wake(decided.success)
    return null
  }
  if (outcome._tag === "HeldUp") {
    blockedByLock.add(numberId)
    return "blockedByLock"
  }
  return outcome.guard === "reminder" ? null : outcome.guard
})

/** Whether it was blocked. A run that no attempt completes stays due for the next round. */
const runReminder = Effect.fnUntraced(function* runReminder(
  runner: Runner,
  due: DueReminder,
  blockedByLock: Set<NumberId>,
) {
  let left = yield* tryRun(runner, due, false, blockedByLock)
  for (
    let attempt = 1;
    attempt < attempts && left !== null && left !== "blockedByLock";
    attempt++
  ) {
    left = yield* tryRun(runner, due, left === "quota", blockedByLock)
  }
  return left === "blockedByLock"
})

/** The loop; `runOnce` runs due reminders, one batch at most, and returns how many it completed. */
export const makeReminderRunner = Effect.gen(function* makeReminderRunner() {
  const runner: Runner = {
    store: (yield* Store).reminders,
    acceptor: yield* makeAcceptor,
  }
  const context = yield* Effect.context<WakeUp | Store>()
  const runOnce = makeDueRound<DueReminder, ReminderId, StoreUnavailable>({
    due: (limit) => Effect.flatMap(Clock.currentTimeMillis, (now) => runner.store.due(now, limit)),
    toId: ({ reminder }) => reminder.id,
    run: (due, blockedByLock) => runReminder(runner, due, blockedByLock),
    batch,
    atOnce,
  })
  return {
    runOnce,
    run: runLoop({
      work: "reminders",
      runOnce: Effect.map(runOnce, (ran) => ran > 0),
    }).pipe(Effect.provideContext(context)),
  }
})
