/**
 * The share of a workspace in the requests under way: slow ones of one workspace (uploads, downloads
 * of media links) leave the places of the others alone.
 */
import { refuse } from "@messaging-service/core"
import type { RefusingPlaces, Refusal, WorkspaceId } from "@messaging-service/core"
import { Effect } from "effect"
import type { Scope } from "effect"

/** There is no room for the request now; a second later there may be. */
export const serviceBusy = refuse("service_unavailable", { retryAfter: 1 })

const shareUsedUp = refuse("service_unavailable", {
  message:
    "The workspace has too many requests under way. Retry after the seconds of `Retry-After`.",
  retryAfter: 1,
})

/** Takes a place of the workspace's share until the scope closes; fails when there is none. */
export const takeWorkspaceShare = (
  places: RefusingPlaces<WorkspaceId>,
  workspace: WorkspaceId,
): Effect.Effect<void, Refusal, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.suspend(() => (places.takeShare(workspace) ? Effect.void : Effect.fail(shareUsedUp))),
      () => Effect.sync(() => places.giveBackShare(workspace)),
    ),
  )
