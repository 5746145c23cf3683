/** What operators set for a number, and the port that keeps numbers. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Callback } from "../callback/Callback.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberId, WorkspaceId } from "../Ids.ts"
import type { QuotaLimit } from "../message/Quota.ts"
import type { ConnectionFacts, ConnectionReport } from "./Connection.ts"
import type { Pacing } from "./Pacing.ts"
import type { ConnectionReason, NumberStatus, SendingNumber } from "./SendingNumber.ts"

/** A proxy that a number's connection goes through, as it is kept: its URL is sealed. */
export interface SealedProxy {
  readonly host: string
  readonly port: number
  /** See `proxyPlace`. */
  readonly url: string
}

/** What operators set for a number beside its label. */
export interface NumberSettings {
  /** Null: it is not paced. */
  readonly pacing: Pacing | null
  readonly proxy: SealedProxy | null
}

/** What is left out stays as it is. */
export interface NumberChange extends Partial<Pick<NumberSettings, "proxy">> {
  readonly label?: string
  readonly pacing?: Partial<Pacing>
}

/** What became of a number that was to be made unless it is there. */
export type NumberInsertion =
  | { readonly _tag: "Inserted"; readonly number: SendingNumber }
  /** The oldest that is the same. */
  | { readonly _tag: "Exists"; readonly id: NumberId }

/** Each number has one lane, made and removed with it. */
export class NumberStore extends Context.Service<
  NumberStore,
  {
    insert(
      number: Omit<SendingNumber, "id">,
      pacing?: Pacing | null,
    ): Effect.Effect<SendingNumber, StoreUnavailable>
    /**
     * As `insert`, unless another number of the workspace that was not removed is the same one
     * (`isSameNumber`). Of several at once that are the same, one is made.
     */
    insertNew(
      number: Omit<SendingNumber, "id">,
      pacing: Pacing | null,
    ): Effect.Effect<NumberInsertion, StoreUnavailable>
    /** Null when unknown, removed, or of another workspace. */
    get(
      workspaceId: WorkspaceId,
      id: NumberId,
    ): Effect.Effect<SendingNumber | null, StoreUnavailable>
    /** Whatever its workspace; for the transports and the emulator. Null when unknown or removed. */
    find(id: NumberId): Effect.Effect<SendingNumber | null, StoreUnavailable>
    /**
     * Where the number's connection is reported; null when nowhere, and when the number is unknown or
     * removed.
     */
    callbackUrl(id: NumberId): Effect.Effect<string | null, StoreUnavailable>
    /** Oldest first. */
    list(workspaceId: WorkspaceId): Effect.Effect<ReadonlyArray<SendingNumber>, StoreUnavailable>
    /** Those of the numbers that are known and not removed. */
    settings(
      ids: ReadonlyArray<NumberId>,
    ): Effect.Effect<ReadonlyMap<NumberId, NumberSettings>, StoreUnavailable>
    /**
     * Changes label, pacing and proxy; of changes at once none is lost. With another pacing the limits
     * of the lane are looked at anew; a rest that has begun goes on. Null when unknown, removed, or of
     * another workspace.
     */
    change(
      workspaceId: WorkspaceId,
      id: NumberId,
      change: NumberChange,
      now: number,
    ): Effect.Effect<SendingNumber | null, StoreUnavailable>
    /**
     * The number connects, is being connected or drops out: its lane becomes claimable or rests, in
     * the same commit. `phone` undefined keeps the stored one. Any status but `connecting` ends the
     * attempt at linking it. The callback is written if the status really changes and the number is
     * still one that reports there. `reason` tells why it dropped out. Null when unknown or removed.
     */
    setStatus(
      id: NumberId,
      status: NumberStatus,
      phone: string | undefined,
      now: number,
      callback?: Callback | null,
      reason?: ConnectionReason | null,
    ): Effect.Effect<SendingNumber | null, StoreUnavailable>
    /**
     * Removes the number and closes its lane: nothing new is accepted or claimed; its waiting
     * messages become stranded, an attempt at linking it ends. False when unknown or already removed.
     */
    remove(
      workspaceId: WorkspaceId,
      id: NumberId,
      now: number,
    ): Effect.Effect<boolean, StoreUnavailable>
    /** All that tells of a number's connection. Null when unknown, removed, or of another workspace. */
    connection(
      workspaceId: WorkspaceId,
      id: NumberId,
      now: number,
      sendCap: QuotaLimit,
    ): Effect.Effect<ConnectionFacts | null, StoreUnavailable>
    /** Keeps how connections stand, as the worker knows it that has them. */
    reportConnections(
      reports: ReadonlyArray<ConnectionReport>,
      now: number,
    ): Effect.Effect<void, StoreUnavailable>
  }
>()("core/NumberStore") {}
