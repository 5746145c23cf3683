/**
 * What the store keeps of received messages' files: which are to be fetched, with what, and where those are
 * that were (contract: Files of received messages). Their bytes are recorded with the media files.
 */
import type { Effect } from "effect"
import type { LeaseClaim, Shares } from "../model/Bulkhead.ts"
import type { NumberId, ReceivedMessageId, WorkspaceId } from "../model/Ids.ts"
import type { MediaFile, Reservation } from "../model/Media.ts"
import type { ReceivedFile, ReceivedFileState, StoredReceivedFile } from "../model/ReceivedFile.ts"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { Platform } from "../model/SendingNumber.ts"
import type { Owned } from "../model/Shards.ts"
import type { Mode } from "../model/Workspace.ts"

export interface FileClaimQuery extends LeaseClaim, Shares {
  readonly owned: Owned
}

/** A file to fetch. */
export interface ClaimedFile {
  readonly id: ReceivedMessageId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly numberId: NumberId
  readonly platform: Platform
  readonly remoteId: string
  readonly file: ReceivedFile
  /** Sealed. */
  readonly source: string
  readonly lease: number
  /** Since when it is tried. */
  readonly wantedAt: number
  /** 0 once the workspace has no conversations. */
  readonly maxFileBytes: number
}

export type FileSettlement = Pick<ClaimedFile, "id" | "lease"> &
  (
    | {
        /** The bytes of its reservation are kept: the message shows this from now on. */
        readonly _tag: "Ready"
        readonly file: StoredReceivedFile
      }
    | {
        /** It is not fetched any more; a reservation ends. */
        readonly _tag: "Ended"
        readonly state: Exclude<ReceivedFileState, "ready" | "remote" | "off">
      }
    /** It is due again; a reservation ends. */
    | { readonly _tag: "Again"; readonly dueAt: number }
  )

/** The file of a message that can be read. */
export interface FoundReceivedFile {
  readonly state: ReceivedFileState
  /** The file that is kept; null unless it is `ready`. */
  readonly stored: MediaFile | null
}

export interface ReceivedFileStore {
  /**
   * Files that are due, of numbers in `owned`, the longest due first, of each workspace its share at most.
   * Each is due again when its lease ends.
   */
  claim(query: FileClaimQuery): Effect.Effect<ReadonlyArray<ClaimedFile>, StoreUnavailable>
  /**
   * Records the file before its bytes are kept, in place of an earlier one. Guard: all received files
   * of the workspace in both modes, plus this one, are at most `maxStorageBytes`. Null once the lease is not
   * held, and where conversations are off.
   */
  reserve(
    claimed: Pick<ClaimedFile, "id" | "lease">,
    file: Omit<MediaFile, "id">,
  ): Effect.Effect<Reservation | null, StoreUnavailable>
  /** False, and nothing is written, once the lease is not held or the message is erased. */
  settle(settlement: FileSettlement): Effect.Effect<boolean, StoreUnavailable>
  /** Null for what is not read: unknown, erased, or without a file. */
  find(id: ReceivedMessageId): Effect.Effect<FoundReceivedFile | null, StoreUnavailable>
  /** Its link was called: it is due now, unless a worker has it. Whether it is. */
  request(id: ReceivedMessageId, now: number): Effect.Effect<boolean, StoreUnavailable>
}
