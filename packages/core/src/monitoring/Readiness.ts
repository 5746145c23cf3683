/**
 * Collects why a process is not ready, for `/health/ready`, `messaging_not_ready{reason}` and the
 * log. It checks store and disk on each query. Other components raise and clear the remaining
 * reasons.
 */
import { Cause, Context, Effect, Layer } from "effect"
import { MediaFiles } from "../media/Media.ts"
import { ClockStore, sleep } from "../time/Time.ts"
import { throttled, rootOf } from "./logThrottled.ts"

/** Every reason, as metrics label it. */
export const notReadyReasons = [
  "store",
  "disk",
  // The system clock is too far from the database's.
  "clock",
  // The store is behind what this process has seen of it.
  "store_behind",
] as const

export type NotReadyReason = (typeof notReadyReasons)[number]

/** Reasons that are checked; the others are raised. */
type AskedReason = "store" | "disk"

/** Current reasons, each with its log text. Empty: ready. */
export type NotReady = ReadonlyMap<NotReadyReason, string>

/** Time limit of each check, in real time. */
const longestWait = "2 seconds"

/** Why the work fails; null when it succeeds. */
const troubleOf = (work: Effect.Effect<void, unknown>): Effect.Effect<string | null> =>
  Effect.raceFirst(
    work.pipe(
      Effect.as(null),
      Effect.catchCause((cause) => Effect.succeed(rootOf(Cause.squash(cause)))),
    ),
    Effect.as(sleep(longestWait), `no answer within ${longestWait}`),
  )

const wordsOf = (reasons: NotReady): string =>
  Array.from(reasons, ([reason, because]) => `${reason} (${because})`).join(", ")

export class Readiness extends Context.Service<
  Readiness,
  {
    /** The current reasons. A change since the last query logs one line. */
    readonly notReady: Effect.Effect<NotReady>
    /** Raises a reason, or clears it with null. */
    raise(reason: Exclude<NotReadyReason, AskedReason>, because: string | null): Effect.Effect<void>
  }
>()("core/Readiness") {
  static readonly layer = Layer.effect(
    Readiness,
    Effect.gen(function* () {
      const store = yield* ClockStore
      const files = yield* MediaFiles
      const raised = new Map<NotReadyReason, string>()
      /** The names of the reasons at the last query. */
      let before = ""
      /** Whether the log says that the process is not ready. */
      let isSaid = false

      const log = Effect.fnUntraced(function* log(reasons: NotReady) {
        const names = [...reasons.keys()].join(", ")
        if (names === before) return
        before = names
        if (names !== "") {
          return yield* throttled(`not ready: ${names}`, () => {
            isSaid = true
            return Effect.logWarning(`not ready: ${wordsOf(reasons)}`)
          })
        }
        if (!isSaid) return
        isSaid = false
        yield* Effect.logInfo("ready again")
      })

      const notReady = Effect.gen(function* notReady() {
        const [storeTrouble, diskTrouble] = yield* Effect.all(
          [troubleOf(store.ping), troubleOf(files.ready)],
          { concurrency: "unbounded" },
        )
        const reasons = new Map(raised)
        if (storeTrouble !== null) reasons.set("store", storeTrouble)
        if (diskTrouble !== null) reasons.set("disk", diskTrouble)
        yield* log(reasons)
        return reasons
      })

      return Readiness.of({
        notReady,
        raise: Effect.fnUntraced(function* raise(reason, because) {
          if (because === null) raised.delete(reason)
          else raised.set(reason, because)
          // Logged now, since the next query may come late.
          yield* notReady
        }),
      })
    }),
  )
}
