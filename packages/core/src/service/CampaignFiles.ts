/** Uploads of rows and downloads of results at once (campaigns: 10). */
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { makeScopedBulkhead, sharedLimits } from "../model/Bulkhead.ts"
import type { WorkspaceId } from "../model/Ids.ts"
import { refuse } from "../model/Refusal.ts"
import type { Refusal } from "../model/Refusal.ts"

const { campaignFiles } = sharedLimits

const shareUsed = refuse("rate_limited", {
  message: `A workspace has at most ${campaignFiles.share.most} uploads and downloads of campaigns at once.`,
  retryAfter: 5,
})

const full = refuse("service_unavailable", { retryAfter: 5 })

export class CampaignFiles extends Context.Service<
  CampaignFiles,
  {
    /** Holds a place until the scope closes. Fails when the workspace, or the process, has none left. */
    enter(
      workspaceId: WorkspaceId,
    ): Effect.Effect<void, Refusal<"rate_limited" | "service_unavailable">, Scope.Scope>
  }
>()("core/CampaignFiles") {
  static readonly layer = Layer.sync(CampaignFiles, () =>
    CampaignFiles.of({ enter: makeScopedBulkhead(campaignFiles, { shareUsed, full }) }),
  )
}
