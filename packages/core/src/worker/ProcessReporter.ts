/** Reports this process to the store, so that operators see what works on it. */
import { Clock, Context, Effect } from "effect"
import { logFailure } from "../service/logThrottled.ts"
import { processReportMillis } from "../store/Processes.ts"
import type { ProcessKind } from "../store/Processes.ts"
import { Store } from "../store/Store.ts"
import { DeferrableSleep, sleep } from "../model/Time.ts"
import { NumberOwnership, WorkerName } from "../service/NumberOwnership.ts"

/** What this process is, for operators. */
export const OwnKind = /*#__PURE__*/ Context.Reference<ProcessKind>("core/OwnKind", {
  defaultValue: () => "embedded",
})

/** Whether this process runs the worker. */
export const RunsWorker = /*#__PURE__*/ Context.Reference<boolean>("core/RunsWorker", {
  defaultValue: () => true,
})

/** How long a stopping process waits for the end of its report, in real milliseconds. */
const longestFarewell = 500

/** In real milliseconds, and at most service time. */
const nextReport = Effect.raceFirst(
  sleep(processReportMillis),
  Effect.provideService(Effect.sleep(processReportMillis), DeferrableSleep, true),
)

/** Reports this process until it is interrupted. */
export const reportProcess = Effect.gen(function* reportProcess() {
  const store = (yield* Store).system
  const { held } = yield* NumberOwnership
  const name = yield* WorkerName
  const kind = yield* OwnKind
  const works = yield* RunsWorker
  const report = Effect.gen(function* report() {
    const own = yield* held
    yield* store.reportProcess({
      name,
      kind,
      works,
      seenAt: yield* Clock.currentTimeMillis,
      numbersHeld: own?.numbers ?? null,
      shardsHeld: own?.shards ?? null,
    })
  }).pipe(Effect.catchCause((cause) => logFailure("this process is reported later", cause)))
  return yield* Effect.forever(Effect.andThen(report, nextReport)).pipe(
    Effect.ensuring(
      // A store that does not answer must not hold up the stop.
      Effect.ignore(
        Effect.raceFirst(
          Effect.interruptible(store.endProcess(name)),
          Effect.interruptible(sleep(longestFarewell)),
        ),
      ),
    ),
  )
})
