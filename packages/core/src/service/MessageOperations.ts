/** What operators do with a workspace's messages (contract: Workspace messages). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { findOrRefuse } from "../model/Refusal.ts"
import type { Failure, StoreUnavailable } from "../model/Refusal.ts"
import type { MessageId, NumberId, WorkspaceId } from "../model/Ids.ts"
import { hoursAt } from "../model/hours.ts"
import { markMissingFiles } from "../model/Media.ts"
import { ConnectedFromTheStart } from "./Numbers.ts"
import { parsePhone, phoneDescribed } from "../model/Recipient.ts"
import {
  described,
  IdInput,
  idsOrFilter,
  idsUpTo,
  inputDecoder,
  InstantInput,
  parsed,
  refuseFuture,
} from "../model/Input.ts"
import type { CommandOf } from "../model/Input.ts"
import { Store } from "../store/Store.ts"
import { boundMillis } from "../model/Time.ts"
import type { Role } from "../model/Workspace.ts"
import { Workspaces } from "./Workspaces.ts"
import type { WorkspaceCode } from "./Workspaces.ts"
import { DailyQuota, waitingStatuses } from "../model/Message.ts"
import type { Message, QuotaLimit } from "../model/Message.ts"
import type { TimelineFacts } from "../model/Timeline.ts"
import type { WaitingFilter } from "../store/MessageStore.ts"
import { Messages } from "./Messages.ts"
import type { CancelledMany } from "./Messages.ts"
import { waitsFor } from "./waitsFor.ts"
import type { WaitsFor } from "./waitsFor.ts"
import { timelineEntries, timelineLimit } from "../model/Timeline.ts"
import type { TimelineEntry } from "../model/Timeline.ts"

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

/** What one call cancels at most. */
const cancelledAtOnce = 1000

const CancelFilter = Schema.Struct({
  status: described(Schema.optionalKey(Schema.Literals(waitingStatuses)), "Default: both."),
  from: described(Schema.optionalKey(IdInput), "Id of the sending number."),
  to: Schema.optionalKey(
    parsed("invalid_phone", parsePhone, {
      ...phoneDescribed,
      description: "The recipient's phone, E.164 with a leading +.",
    }),
  ),
  since: described(Schema.optionalKey(InstantInput), "Created then or later."),
  until: described(Schema.optionalKey(InstantInput), "Created before."),
})
  .check(
    Schema.makeFilter(
      (filter) => (Object.keys(filter).length === 0 ? "must have a field" : undefined),
      { toJsonSchema: () => ({ minProperties: 1 }) },
    ),
  )
  .annotate({ identifier: "CancelFilter" })

/** The body of POST …/messages/cancel. */
export const CancelBody = Schema.Struct({
  ids: described(
    Schema.optionalKey(idsUpTo(cancelledAtOnce)),
    "Messages of either mode; either these or `filter`.",
  ),
  filter: described(Schema.optionalKey(CancelFilter), "Waiting messages, the first by id."),
  mode: described(Schema.optionalKey(Schema.Literals(["live", "test"])), "Of `filter`.", {
    default: "live",
  }),
})
  .check(idsOrFilter)
  .annotate({ identifier: "CancelMessages", description: "Exactly one of `ids` and `filter`." })

/** Which waiting messages to cancel. */
export type CancelMessages = CommandOf<typeof CancelBody.Encoded>

const cancelCodes = ["invalid_phone", "invalid_datetime"] as const

const decodeCancel = inputDecoder(CancelBody, { codes: cancelCodes })

type CancelCode = WorkspaceCode | "validation_failed" | (typeof cancelCodes)[number]

const waitingFilter = ({
  from,
  since,
  status,
  to,
  until,
}: typeof CancelFilter.Type): WaitingFilter => ({
  statuses: status === undefined ? waitingStatuses : [status],
  from: (from ?? null) as NumberId | null,
  phone: to ?? null,
  since: boundMillis(since),
  until: boundMillis(until),
})

