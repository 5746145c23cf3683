/**
 * The port that stores messages. One read loads every fact that acceptance needs; one guarded
 * commit writes its decision. Other operations serve reads, cancels and sweeps. The port holds no
 * rules: limits and times come with each call.
 */
import type { Effect } from "effect"
import type {
  Acceptance,
  AcceptanceFacts,
  AcceptanceOutcome,
  AcceptanceQuery,
} from "../model/accept.ts"
import type { CallerScope } from "../model/Auth.ts"
import type { IdempotencyClaim } from "../model/Idempotency.ts"
import type { MessageEvent } from "../model/Event.ts"
import type { MessageId, NumberId, TransportId, WorkspaceId } from "../model/Ids.ts"
import type {
  Message,
  MessageErrorCode,
  MessageStatus,
  Tick,
  WaitingStatus,
} from "../model/Message.ts"
import type { MessageChange } from "../model/MessageChange.ts"
import type { PageOf, PageQuery } from "../model/Page.ts"
import type { Phone } from "../model/Recipient.ts"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { TimelineFacts } from "../model/Timeline.ts"
import type { Mode } from "../model/Workspace.ts"

/** A refused message that is stored as failed. */
export interface RefusedMessage {
  readonly workspaceId: WorkspaceId
  readonly numberId: NumberId
  /** Its final state, given the id from the store. */
  readonly ended: (id: MessageId) => MessageChange
}

export interface MessageFilter {
  /** `now` separates `queued` from `scheduled`. Null for all. */
  readonly statuses: ReadonlyArray<MessageStatus> | null
  readonly from: NumberId | null
  readonly phone: Phone | null
  readonly reference: string | null
  /** Messages that failed with it. */
  readonly error: MessageErrorCode | null
  readonly since: number | null
  /** Exclusive. */
  readonly until: number | null
}

/** Leaves out no message. */
export const everyMessage: MessageFilter = {
  statuses: null,
  from: null,
  phone: null,
  reference: null,
  error: null,
  since: null,
  until: null,
}

/** What to look for in texts. */
export interface TextSearch {
  /** A regular expression (see `textPattern`). */
  readonly pattern: string
  /** How many texts to look at. */
  readonly most: number
}

export interface SearchedPage extends PageOf<Message> {
  /** When the oldest message that was looked at was created; null for none. */
  readonly lookedUntil: number | null
}

/** Which waiting messages of a workspace to select. */
export interface WaitingFilter extends Pick<MessageFilter, "from" | "phone" | "since" | "until"> {
  readonly statuses: ReadonlyArray<WaitingStatus>
}

export interface FoundMessage {
  readonly message: Message
  /** A transport has it: it can no longer be cancelled, and its outcome is open. */
  readonly inFlight: boolean
}

/** How much of a message's history to read. */
export interface TimelineQuery {
  readonly workspaceId: WorkspaceId
  readonly id: MessageId
  readonly now: number
  /** Attempts and deliveries, of each. */
  readonly limit: number
  /** Messages before it to count. */
  readonly mostAhead: number
}

/** A tick that a message is to get. */
export interface AwaitedTick {
  readonly numberId: NumberId
  readonly transportId: TransportId
  readonly tick: Tick
}

