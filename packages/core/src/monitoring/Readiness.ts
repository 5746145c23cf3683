/**
 * Why a process is not ready: the one service that collects the reasons, for `/health/ready`, for
 * `messaging_not_ready{reason}` and for the log. The store and the disk are asked each time. Any other
 * reason is raised by the part of the service that knows it, and holds until that part clears it.
 */
import { Cause, Context, Effect, Layer } from "effect"
import { MediaFiles } from "../media/Media.ts"
import { ClockStore, sleep } from "../time/Time.ts"
import { throttled, rootOf } from "./logThrottled.ts"

/** Every reason that there is, as metrics label it. */
export const notReadyReasons = [
  "store",
  "disk",
  // The system clock is too far from the database's.
  "clock",
  // The store is behind what this process has seen of it.
  "store_behind",
] as const

export type NotReadyReason = (typeof notReadyReasons)[number]

/** Those that are asked for; the others are raised. */
type AskedReason = "store" | "disk"

/** The reasons that hold, each with why it holds, in the words of the log. Empty: ready. */
export type NotReady = ReadonlyMap<NotReadyReason, string>

/** How long the store and the disk each may take to answer, in real time. */
const longestWait = "2 seconds"

/** Why this cannot be done; null when it can. */
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
    /**
     * The reasons at this moment. What the process was not ready for when it was last asked, and is
     * now, makes one log line; so does the end of it.
     */
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
      /** The names of the reasons that held when they were last asked. */
      let before = ""
      /** Whether the log holds that the process is not ready, and not yet that this has ended. */
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
          // Said at once, although it may be long until the process is asked.
          yield* notReady
        }),
      })
    }),
  )
}
