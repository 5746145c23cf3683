/**
 * News of a workspace for open pages: what has changed, never how (contract: News). One look a second
 * serves all viewers of a process, and without viewers there is none. Sections: viewer, looks,
 * service.
 */
import { Clock, Context, Effect, Fiber, Latch, Layer, Semaphore, Stream } from "effect"
import type { Scope } from "effect"
import { refuse } from "../model/Refusal.ts"
import type { Failure } from "../model/Refusal.ts"
import { isReceivedEvent } from "../model/Event.ts"
import type { WorkspaceId } from "../model/Ids.ts"
import { reportedReceived } from "../model/Received.ts"
import { makeScopedBulkhead, sharedLimits } from "../model/Bulkhead.ts"
import { logFailure } from "./logThrottled.ts"
import { Store } from "../store/Store.ts"
import { RealTime, sleep } from "../model/Time.ts"
import type { Outbox } from "../store/WebhookStore.ts"
import { EventFeed } from "./EventFeed.ts"
import { changedMarks, markLimits, changeFeedTopics } from "../store/ChangeFeedStore.ts"
import type { ChangeFeedMark, ChangeFeedStore, ChangeFeedTopic } from "../store/ChangeFeedStore.ts"

/** How often a process looks, in real milliseconds. */
const lookMillis = 1000

/** Looks between two times of the clock. */
const looksPerClock = 60

/** A service clock that drifts more than this from the system's in a second was moved. */
const clockDriftMillis = 500

/** Events per read. */
const batch = 100

/** Ids of one topic that a viewer may have pending; more are reported as a change of anything. */
const pendingIdsMax = 1000

/** How far back a viewer may continue, in milliseconds of service time. */
const resumableMillis = 60 * 60 * 1000

/** What a viewer gets at once. */
export interface ChangeFeed {
  /** Position of the outbox: a viewer that continues after it misses nothing of the last hour. */
  readonly position: number
  /** Ids by topic; empty when anything of the topic may have changed. */
  readonly changes: ReadonlyArray<readonly [topic: ChangeFeedTopic, ids: ReadonlyArray<number>]>
  /** The service's time: at the start, each minute, and when it was moved; else null. */
  readonly now: number | null
}

/** One reader. It holds what it has not been told yet, so a slow one takes no more and no less. */
class Viewer {
  readonly #changes = new Map<ChangeFeedTopic, Set<number> | null>()
  readonly #latch = Latch.makeUnsafe(false)
  #now: number | null = null
  #position = 0

  /** Null ids: anything of the topic. */
  note(topic: ChangeFeedTopic, ids: Iterable<number> | null): void {
    const pending = this.#changes.get(topic)
    if (pending === null) return
    if (ids === null) this.#changes.set(topic, null)
    else {
      const all = pending ?? new Set<number>()
      for (const id of ids) all.add(id)
      if (all.size > 0) this.#changes.set(topic, all.size > pendingIdsMax ? null : all)
    }
  }

  noteClock(now: number): void {
    this.#now = now
  }