/** What one call did. */
export interface CancelledSome extends CancelledMany {
  /** Whether the filter has more. */
  readonly more: boolean
}

interface Reading {
  readonly store: Store["Service"]
  readonly dailyLimit: QuotaLimit
  /** Whether numbers are simulated phones, which keep no connection. */
  readonly simulated: boolean
}

/** Until when the message's campaign holds it; null when it does not. */
const heldByCampaign = Effect.fnUntraced(function* heldByCampaign(
  { campaigns }: Store["Service"],
  { campaign: origin }: Message,
) {
  if (origin === null) return null
  const now = yield* Clock.currentTimeMillis
  const campaign = (yield* campaigns.check([origin.id], now, 0))[0]?.campaign
  if (campaign?.isHolding !== true) return null
  return { until: campaign.state === "running" ? hoursAt(campaign, now).changesAt : null }
})

const readWaiting = Effect.fnUntraced(function* readWaiting(
  { dailyLimit, simulated, store }: Reading,
  { ahead, message, newChatsUntil }: TimelineFacts,
): Effect.fn.Return<Timeline["waiting"], StoreUnavailable> {
  if (message.state !== "waiting") return null
  const { from, id, workspaceId } = message
  const isHeld = yield* store.system.isHeld(id)
  const campaign = yield* heldByCampaign(store, message)
  const readAt = yield* Clock.currentTimeMillis
  const facts = yield* store.numbers.connection(workspaceId, from.id, readAt, dailyLimit)
  const now = yield* Clock.currentTimeMillis
  if (facts === null) return null
  const poolsConnections = !simulated && facts.number.mode === "live"
  const reasons = waitsFor(message, facts, now, poolsConnections, isHeld, campaign, newChatsUntil)
  return reasons === null ? null : { for: reasons, ahead }
})

const readTimeline = Effect.fnUntraced(function* readTimeline(
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
  const waiting = yield* readWaiting(reading, facts)
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
     * POST /workspaces/{id}/messages/cancel: as `cancel`, of at most 1,000. Waits up to 5 s in total for
     * those that are being sent.
     */
    cancelMany(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      command: CancelMessages,
    ): Effect.Effect<CancelledSome, Failure<CancelCode>>
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
        dailyLimit: yield* DailyQuota,
        simulated: yield* ConnectedFromTheStart,
      }
      return MessageOperations.of({
        timeline: Effect.fn("MessageOperations.timeline")(
          function* timeline(role, workspaceId, id) {
            const workspace = yield* workspaces.get(workspaceId)
            return yield* readTimeline(reading, role, workspace.id, id)
          },
        ),
        cancelMany: Effect.fn("MessageOperations.cancelMany")(
          function* cancelMany(role, workspaceId, command) {
            const { id } = yield* workspaces.within(role, workspaceId, "messages")
            const { filter, ids, mode = "live" } = yield* Effect.fromResult(decodeCancel(command))
            const now = yield* Clock.currentTimeMillis
            yield* refuseFuture(boundMillis(filter?.since), now, "filter.since")
            const chosen =
              filter === undefined
                ? ((ids ?? []) as ReadonlyArray<MessageId>)
                : yield* reading.store.messages.waitingIds(
                    id,
                    mode,
                    waitingFilter(filter),
                    now,
                    cancelledAtOnce + 1,
                  )
            const batch = chosen.slice(0, cancelledAtOnce)
            const done = yield* messages.cancelAllIn(id, batch)
            return { ...done, more: chosen.length > batch.length }
          },
        ),
        cancel: Effect.fn("MessageOperations.cancel")(function* cancel(role, workspaceId, id) {
          const workspace = yield* workspaces.within(role, workspaceId, "messages")
          return yield* messages.cancelIn(workspace.id, id)
        }),
      })
    }),
  )
}
