/**
 * The port that keeps messages: the facts that acceptance needs in one read, its whole decision in
 * one guarded commit, and what reads, cancels and sweeps need. It holds no rule: limits and times
 * come with each call.
 */
import { Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/Refusal.ts"
import type { MessageChange } from "../event/MessageChange.ts"
import type { ContactId, MediaId, MessageId, NumberId, TransportId, WorkspaceId } from "../Ids.ts"
import type { CallerScope } from "../key/Auth.ts"
import type { MediaFile } from "../media/Media.ts"
import type { SendingNumber } from "../number/SendingNumber.ts"
import type { Contact, Phone } from "../recipient/Recipient.ts"
import type { ClaimOutcome, IdempotencyClaim } from "../request/Idempotency.ts"
import type { PageOf, PageQuery } from "../request/Page.ts"
import type { Mode, Plan } from "../workspace/Workspace.ts"
import type { Message, MessageStatus, PlannedQuota, QuotaFacts, Tick } from "./Message.ts"

export interface AcceptanceQuery {
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly now: number
  /** The number the request names; null to learn the connected ones. */
  readonly from: NumberId | null
  /** Phones whose saved contact is wanted. */
  readonly phones: ReadonlyArray<Phone>
  readonly contactIds: ReadonlyArray<ContactId>
  readonly mediaId: MediaId | null
  /**
   * Count a number's planned messages exactly, around this planned time; when null the bound will
   * do. A `numberId` of null asks for every connected number, and the facts then hold them all.
   */
  readonly exactQuota: {
    readonly numberId: NumberId | null
    readonly planned: PlannedQuota
  } | null
  readonly idempotency: IdempotencyClaim | null
}

export interface NumberFacts {
  readonly number: SendingNumber
  readonly quota: QuotaFacts
}

/**
 * How many connected numbers of each platform the facts hold at most, unless all are counted: two are
 * enough to know that a request has to name one.
 */
export const connectedShown = 2

export interface AcceptanceFacts {
  /** Null without an `Idempotency-Key`. A claim that is refused leaves the other facts unread. */
  readonly claim: ClaimOutcome | null
  readonly plan: Plan | null
  /** The number of `from`; null when not asked for or no number of the workspace. */
  readonly named: NumberFacts | null
  /** At most `connectedShown` of each platform unless all are counted, oldest first; empty with a `from`. */
  readonly connected: ReadonlyArray<NumberFacts>
  /** The oldest contact with each phone. */
  readonly contactIdByPhone: ReadonlyMap<Phone, ContactId>
  readonly contacts: ReadonlyMap<ContactId, Contact>
  readonly media: MediaFile | null
}

/** A message as acceptance decides it; the store gives it its id. */
export type NewMessage = Omit<Message, "id" | "state" | "sentAt" | "error">

export interface Acceptance {
  readonly now: number
  /** All of one workspace, one number and one planned time. Never empty. */
  readonly messages: ReadonlyArray<NewMessage>
  readonly workspaceId: WorkspaceId
  readonly numberId: NumberId
  readonly mode: Mode
  /** Allowance to take; 0 for test messages. */
  readonly allowance: number
  /** Quota to take; null for test messages. */
  readonly quota: PlannedQuota | null
  readonly idempotency: IdempotencyClaim | null
}

/** Which precondition no longer held; nothing was written. */
export type BrokenGuard = "allowance" | "quota" | "number" | "idempotency"

export type AcceptanceOutcome =
  | { readonly _tag: "Accepted"; readonly ids: ReadonlyArray<MessageId> }
  | { readonly _tag: "Broken"; readonly guard: BrokenGuard }

/** A message that is stored although it was refused. */
export interface RefusedMessage {
  readonly workspaceId: WorkspaceId
  readonly numberId: NumberId
  /** How it has ended, under the id that the store gives it. */
  readonly ended: (id: MessageId) => MessageChange
}

export interface MessageFilter {
  /** `now` decides which waiting messages are `queued` and which `scheduled`. Null for all. */
  readonly statuses: ReadonlyArray<MessageStatus> | null
  readonly from: NumberId | null
  readonly phone: Phone | null
  /** Created at or after. */
  readonly since: number | null
  /** Created before. */
  readonly until: number | null
}

export interface FoundMessage {
  readonly message: Message
  /** In the hands of a transport: no longer waiting, though not settled. */
  readonly inFlight: boolean
}

export class MessageStore extends Context.Service<
  MessageStore,
  {
    /** One round trip: claims the `Idempotency-Key` when there is one and reads all facts. */
    loadAcceptance(query: AcceptanceQuery): Effect.Effect<AcceptanceFacts, StoreUnavailable>
    /**
     * Writes the whole acceptance or nothing: messages, allowance, quota, the finished idempotency
     * record. Guards, in this order: the claim is still held (`idempotency`), the number is not removed
     * nor its workspace deleted (`number`), the allowance is left (`allowance`), the quota has room
     * (`quota`, exactly as `Quota.ts` says).
     */
    accept(acceptance: Acceptance): Effect.Effect<AcceptanceOutcome, StoreUnavailable>
    /**
     * Writes a message that was refused, as it has ended, with its event and its callback in one
     * commit. It takes nothing: no allowance, and no count of the number's quota sees it. Guard: the
     * number is not removed nor its workspace deleted; null when it is.
     */
    insertRefused(refused: RefusedMessage): Effect.Effect<MessageChange | null, StoreUnavailable>
    /** Frees a claim of a refused request, if it is still this one's. */
    releaseClaim(claim: IdempotencyClaim): Effect.Effect<void, StoreUnavailable>
    get(scope: CallerScope, id: MessageId): Effect.Effect<FoundMessage | null, StoreUnavailable>
    /** In the order of `ids`; unknown ones are left out. */
    byIds(ids: ReadonlyArray<MessageId>): Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>
    /** Newest first. */
    list(
      scope: CallerScope,
      filter: MessageFilter,
      page: PageQuery,
      now: number,
    ): Effect.Effect<PageOf<Message>, StoreUnavailable>
    /**
     * Ends waiting messages outside of a lane's lease: cancels, expiries, test mode. Guard for each
     * on its own: still waiting and not in flight. Writes state, event, allowance and quota given
     * back in one commit; returns the ids of those that were still waiting.
     */
    end(
      changes: ReadonlyArray<MessageChange>,
    ): Effect.Effect<ReadonlySet<MessageId>, StoreUnavailable>
    /** Waiting, not in flight, `expiresAt` reached; earliest first. Live and test. */
    expired(now: number, limit: number): Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>
    /**
     * Waiting test messages that are due and not expired, of workspaces that are not disabled; in the
     * order in which they fell due. At most `perWorkspace` of each workspace, so that what waits of one
     * keeps back none of another.
     */
    dueTest(
      now: number,
      limit: number,
      perWorkspace: number,
    ): Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>
    /** Waiting, not in flight, whose number was removed or workspace deleted; live and test. */
    orphaned(limit: number): Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>
    /**
     * A tick that a number heard: moves its message of that id on, if it moves on from its state (see
     * `movedByTick`). The message as it then stands; null when the number has none of that id.
     */
    tick(
      numberId: NumberId,
      transportId: TransportId,
      tick: Tick,
    ): Effect.Effect<Message | null, StoreUnavailable>
    /** The number's message that transports know by that id; null when it has none. */
    byTransportId(
      numberId: NumberId,
      transportId: TransportId,
    ): Effect.Effect<Message | null, StoreUnavailable>
  }
>()("core/MessageStore") {}

// The texts of messages that left, for live transports: a recipient who could not read a message asks
// for it again, perhaps long after and of another process. A text stands in its message; what became
// of media is the transport's to keep.

export class SentTexts extends Context.Service<
  SentTexts,
  {
    /** Null where the number has no such message, or one with media. */
    of(numberId: NumberId, transportId: TransportId): Effect.Effect<string | null, StoreUnavailable>
  }
>()("core/SentTexts") {
  static readonly layer = Layer.effect(
    SentTexts,
    Effect.map(MessageStore, (messages) =>
      SentTexts.of({
        of: (numberId, transportId) =>
          Effect.map(messages.byTransportId(numberId, transportId), (message) =>
            message === null || message.media !== null ? null : message.text,
          ),
      }),
    ),
  )
}