  /** Passes on what was noted. */
  notify(position: number): void {
    this.#position = position
    if (this.#changes.size > 0 || this.#now !== null) this.#latch.openUnsafe()
  }

  /** Waits for news. */
  readonly take: Effect.Effect<ChangeFeed> = Effect.suspend(() =>
    Effect.map(this.#latch.await, () => {
      this.#latch.closeUnsafe()
      const changes = [...this.#changes].map(([topic, ids]) => [topic, [...(ids ?? [])]] as const)
      const changeFeed = { position: this.#position, changes, now: this.#now }
      this.#changes.clear()
      this.#now = null
      return changeFeed
    }),
  )
}

type Marks = ReadonlyMap<string, ChangeFeedMark>

/** A workspace with viewers. */
interface Viewed {
  readonly viewers: Set<Viewer>
  marks: Marks
}

const markMap = (marks: ReadonlyArray<ChangeFeedMark>): Marks =>
  new Map(marks.map((mark) => [`${mark.topic} ${mark.id}`, mark]))

/** A viewer that opens a stream. */
export interface ChangeFeedQuery {
  readonly workspaceId: WorkspaceId
  /** Who holds the stream: a session's id, or the same text for all who have the token. */
  readonly holder: string
  /** The position that it has got to; null for news from now on. */
  readonly after: number | null
}

const tooManyStreams = refuse("rate_limited", {
  message: `A session has at most ${sharedLimits.eventStreams.share.most} streams at once.`,
  retryAfter: 5,
})

const noRoom = refuse("service_unavailable", { retryAfter: 5 })

/** The looks of a process, while it has viewers. */
interface FeedState {
  readonly store: ChangeFeedStore
  readonly outbox: Outbox
  /** Viewers join between two looks. */
  readonly turn: Semaphore.Semaphore
  readonly viewed: Map<WorkspaceId, Viewed>
  running: Fiber.Fiber<never> | null
  /** Of the outbox; null without viewers. */
  position: number | null
  /** What the service's clock was ahead of the system's. */
  clockOffset: number | null
  count: number
}

const getViewers = ({ viewed }: FeedState): ReadonlyArray<Viewer> =>
  [...viewed.values()].flatMap(({ viewers }) => [...viewers])

const readEvents = Effect.fnUntraced(function* readEvents(feed: FeedState) {
  for (;;) {
    const events = yield* feed.outbox.readEvents(feed.position ?? 0, batch)
    for (const { body, id, messageId, type, workspaceId } of events) {
      for (const viewer of feed.viewed.get(workspaceId)?.viewers ?? []) {
        if (messageId !== null) viewer.note("messages", [messageId])
        // Edits and reactions leave a chat's mark as it is.
        if (messageId === null && isReceivedEvent(type)) {
          viewer.note("chats", [reportedReceived(body).chat.id])
        }
      }
      feed.position = id
    }
    if (events.length < batch) return
  }
})

const readMarks = Effect.fnUntraced(function* readMarks({ store, viewed }: FeedState) {
  const marks = yield* store.marks([...viewed.keys()], markLimits)
  const found = Map.groupBy(marks, ({ workspaceId }) => workspaceId)
  for (const [workspaceId, one] of viewed) {
    const after = markMap(found.get(workspaceId) ?? [])
    for (const [topic, ids] of changedMarks(one.marks, after)) {
      for (const viewer of one.viewers) viewer.note(topic, ids)
    }
    one.marks = after
  }
})

const readClock = Effect.fnUntraced(function* readClock(feed: FeedState) {
  const { systemMillis } = yield* RealTime
  const now = yield* Clock.currentTimeMillis
  const ahead = now - (yield* systemMillis)
  const isMoved = Math.abs(ahead - (feed.clockOffset ?? ahead)) > clockDriftMillis
  feed.clockOffset = ahead
  feed.count++
  if (!isMoved && feed.count % looksPerClock !== 0) return
  for (const viewer of getViewers(feed)) viewer.noteClock(now)
})

const refresh = (feed: FeedState): Effect.Effect<void> =>
  Effect.all([readClock(feed), readEvents(feed), readMarks(feed)], { discard: true }).pipe(
    Effect.catchCause((cause) => logFailure("news are read later", cause)),
    Effect.andThen(
      Effect.sync(() => {
        for (const viewer of getViewers(feed)) viewer.notify(feed.position ?? 0)
      }),
    ),
    feed.turn.withPermit,
  )

const leave = (feed: FeedState, workspaceId: WorkspaceId, viewer: Viewer): void => {
  const { viewed } = feed
  const one = viewed.get(workspaceId)
  one?.viewers.delete(viewer)
  if (one?.viewers.size === 0) viewed.delete(workspaceId)
  if (viewed.size > 0) return
  feed.running?.interruptUnsafe()
  feed.running = null
  feed.position = null
  feed.clockOffset = null
}

const makeFeed = Effect.gen(function* makeFeed() {
  const { news: store, webhooks: outbox } = yield* Store
  const feed = yield* EventFeed
  const scope = yield* Effect.scope
  const looks: FeedState = {
    store,
    outbox,
    turn: Semaphore.makeUnsafe(1),
    viewed: new Map(),
    running: null,
    position: null,
    clockOffset: null,
    count: 0,
  }
  const run: Effect.Effect<never> = Effect.forever(
    Effect.andThen(sleep(lookMillis), refresh(looks)),
  )

  return {
    /** Whether a viewed workspace has any. */
    hasChats: (workspaceId: WorkspaceId): boolean =>
      [...(looks.viewed.get(workspaceId)?.marks.values() ?? [])].some(
        ({ topic }) => topic === "chats",
      ),
    /** Adds the viewer until the scope closes: it learns of what changes from now on. */
    join: Effect.fnUntraced(function* join(workspaceId: WorkspaceId, viewer: Viewer) {
      const start = looks.position ?? (yield* feed.end)
      const known = looks.viewed.get(workspaceId)?.marks
      const marks = known ?? markMap(yield* store.marks([workspaceId], markLimits))
      yield* Effect.acquireRelease(
        Effect.gen(function* enter() {
          looks.position ??= start
          const one = looks.viewed.get(workspaceId) ?? { viewers: new Set<Viewer>(), marks }
          looks.viewed.set(workspaceId, one)
          one.viewers.add(viewer)
          looks.running ??= yield* Effect.forkIn(run, scope)
        }),
        () => Effect.sync(() => leave(looks, workspaceId, viewer)),
      )
      return looks.position ?? start
    }, looks.turn.withPermit),
  }
})

export class WorkspaceChangeFeed extends Context.Service<
  WorkspaceChangeFeed,
  {
    /**
     * Opens a stream until the scope closes; nothing ends it before. It begins with the time, and with
     * what changed since `after`. Fails with `rate_limited` and `service_unavailable` when the
     * holder, or the process, has too many.
     */
    open(
      query: ChangeFeedQuery,
    ): Effect.Effect<
      Stream.Stream<ChangeFeed>,
      Failure<"rate_limited" | "service_unavailable">,
      Scope.Scope
    >
  }
>()("core/WorkspaceChangeFeed") {
  static readonly layer = Layer.effect(
    WorkspaceChangeFeed,
    Effect.gen(function* make() {
      const { news: store } = yield* Store
      const { hasChats, join } = yield* makeFeed
      const takeRoom = makeScopedBulkhead<string, typeof tooManyStreams, typeof noRoom>(
        sharedLimits.eventStreams,
        { shareUsed: tooManyStreams, full: noRoom },
      )

      const noteMissed = Effect.fnUntraced(function* noteMissed(
        viewer: Viewer,
        workspaceId: WorkspaceId,
        after: number,
        now: number,
      ) {
        const limit = pendingIdsMax
        const notBefore = now - resumableMillis
        const query = { workspaceId, position: after, notBefore, limit }
        const ids = yield* store.changedMessages(query)
        viewer.note("messages", ids.length >= limit ? null : ids)
        // No position tells what else changed.
        for (const topic of changeFeedTopics) {
          if (topic !== "messages" && topic !== "chats") viewer.note(topic, null)
        }
        if (hasChats(workspaceId)) viewer.note("chats", null)
      })

      return WorkspaceChangeFeed.of({
        open: Effect.fn("WorkspaceChangeFeed.open")(function* open({ after, holder, workspaceId }) {
          yield* takeRoom(holder)
          const viewer = new Viewer()
          const position = yield* join(workspaceId, viewer)
          const now = yield* Clock.currentTimeMillis
          if (after !== null) yield* noteMissed(viewer, workspaceId, after, now)
          viewer.noteClock(now)
          viewer.notify(position)
          return Stream.fromEffectRepeat(viewer.take)
        }),
      })
    }),
  )
}
