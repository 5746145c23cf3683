/** The figures of a workspace as they are read (contract: Figures), and the worker that counts them. */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import type { Failure, StoreUnavailable } from "../model/Refusal.ts"
import type { WorkspaceId } from "../model/Ids.ts"
import { EventSignal } from "./EventFeed.ts"
import { WakeUp } from "../store/DueWork.ts"
import { queryDecoder } from "../model/Page.ts"
import { described } from "../model/Input.ts"
import { Store } from "../store/Store.ts"
import { sleep } from "../model/Time.ts"
import { messagesRemaining } from "../model/Workspace.ts"
import type { Mode } from "../model/Workspace.ts"
import { Workspaces } from "./Workspaces.ts"
import {
  addedFigures,
  figureBuckets,
  figureRanges,
  figureSpan,
  figureStreams,
  noFigures,
  tallyFigures,
} from "../model/HourlyFigures.ts"
import type {
  FigureBucket,
  FigureCounts,
  FigureEntry,
  FigureQuery,
  FigureRange,
  FigureStore,
  FigureStream,
  HourlyFigures,
  PresentFigures,
} from "../model/HourlyFigures.ts"
import { logFailure } from "./logThrottled.ts"
import { maxCounted } from "../store/Metrics.ts"

/** Rows that one step counts, or one read of what is not counted yet takes. */
const atOnce = 2000

// Counting

/** Real milliseconds between two rounds of counting. */
export const CountingInterval = Context.Reference<number>("core/CountingInterval", {
  defaultValue: () => 60_000,
})

/** Counts what that stream has until nothing is left, or another worker counts it. */
const countStream = Effect.fnUntraced(function* countStream(
  store: FigureStore,
  stream: FigureStream,
): Effect.fn.Return<void, StoreUnavailable> {
  for (;;) {
    const { entries, from, to } = yield* store.readUncounted(stream, atOnce)
    if (to === from) return
    if (!(yield* store.count(stream, { from, to }, tallyFigures(entries)))) return
  }
})

/** Counts everything that is not counted yet. */
export const countFigures = Effect.flatMap(Store, ({ figures }) =>
  Effect.forEach(figureStreams, (stream) => countStream(figures, stream), { discard: true }),
)

/**
 * The loop that counts: once a minute where other processes write too, else a minute after an event.
 * What has no event is counted by housekeeping at the latest.
 */
export const makeFigureCounter = Effect.gen(function* makeFigureCounter() {
  const store = yield* Store
  const signal = yield* EventSignal
  const { poll } = yield* WakeUp
  const rest = yield* CountingInterval
  const count = countFigures.pipe(
    Effect.provideService(Store, store),
    Effect.catchCause((cause) => logFailure("figures are counted later", cause)),
  )
  const run = Effect.gen(function* run() {
    const latch = yield* signal.latch
    const round = Effect.gen(function* round() {
      if (poll === null) yield* latch.await
      yield* sleep(rest)
      yield* latch.close
      yield* count
    })
    return yield* Effect.forever(round)
  })
  return { run: Effect.scoped(run) }
})

// Reading

const modes = ["live", "test"] as const satisfies ReadonlyArray<Mode>

export const FiguresInput = Schema.Struct({
  range: described(Schema.optionalKey(Schema.Literals(figureRanges)), "The span of time.", {
    default: "24h",
  }),
  mode: described(Schema.optionalKey(Schema.Literals(modes)), "Which messages count.", {
    default: "live",
  }),
})

export interface ReadFigures {
  readonly range?: FigureRange | undefined
  readonly mode?: Mode | undefined
}

const decode = queryDecoder(FiguresInput)

/** What a workspace did in a span of time, and how it is now. */
export interface PublicFigures {
  readonly now: number
  readonly buckets: ReadonlyArray<FigureBucket>
  /** Of the span before, which is as long. */
  readonly before: FigureCounts
  /** Failed messages of the span by error code, most first. */
  readonly failures: ReadonlyArray<{ readonly code: string; readonly count: number }>
  /** All messages that were sent in the span, as `FigureCounts.waits` of one hour. */
  readonly waits: FigureCounts["waits"]
  readonly present: PresentFigures
  /** Messages that may still be accepted; null for unlimited. */
  readonly messagesRemaining: number | null
  readonly storageLimitBytes: number
}

/** What is not counted yet of that workspace, at most `maxCounted` entries in total. */
const readUncounted = Effect.fnUntraced(function* readUncounted(
  store: FigureStore,
  query: FigureQuery,
  positions: Readonly<Record<FigureStream, number>>,
) {
  const hours: Array<HourlyFigures> = []
  let left = maxCounted
  for (const stream of figureStreams) {
    let after = positions[stream]
    let found: ReadonlyArray<FigureEntry>
    do {
      const limit = Math.min(atOnce, left)
      found = yield* store.entriesAfter(stream, { ...query, after, limit })
      hours.push(...tallyFigures(found))
      left -= found.length
      after = found.at(-1)?.position ?? after
    } while (found.length === atOnce && left > 0)
  }
  return hours
})

const toFailures = ({ failures }: FigureCounts): PublicFigures["failures"] =>
  Object.entries(failures)
    .map(([code, count]) => ({ code, count }))
    .toSorted((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1))

/** What a workspace did in the span that ends with the present hour, counted or not. */
export const readSpan = Effect.fnUntraced(function* readSpan(
  store: FigureStore,
  query: FigureQuery,
  range: FigureRange,
  now: number,
): Effect.fn.Return<
  Pick<PublicFigures, "before" | "buckets" | "failures" | "waits">,
  StoreUnavailable
> {
  const span = figureSpan(range, now)
  const { hours, places } = yield* store.hours({ ...query, from: span.before, until: span.until })
  const uncounted = yield* readUncounted(store, query, places)
  const { before, buckets } = figureBuckets([...hours, ...uncounted], span)
  const total = buckets.reduce<FigureCounts>(addedFigures, noFigures)
  return { before, buckets, failures: toFailures(total), waits: total.waits }
})

export class WorkspaceFigures extends Context.Service<
  WorkspaceFigures,
  {
    /** Fails with `workspace_not_found` and `validation_failed`. */
    read(
      workspaceId: WorkspaceId | undefined,
      request: ReadFigures,
    ): Effect.Effect<PublicFigures, Failure<"workspace_not_found" | "validation_failed">>
  }
>()("core/WorkspaceFigures") {
  static readonly layer = Layer.effect(
    WorkspaceFigures,
    Effect.gen(function* make() {
      const store = (yield* Store).figures
      const workspaces = yield* Workspaces

      return WorkspaceFigures.of({
        read: Effect.fn("WorkspaceFigures.read")(function* read(workspaceId, request) {
          const { mode = "live", range = "24h" } = yield* Effect.fromResult(decode(request))
          const { id, plan } = yield* workspaces.get(workspaceId)
          const now = yield* Clock.currentTimeMillis
          const query = { workspaceId: id, mode }
          return {
            ...(yield* readSpan(store, query, range, now)),
            now,
            present: yield* store.presentFigures({ ...query, now, countAtMost: maxCounted }),
            messagesRemaining: messagesRemaining(plan),
            storageLimitBytes: plan?.mediaStorageBytes ?? 0,
          }
        }),
      })
    }),
  )
}
