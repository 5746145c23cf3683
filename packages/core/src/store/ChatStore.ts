/** What the store keeps of conversations: settings, people, chats and what was received (contract: Conversations). */
import type { Effect } from "effect"
import type { Quote } from "../model/Answer.ts"
import type { ReplyTo } from "../model/Message.ts"
import type { CallerScope } from "../model/Auth.ts"
import type { ChatEntry, EntryPlace } from "../model/ChatEntry.ts"
import type { ConversationSettings, ReceivedStorage } from "../model/Conversation.ts"
import type { IdempotencyClaim } from "../model/Idempotency.ts"
import type { ChatId, EventId, NumberId, ReceivedMessageId, WorkspaceId } from "../model/Ids.ts"
import type { PageOf, PageQuery } from "../model/Page.ts"
import type { Addressed, NewReceived, ReceivedKind, ReceivedOutcome } from "../model/Incoming.ts"
import type { Chat, ReceivedMessage } from "../model/Received.ts"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { Platform } from "../model/SendingNumber.ts"
import type { Owned } from "../model/Shards.ts"
import type { ReadMark } from "./Transport.ts"

/** Settings with what is kept under them. */
export interface StoredConversations extends ConversationSettings {
  readonly stored: ReceivedStorage
}

/** Null fields leave out nothing. */
export interface ReceivedFilter {
  readonly numberId: NumberId | null
  /** That of a merged chat finds the messages of the one that continues. */
  readonly chatId: ChatId | null
  readonly kind: ReceivedKind | null
  /** By `receivedAt`. */
  readonly since: number | null
  /** Exclusive. */
  readonly until: number | null
}

/** Null fields leave out nothing. */
export interface ChatFilter {
  readonly numberId: NumberId | null
  /** E.164 with a leading +. */
  readonly phone: string | null
  readonly unread: boolean | null
}

/** What is erased of a workspace's conversations in a round. */
export interface ReceivedErasure {
  /** Of this workspace alone; null: of all. */
  readonly workspaceId: WorkspaceId | null
  readonly now: number
  /** Messages that a workspace keeps; the oldest beyond them go. */
  readonly most: number
  /** Chats that a workspace keeps; those without activity for longest go. */
  readonly mostChats: number
  /** Marks of messages that were erased before it go too. */
  readonly marksBefore: number
}

/** `next` is the place of the last one; null on the last page. */
export interface EntriesPage {
  readonly items: ReadonlyArray<ChatEntry>
  readonly next: EntryPlace | null
}

/** What happened to a chat that was to be marked as read, or the guard that did not hold. */
export type MarkedRead =
  | {
      readonly _tag: "Marked"
      /** How far it is read by now. */
      readonly upTo: ReceivedMessageId
    }
  | { readonly _tag: "Refused"; readonly guard: "idempotency" | "chat" | "message" }

/** A read mark on its way to the remote. */
export interface DueReadMark extends ReadMark {
  readonly platform: Platform
}

/** How far a remote knows a chat as read. */
export interface SettledReadMark {
  readonly chatId: ChatId
  readonly upTo: ReceivedMessageId
  readonly at: number
}