export interface MessageStore {
  /** One round trip: claims the `Idempotency-Key`, if any, and reads all facts. */
  loadAcceptance(query: AcceptanceQuery): Effect.Effect<AcceptanceFacts, StoreUnavailable>
  /**
   * Writes the whole acceptance or nothing: messages, allowance, quota and the finished
   * idempotency record. Guards, in order: the claim is held (`idempotency`); the contacts that
   * messages name exist (`contact`); number and workspace exist (`number`); allowance is left (`allowance`); the quota has room (`quota`, see
   * `fitsExactly`).
   */
  accept(acceptance: Acceptance): Effect.Effect<AcceptanceOutcome, StoreUnavailable>
  /**
   * Writes a refused message as failed, with its event and callback, in one commit. It uses no
   * allowance and no quota. Null when its number or workspace was removed.
   */
  insertRefused(refused: RefusedMessage): Effect.Effect<MessageChange | null, StoreUnavailable>
  /** Releases the claim of a refused request, if this request still holds it. */
  releaseClaim(claim: IdempotencyClaim): Effect.Effect<void, StoreUnavailable>
  get(scope: CallerScope, id: MessageId): Effect.Effect<FoundMessage | null, StoreUnavailable>
  /** In the order of `ids`; omits unknown ones. */
  byIds(ids: ReadonlyArray<MessageId>): Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>
  /** Newest first. */
  list(
    scope: CallerScope,
    filter: MessageFilter,
    page: PageQuery,
    now: number,
  ): Effect.Effect<PageOf<Message>, StoreUnavailable>
  /**
   * As `list`, of messages with matching text. It looks at the newest `most` that the filter leaves, and stops
   * once the page is full; `next` is null at the end of the list alone.
   */
  search(
    scope: CallerScope,
    filter: MessageFilter,
    search: TextSearch,
    page: PageQuery,
    now: number,
  ): Effect.Effect<SearchedPage, StoreUnavailable>
  /** The first of the workspace's waiting messages in that mode, by id. */
  waitingIds(
    workspaceId: WorkspaceId,
    mode: Mode,
    filter: WaitingFilter,
    now: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<MessageId>, StoreUnavailable>
  /** Those of the workspace, of either mode, by id; omits unknown ones. */
  found(
    workspaceId: WorkspaceId,
    ids: ReadonlyArray<MessageId>,
  ): Effect.Effect<ReadonlyArray<FoundMessage>, StoreUnavailable>
  /**
   * Ends waiting messages without a lease: cancels, expiries, test mode. Each must still be
   * waiting and not in flight. One commit writes state, event and refunds; returns the ids that
   * it ended. It waits for a number if a caller's transaction holds its lane, unless
   * `passesOver` leaves its messages for the next time. In a caller's transaction it takes one change.
   */
  end(
    changes: ReadonlyArray<MessageChange>,
    options?: { readonly passesOver?: boolean },
  ): Effect.Effect<ReadonlySet<MessageId>, StoreUnavailable>
  /** Waiting, not in flight, `expiresAt` reached; earliest first. Live and test. */
  expired(now: number, limit: number): Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>
  /**
   * Due, unexpired test messages of enabled workspaces, in the order of due times. At most
   * `perWorkspace` of each, so that no workspace blocks another.
   */
  dueTest(
    now: number,
    limit: number,
    perWorkspace: number,
  ): Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>
  /** Waiting, not in flight, number or workspace removed; live and test. */
  orphaned(limit: number): Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>
  /**
   * Applies a tick to the number's message, if its state allows it (see `movedByTick`), with the
   * time, and with the event that `toEvent` makes of the moved message where conversations are on.
   * Of a message that waits it is kept (see `earlyTicks`). Returns the message afterwards; null when
   * the number has none with that id.
   */
  tick(
    numberId: NumberId,
    transportId: TransportId,
    tick: Tick,
    now: number,
    toEvent?: (moved: Message) => MessageEvent,
  ): Effect.Effect<Message | null, StoreUnavailable>
  /** Ticks that came before their message was known to have left, which it has by now. */
  earlyTicks(limit: number): Effect.Effect<ReadonlyArray<AwaitedTick>, StoreUnavailable>
  /** Those of test messages that are due where conversations are on (see `nextTestTick`). */
  dueTestTicks(
    now: number,
    limit: number,
  ): Effect.Effect<ReadonlyArray<AwaitedTick>, StoreUnavailable>
  /** Of either mode; null when the workspace has no such message. */
  timeline(query: TimelineQuery): Effect.Effect<TimelineFacts | null, StoreUnavailable>
  /** The number's message with that transport id; null when it has none. */
  byTransportId(
    numberId: NumberId,
    transportId: TransportId,
  ): Effect.Effect<Message | null, StoreUnavailable>
}
