/**
 * What the store keeps of simulated phones, the remote server that numbers have in place of a platform: how each
 * phone behaves, which phones exist, and what was sent (contract: Emulator controls). There it survives a killed
 * process, and all workers share it. The emulator alone calls it.
 */
import type { Effect } from "effect"
import type { Addressed } from "../model/Incoming.ts"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type {
  MessageId,
  NumberId,
  ReceivedMessageId,
  TransportId,
  WorkspaceId,
} from "../model/Ids.ts"
import type { Phone } from "../model/Recipient.ts"
import type { PageOf, PageQuery } from "../model/Page.ts"
import type { OutgoingMedia } from "./Transport.ts"

export interface PhoneBehaviour {
  readonly send: "succeed" | "fail" | "hang" | "drop"
  /** The reason given when `send` is `fail`. */
  readonly errorMessage: string | null
  readonly latencyMillis: number
  /** Exact names of the groups that the number belongs to. */
  readonly groups: ReadonlyArray<string>
}

/** One copy that a recipient sees. */
export interface SentCopy {
  readonly id: number
  readonly transportId: TransportId
  /** Null for a transport id that belongs to no message. */
  readonly messageId: MessageId | null
  readonly numberId: NumberId
  /** That of the number. */
  readonly workspaceId: WorkspaceId
  /** The phone with `+`, the group's name, or the username. */
  readonly to: string
  readonly text: string
  readonly media: SentMedia | null
  /** The text of the message that it quotes; absent without one. */
  readonly quote?: string
  readonly at: number
}

/** What reaches a phone. */
export type ReceivedCopy = Omit<SentCopy, "id" | "messageId" | "workspaceId">

/** A received message, as the platform knows it. */
export interface WrittenMessage {
  readonly id: ReceivedMessageId
  readonly numberId: NumberId
  readonly message: Addressed
  readonly text: string
}

/** Which copies; null: all. */
export interface SentFilter {
  readonly numberId: NumberId | null
  readonly workspaceId: WorkspaceId | null
  readonly to: string | null
}

export type SentMedia = Pick<OutgoingMedia, "fileName" | "mimeType" | "size" | "sha256">

export interface SimulatedPhones {
  /** Null when never set: the default. */
  behaviour(numberId: NumberId): Effect.Effect<PhoneBehaviour | null, StoreUnavailable>
  setBehaviour(numberId: NumberId, behaviour: PhoneBehaviour): Effect.Effect<void, StoreUnavailable>
  /** The phones that exist; null for the rule. */
  readonly registered: Effect.Effect<ReadonlyArray<Phone> | null, StoreUnavailable>
  setRegistered(phones: ReadonlyArray<Phone> | null): Effect.Effect<void, StoreUnavailable>
  /**
   * A copy reaches the remote server, which shows one for one transport id of a number: false when it
   * already had that copy. `then` replaces the number's behaviour in the same commit.
   */
  receive(copy: ReceivedCopy, then: PhoneBehaviour | null): Effect.Effect<boolean, StoreUnavailable>
  /** Null for a message that cannot be read any more. */
  written(id: ReceivedMessageId): Effect.Effect<WrittenMessage | null, StoreUnavailable>
  /** Newest first. */
  sent(filter: SentFilter, page: PageQuery): Effect.Effect<PageOf<SentCopy>, StoreUnavailable>
}
