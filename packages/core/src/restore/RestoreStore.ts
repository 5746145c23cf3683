/**
 * A store that went back in time: it was restored from a backup, or a standby that lagged took over. Each
 * such return begins an epoch. Ids given before it may be known outside, so those of the new epoch stand
 * above them; and what waited then may have left already, so it is held until an operator releases it.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { MessageId, NumberId, WorkspaceId } from "../Ids.ts"
import type { Message } from "../message/Message.ts"
import type { Reminder } from "../reminder/Reminder.ts"
import type { PageOf, PageQuery } from "../request/Page.ts"

/** How far ids move on at least when an epoch begins: more than a backup's age gives out. */
export const idsSkipped = 1_048_576

export interface Epoch {
  /** From 1, the one before any restore. */
  readonly epoch: number
  /** Whether it has accepted a message. Of the first epoch it says nothing. */
  readonly hasAccepted: boolean
}

/** Whether another epoch may begin without a word that it is meant. */
export const mayBeginEpoch = ({ epoch, hasAccepted }: Epoch): boolean => epoch === 1 || !hasAccepted

export interface HeldFilter {
  readonly from: NumberId | null
  /** Created at or after. */
  readonly since: number | null
  /** Created before. */
  readonly until: number | null
}

/** Messages of which a process knows what the store must know of them: those since it last looked. */
export interface SeenMessages {
  /** Accepted, and committed. */
  readonly accepted: ReadonlyArray<MessageId>
  /** Ended, and committed. */
  readonly ended: ReadonlyArray<MessageId>
}

/** How far ids of a kind have come. */
interface IdPosition {
  /** The highest that may have been given out. */
  readonly given: number
  /** The highest of a commit. */
  readonly highest: number
}

/** Why a commit that was acknowledged could be lost with the server that acknowledged it. */
export const storeRisks = ["asynchronous_commit", "asynchronous_standby"] as const

export type StoreRisk = (typeof storeRisks)[number]

/** How far a shared store has come. */
export interface StorePosition {
  readonly epoch: number
  readonly messages: IdPosition
  readonly events: IdPosition
  /** Tells one start of a server from others. */
  readonly server: string
  readonly risks: ReadonlyArray<StoreRisk>
  /** The first of the accepted messages that is not there; null when all are. */
  readonly missing: MessageId | null
  /** The first of the ended messages that waits; null when none does. */
  readonly waitsAgain: MessageId | null
}

/** Which of what a workspace holds. Ids name messages; reminders are found by filters alone. */
export type HeldSelection =
  | { readonly ids: ReadonlyArray<MessageId> }
  | { readonly filter: HeldFilter }

export interface HeldCount {
  readonly workspaceId: WorkspaceId
  readonly messages: number
  readonly reminders: number
}

/** A reminder that was due when the epoch began. */
export interface HeldReminder {
  readonly reminder: Reminder
  /** When that run was due. */
  readonly dueAt: number
}

export class RestoreStore extends Context.Service<
  RestoreStore,
  {
    readonly epoch: Effect.Effect<Epoch, StoreUnavailable>
    /**
     * Begins the epoch behind `epoch`: ids of every kind move on by `idsSkipped`, and beyond `above`;
     * what waits is held, test messages too, and so are reminders whose next run has come. No earlier
     * lease counts any more. What was in the hands of a transport is not held: it stays the first of its
     * lane, due at once, with as many interruptions as end a message (`maximumInterruptions`). What waits
     * for a removed number is left to be cancelled. The new epoch; null when another one has begun meanwhile.
     */
    begin(command: {
      readonly epoch: number
      readonly above: number
      readonly now: number
    }): Effect.Effect<number | null, StoreUnavailable>
    /** Of each workspace that has any, by its id. */
    readonly counts: Effect.Effect<ReadonlyArray<HeldCount>, StoreUnavailable>
    /** Newest first, of both modes. */
    list(
      workspaceId: WorkspaceId,
      page: PageQuery,
    ): Effect.Effect<PageOf<Message>, StoreUnavailable>
    /** Those of the selection that are held, oldest first. */
    messages(
      workspaceId: WorkspaceId,
      selection: HeldSelection,
      limit: number,
    ): Effect.Effect<ReadonlyArray<Message>, StoreUnavailable>
    /** Oldest first. */
    reminders(
      workspaceId: WorkspaceId,
      filter: HeldFilter,
      limit: number,
    ): Effect.Effect<ReadonlyArray<HeldReminder>, StoreUnavailable>
    /**
     * The messages leave like any others from now on, in the order in which they fell due; those of one
     * workspace. Returns the ids of those that were held.
     */
    release(
      messages: ReadonlyArray<Message>,
      now: number,
    ): Effect.Effect<ReadonlySet<MessageId>, StoreUnavailable>
    isHeld(id: MessageId): Effect.Effect<boolean, StoreUnavailable>
    /** Null for a store inside this process, which nothing restores under it. */
    position(seen: SeenMessages): Effect.Effect<StorePosition | null, StoreUnavailable>
  }
>()("core/RestoreStore") {}
