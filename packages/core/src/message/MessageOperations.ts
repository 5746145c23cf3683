/** What operators do with a workspace's messages (contract: Workspace messages). */
import { Clock, Context, Effect, Layer } from "effect"
import { findOrRefuse } from "../error/Refusal.ts"
import type { Failure, StoreUnavailable } from "../error/Refusal.ts"
import type { MessageId, WorkspaceId } from "../Ids.ts"
import { markMissingFiles } from "../media/Media.ts"
import { ConnectedFromTheStart } from "../number/Numbers.ts"
import { Store } from "../store/Store.ts"
import type { Role } from "../workspace/Workspace.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import type { WorkspaceCode } from "../workspace/Workspaces.ts"
import { DailyQuota } from "./Message.ts"
import type { Message, QuotaLimit } from "./Message.ts"
import type { TimelineFacts } from "./MessageStore.ts"
import { Messages, waitsFor } from "./Messages.ts"
import type { WaitsFor } from "./Messages.ts"
import { timelineEntries, timelineLimit } from "./Timeline.ts"
import type { TimelineEntry } from "./Timeline.ts"

/** Messages that are counted before one that waits. */
const mostAhead = 1000

export interface Timeline {
  readonly message: Message
  /** Null once it waits no more, and where its number was removed. */
  readonly waiting: {
    readonly for: ReadonlyArray<WaitsFor>
    /** Due messages of its number that leave before it, counted up to 1,000. */
    readonly ahead: number
  } | null
  /** Oldest first. */
  readonly entries: ReadonlyArray<TimelineEntry>
  /** Whether older attempts and deliveries were left out. */
  readonly truncated: boolean
}

interface Reading {
  readonly store: Store["Service"]
  readonly sendCap: QuotaLimit
  /** Whether numbers are simulated phones, which keep no connection. */
  readonly simulated: boolean
}

const waitingOf = Effect.fnUntraced(function* waitingOf(
  { sendCap, simulated, store }: Reading,
  { ahead, message }: TimelineFacts,
): Effect.fn.Return<Timeline["waiting"], StoreUnavailable> {
  if (message.state !== "waiting") return null
  const { from, id, workspaceId } = message
  const isHeld = yield* store.system.isHeld(id)
  const asked = yield* Clock.currentTimeMillis
  const facts = yield* store.numbers.connection(workspaceId, from.id, asked, sendCap)
  const now = yield* Clock.currentTimeMillis
  if (facts === null) return null
  const keepsConnections = !simulated && facts.number.mode === "live"
  const reasons = waitsFor(message, facts, now, keepsConnections, isHeld)
  return reasons === null ? null : { for: reasons, ahead }
})

const timelineOf = Effect.fnUntraced(function* timelineOf(
  reading: Reading,
  role: Role,
  workspaceId: WorkspaceId,
  id: MessageId | undefined,
): Effect.fn.Return<Timeline, Failure<"message_not_found">> {
  const { messages, media } = reading.store
  const now = yield* Clock.currentTimeMillis
  // One more than is shown tells whether there are more.
  const limit = timelineLimit + 1
  const facts = yield* findOrRefuse("message_not_found", id, (known) =>
    messages.timeline({ workspaceId, id: known, now, limit, mostAhead }),
  )
  const waiting = yield* waitingOf(reading, facts)
  const [message = facts.message] = yield* markMissingFiles(media)([facts.message])
  return { message, waiting, ...timelineEntries(facts, role, now) }
})

export class MessageOperations extends Context.Service<
  MessageOperations,
  {
    /**
     * GET /workspaces/{id}/messages/{message_id}/timeline: all that happened to a message of either
     * mode, and what it waits for. `role` decides what is shown of URLs. Fails with
     * `message_not_found`.
     */
    timeline(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: MessageId | undefined,
    ): Effect.Effect<Timeline, Failure<"workspace_not_found" | "message_not_found">>
    /**
     * DELETE /workspaces/{id}/messages/{message_id}: as `Messages.cancel`. Fails with
     * `message_not_found`, `not_cancellable`.
     */
    cancel(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: MessageId | undefined,
    ): Effect.Effect<Message, Failure<WorkspaceCode | "message_not_found" | "not_cancellable">>
  }
>()("core/MessageOperations") {
  static readonly layer = Layer.effect(
    MessageOperations,
    Effect.gen(function* make() {
      const messages = yield* Messages
      const workspaces = yield* Workspaces
      const reading: Reading = {
        store: yield* Store,
        sendCap: yield* DailyQuota,
        simulated: yield* ConnectedFromTheStart,
      }
      return MessageOperations.of({
        timeline: Effect.fn("MessageOperations.timeline")(
          function* timeline(role, workspaceId, id) {
            const workspace = yield* workspaces.get(workspaceId)
            return yield* timelineOf(reading, role, workspace.id, id)
          },
        ),
        cancel: Effect.fn("MessageOperations.cancel")(function* cancel(role, workspaceId, id) {
          const workspace = yield* workspaces.within(role, workspaceId, "workspace")
          return yield* messages.cancelIn(workspace.id, id)
        }),
      })
    }),
  )
}
