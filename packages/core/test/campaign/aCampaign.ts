/** A campaign for tests of its rules. */
import type { Campaign, CampaignSettings } from "../../src/model/Campaign.ts"
import type { CampaignId, WorkspaceId } from "../../src/model/Ids.ts"

export const settings: CampaignSettings = {
  name: "Spring",
  text: "Hello {name}",
  media: null,
  from: null,
  reference: null,
  timezone: null,
  sendAt: null,
  hours: null,
  expiresAt: null,
  quotaReserve: 200,
  defaultCountryCode: null,
  duplicates: "keep",
}

export const aCampaign = (more: Partial<Campaign> = {}): Campaign => ({
  ...settings,
  id: 7 as CampaignId,
  workspaceId: 1 as WorkspaceId,
  mode: "live",
  state: "draft",
  stateReason: null,
  revision: 1,
  isHolding: false,
  asksFromRow: false,
  runningSince: null,
  lookAt: null,
  createdAt: 0,
  startedAt: null,
  endedAt: null,
  ...more,
})
