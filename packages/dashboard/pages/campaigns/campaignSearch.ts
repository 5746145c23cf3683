/** What the pages of campaigns show, as the address has it: a colleague who opens it sees the same. */
import type { Campaign, CampaignRow } from "@messaging-service/client"
import { parseTrail } from "../ui/list.ts"
import type { TrailSearch } from "../ui/list.ts"

export type CampaignState = Campaign["state"]
export type RowStatus = CampaignRow["status"]

export const campaignStates: ReadonlyArray<CampaignState> = [
  "draft",
  "scheduled",
  "running",
  "paused",
  "done",
  "stopped",
]

export const rowStatuses: ReadonlyArray<RowStatus> = [
  "refused",
  "pending",
  "queued",
  "sent",
  "delivered",
  "read",
  "failed",
  "expired",
  "cancelled",
  "skipped",
]

export interface ModeSearch {
  /** Live when left out: a campaign of the other mode is unknown. */
  readonly mode?: "test" | undefined
}

export interface CampaignsSearch extends TrailSearch, ModeSearch {
  readonly state?: CampaignState | undefined
}

export interface EditSearch extends ModeSearch {
  /** A user who comes to upload the rows again has chosen that already. */
  readonly rows?: "replace" | undefined
}

export interface RowsSearch extends TrailSearch, ModeSearch {
  /** Left out: those that cannot be sent of a draft, else all. */
  readonly status?: RowStatus | "all" | undefined
  readonly code?: string | undefined
  /** A phone. */
  readonly to?: string | undefined
}

export const parseMode = ({ mode }: Record<string, unknown>): ModeSearch =>
  mode === "test" ? { mode } : {}

export const parseEditSearch = ({ rows, ...raw }: Record<string, unknown>): EditSearch => ({
  ...parseMode(raw),
  ...(rows === "replace" ? { rows } : {}),
})

export const parseCampaignsSearch = (raw: Record<string, unknown>): CampaignsSearch => {
  const state = campaignStates.find((one) => one === raw["state"])
  return { ...parseTrail(raw), ...parseMode(raw), ...(state === undefined ? {} : { state }) }
}

export const parseRowsSearch = (raw: Record<string, unknown>): RowsSearch => {
  const { code, to } = raw
  const status = [...rowStatuses, "all" as const].find((one) => one === raw["status"])
  return {
    ...parseTrail(raw),
    ...parseMode(raw),
    ...(status === undefined ? {} : { status }),
    ...(typeof code === "string" && /^[a-z][a-z0-9_]{0,63}$/.test(code) ? { code } : {}),
    ...(typeof to === "string" || typeof to === "number" ? { to: String(to) } : {}),
  }
}
