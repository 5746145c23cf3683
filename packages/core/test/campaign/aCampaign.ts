/** A campaign for tests of its rules. */
import { aNewCampaign } from "@messaging-service/testkit"
import type { Campaign } from "../../src/model/Campaign.ts"
import type { CampaignId, WorkspaceId } from "../../src/model/Ids.ts"

export const aCampaign = (more: Partial<Campaign> = {}): Campaign => ({
  ...aNewCampaign(1 as WorkspaceId, { createdAt: 0 }),
  id: 7 as CampaignId,
  revision: 1,
  ...more,
})