export interface ChatStore {
  /** Null while they are off, and for an unknown or deleted workspace. */
  conversations(
    workspaceId: WorkspaceId,
  ): Effect.Effect<StoredConversations | null, StoreUnavailable>
  /** Whether any workspace has them. */
  readonly anyConversations: Effect.Effect<boolean, StoreUnavailable>
  /**
   * Turns conversations on, or replaces their settings; `since` stays while they are on. Every change
   * that commits later announces itself. Null when the workspace is unknown or deleted.
   */
  putConversations(
    workspaceId: WorkspaceId,
    settings: ConversationSettings,
  ): Effect.Effect<StoredConversations | null, StoreUnavailable>
  /**
   * Turns them off; false when they are off. From then on nothing that was received is read;
   * `eraseReceived` erases it.
   */
  deleteConversations(
    workspaceId: WorkspaceId,
    now: number,
  ): Effect.Effect<boolean, StoreUnavailable>
  /**
   * Stores what happened in a number's chats, in that order, where its workspace has conversations
   * and keeps it (`isKept`). One commit, with the events and their deliveries. One outcome for each, in
   * their order.
   *
   * - Messages: people and chats, found by any address (`personAddresses`) and merged where a message
   *   tells that two of the number's are one; the message with the number's next `sequence`; its event
   *   (`receivedEvent`); the marks that drop its repeats (`receivedMarks`). Of two people, or two chats,
   *   the lower id stays. One that waits for a copy waits no more; one that was stored as `unreadable`
   *   gets what the copy says (`isRecovered`, `changedEvent`).
   * - Unreadable ones that are not stored: they wait, from the first time on, for `copyWaitMillis`.
   * - Changes of a stored message of the chat, by its author unless verified (`changedMessage`,
   *   `changedEvent`). Reactions: to a stored message or to one of this service (`changedReaction`,
   *   `reactionEvent`). `needsNoCopy` knows one that has an id of its own, whatever became of it.
   * - Gaps: their event alone (`gapEvent`).
   */
  receive(
    numberId: NumberId,
    received: ReadonlyArray<NewReceived>,
    now: number,
  ): Effect.Effect<ReadonlyArray<ReceivedOutcome>, StoreUnavailable>
  /**
   * Whether no copy of a message or a change is needed: it is stored, erased ones
   * included, or its group is not kept.
   */
  needsNoCopy(numberId: NumberId, message: Addressed): Effect.Effect<boolean, StoreUnavailable>
  /**
   * Stores messages as `unreadable` (`withoutCopy`) if their wait for a copy has ended by `now`, the
   * longest waiting first, at most as many as there are ids of events. How many waits ended, those of
   * workspaces that keep nothing any more included. A wait for a number that another transaction has
   * locked may be left for the next round.
   */
  endCopyWaits(
    now: number,
    eventIds: ReadonlyArray<EventId>,
  ): Effect.Effect<number, StoreUnavailable>
  /** Newest first; of numbers and modes of the scope. Erased ones are left out. */
  listReceived(
    scope: CallerScope,
    filter: ReceivedFilter,
    page: PageQuery,
  ): Effect.Effect<PageOf<ReceivedMessage>, StoreUnavailable>
  /** Those of the number with a higher `sequence`, lowest first. None appears later below one that was listed. */
  receivedAfter(
    scope: CallerScope,
    numberId: NumberId,
    after: number,
    kind: ReceivedKind | null,
    limit: number,
  ): Effect.Effect<ReadonlyArray<ReceivedMessage>, StoreUnavailable>
  getReceived(
    scope: CallerScope,
    id: ReceivedMessageId,
  ): Effect.Effect<ReceivedMessage | null, StoreUnavailable>
  /**
   * Erases text, content, file, quote, remote id, and its events with their pending deliveries;
   * `sequence` and marks stay. False when unknown or erased before.
   */
  deleteReceived(
    scope: CallerScope,
    id: ReceivedMessageId,
    now: number,
  ): Effect.Effect<boolean, StoreUnavailable>
  /**
   * What a message of the number quotes, as the remote knows it; null once it is erased or revoked.
   * Of a message only what has left.
   */
  quote(numberId: NumberId, replyTo: ReplyTo): Effect.Effect<Quote | null, StoreUnavailable>
  /** The latest activity first; pages continue from an `activity`. Merged and removed ones are left out. */
  listChats(
    scope: CallerScope,
    filter: ChatFilter,
    page: PageQuery,
  ): Effect.Effect<PageOf<Chat>, StoreUnavailable>
  /** A merged one names where it continues. */
  getChat(scope: CallerScope, id: ChatId): Effect.Effect<Chat | null, StoreUnavailable>
  /**
   * From now on it is unknown, and so is what was received in it; `eraseReceived` erases that. What
   * comes later begins another chat. False when unknown or removed before.
   */
  deleteChat(scope: CallerScope, id: ChatId, now: number): Effect.Effect<boolean, StoreUnavailable>
  /**
   * What was received in the chat, or in the one that continues in its place, and what left in it, the latest
   * first (see `EntryPlace`), behind that place. Null for a chat that is not shown.
   */
  listEntries(
    scope: CallerScope,
    id: ChatId,
    behind: EntryPlace | null,
    limit: number,
  ): Effect.Effect<EntriesPage | null, StoreUnavailable>
  /**
   * Marks the chat, or the one that continues in its place, as read up to that received message of it, never
   * back, and counts `unread`. The mark of a live chat is due from then on. Guards: `idempotency` the
   * claim holds, and is finished with both ids; `chat` it is shown; `message` is one of the chat.
   */
  markRead(
    scope: CallerScope,
    id: ChatId,
    upTo: ReceivedMessageId,
    now: number,
    claim: IdempotencyClaim | null,
  ): Effect.Effect<MarkedRead, StoreUnavailable>
  /**
   * Due chats of connected numbers of `owned`, the longest due first; merged and removed ones never. None of
   * them is due again before `until`, unless it is read further.
   */
  claimReadMarks(
    now: number,
    until: number,
    owned: Owned,
    limit: number,
  ): Effect.Effect<ReadonlyArray<DueReadMark>, StoreUnavailable>
  /** The remote has heard it; what was read further since remains due. */
  settleReadMark(mark: SettledReadMark): Effect.Effect<void, StoreUnavailable>
  /** The mark is not due before then. */
  postponeReadMark(id: ChatId, until: number): Effect.Effect<void, StoreUnavailable>
  /** Of the number's chats, the latest first; merged and removed ones are left out. */
  settledReadMarks(
    numberId: NumberId,
  ): Effect.Effect<ReadonlyArray<SettledReadMark>, StoreUnavailable>
  /**
   * Erases some of what is to go, as `deleteReceived` does: of workspaces with conversations off
   * or turned on since, of deleted workspaces and removed numbers, of removed chats, what is
   * older than its workspace's `retentionDays`, and the oldest beyond `most`; then chats without
   * messages and people without chats and messages. True while there may be more.
   */
  eraseReceived(erasure: ReceivedErasure): Effect.Effect<boolean, StoreUnavailable>
}
