/**
 * The share of a workspace in the requests under way: slow ones of one workspace (uploads, downloads
 * of media links) leave the places of the others alone.
 */
import { refuse } from "@messaging-service/core"
import type { Refusal, WorkspaceId } from "@messaging-service/core"
import type { RefusingPlaces } from "@messaging-service/core/ports"
import { Effect, Scope } from "effect"

/** There is no room for the request now; a second later there may be. */
export const serviceBusy = refuse("service_unavailable", { retryAfter: 1 })

const shareUsedUp = refuse("service_unavailable", {
  message:
    "The workspace has too many requests under way. Retry after the seconds of `Retry-After`.",
  retryAfter: 1,
})

/**
 * Takes a place of the workspace's share until the scope closes; fails when there is none. Not by
 * `Effect.acquireRelease`, which joins all services of the request anew to give it back.
 */
export const takeWorkspaceShare = (
  places: RefusingPlaces<WorkspaceId>,
  workspace: WorkspaceId,
): Effect.Effect<void, Refusal, Scope.Scope> =>
  Effect.uninterruptible(
    Effect.flatMap(Effect.scope, (scope) =>
      places.takeShare(workspace)
        ? Scope.addFinalizer(
            scope,
            Effect.sync(() => places.giveBackShare(workspace)),
          )
        : Effect.fail(shareUsedUp),
    ),
  )
