/** One campaign, as its pages read it. */
import { useQuery } from "@tanstack/react-query"
import type { UseQueryResult } from "@tanstack/react-query"
import type { Campaign } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import type { ModeSearch } from "./campaignSearch.ts"

/** Which campaign, in paths of the operator API. */
export interface CampaignPath {
  readonly id: number
  readonly campaign_id: number
}

/** Hours that begin, and a plan that is filled up, do not count as news. */
const pollMillis = 10_000

export const isActive = ({ state }: Campaign): boolean =>
  state === "running" || state === "scheduled"

export const hasEnded = ({ state }: Campaign): boolean => state === "done" || state === "stopped"

export const useCampaign = (
  path: CampaignPath,
  mode: ModeSearch["mode"],
): UseQueryResult<Campaign> =>
  useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/campaigns/{campaign_id}", {
      path,
      query: { mode },
    }),
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && isActive(data) ? pollMillis : false,
  })
