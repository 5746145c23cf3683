/** The port that keeps workspaces. */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { WorkspaceId } from "../Ids.ts"
import type { Pacing } from "../number/Pacing.ts"
import type { SendingNumber } from "../number/SendingNumber.ts"
import type { PageOf, PageQuery } from "../request/Page.ts"
import type { Admits, Workspace } from "./Workspace.ts"

export type NewWorkspace = Omit<Workspace, "id" | "deletedAt">

/** The fields that change; `plan` is replaced as a whole. */
export type WorkspaceChange = Partial<
  Pick<Workspace, "name" | "demo" | "accountDisabled" | "apiV2Enabled" | "plan" | "retentionDays">
>

/** A number that a workspace is to have, as it is made where it is missing. */
export interface WantedNumber {
  readonly number: Omit<SendingNumber, "id" | "workspaceId">
  readonly pacing: Pacing | null
}

export class WorkspaceStore extends Context.Service<
  WorkspaceStore,
  {
    /** `admits` is kept beside the workspace for `KeyStore`: does a request with its key count? */
    insert(workspace: NewWorkspace, admits: Admits): Effect.Effect<Workspace, StoreUnavailable>
    /**
     * The oldest workspace of that name, which is made as given when there is none, with those of the
     * numbers added that it lacks (by platform, mode and phone); whatever else it has stays as it is.
     * One atomic step: however many processes call it at once, there is one workspace, and each number
     * once.
     */
    ensure(
      workspace: NewWorkspace,
      admits: Admits,
      numbers: ReadonlyArray<WantedNumber>,
    ): Effect.Effect<Workspace, StoreUnavailable>
    /** Null when unknown or deleted. */
    get(id: WorkspaceId): Effect.Effect<Workspace | null, StoreUnavailable>
    /** Newest first, deleted ones left out. */
    list(query: PageQuery): Effect.Effect<PageOf<Workspace>, StoreUnavailable>
    /**
     * Reads, applies `decide` and writes in one atomic step, so that no concurrent change is lost.
     * Null when unknown or deleted. Once `accountDisabled` is true nothing of the workspace leaves:
     * its lanes are due no more (see `stoppedUntil`) nor are its test messages. Once it is false
     * again, they are.
     */
    update(
      id: WorkspaceId,
      decide: (current: Workspace) => {
        readonly change: WorkspaceChange
        readonly admits: Admits
      },
      now: number,
    ): Effect.Effect<Workspace | null, StoreUnavailable>
    /**
     * Marks it deleted: its keys no longer admit, every lane of its numbers is removed (no further
     * claim, no further acceptance). Its waiting messages become stranded (`MessageStore.stranded`).
     * False when unknown or already deleted.
     */
    delete(id: WorkspaceId, now: number): Effect.Effect<boolean, StoreUnavailable>
    /** Whether no workspace was ever made. */
    isEmpty: Effect.Effect<boolean, StoreUnavailable>
  }
>()("core/WorkspaceStore") {}
