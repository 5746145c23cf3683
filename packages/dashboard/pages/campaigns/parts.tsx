/** What every page of campaigns shows: the state as a word, how far it is, and the names of numbers. */
import { useQuery } from "@tanstack/react-query"
import type { Campaign, CampaignRow } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import { StatusWord, statuses } from "../messages/MessageStatus.tsx"
import type { StatusLook } from "../messages/MessageStatus.tsx"
import { toName } from "../numbers/connection.ts"
import type { CampaignState, RowStatus } from "./campaignSearch.ts"
import {
  campaignLabels,
  progressLabels,
  rowsLabels,
  rowStatusLabels,
  stateLabels,
} from "./words.ts"

const stateLooks: Readonly<Record<CampaignState, StatusLook>> = {
  draft: { icon: "file", ink: "text-soft", wash: "bg-sunken" },
  scheduled: { icon: "calendar", ink: "text-violet", wash: "bg-violet-wash" },
  running: { icon: "play", ink: "text-accent", wash: "bg-accent-wash" },
  paused: { icon: "pause", ink: "text-amber", wash: "bg-amber-wash" },
  done: { icon: "tick", ink: "text-blue", wash: "bg-blue-wash" },
  stopped: { icon: "slash", ink: "text-soft", wash: "bg-sunken" },
}

export const StateWord = ({ quiet = false, state }: { state: CampaignState; quiet?: boolean }) => (
  <StatusWord
    look={stateLooks[state]}
    word={stateLabels[state]}
    hasGround={!quiet || state === "paused"}
    quiet={quiet}
  />
)

const rowLooks: Readonly<Record<RowStatus, StatusLook>> = {
  ...statuses,
  pending: statuses.queued,
  refused: { icon: "warning", ink: "text-red", wash: "bg-red-wash" },
  skipped: statuses.cancelled,
}

export const RowStatusWord = ({ status }: { status: RowStatus }) => (
  <StatusWord
    look={rowLooks[status]}
    word={rowStatusLabels[status]}
    hasGround={status === "refused" || status === "failed" || status === "expired"}
    quiet
  />
)

/** The counts that a user thinks in; their sum is the number of rows. */
export const getProgress = ({ rows }: Campaign) => ({
  sent: rows.sent + rows.delivered + rows.read,
  failed: rows.failed,
  waiting: rows.queued,
  left: rows.pending,
  out: rows.refused + rows.skipped + rows.cancelled + rows.expired,
})

const progressParts = [
  ["sent", "bg-mark"],
  ["failed", "bg-mark-red"],
  ["waiting", "bg-mark-soft"],
  ["out", "bg-edge"],
  ["left", ""],
] as const

/** As one bar; what is left is its ground. */
export const ProgressBar = ({ campaign }: { campaign: Campaign }) => {
  const counts = getProgress(campaign)
  const { total } = campaign.rows
  const words = progressParts.map(([part]) => `${counts[part]} ${progressLabels[part]}`)
  return (
    <div
      role="img"
      aria-label={`${campaignLabels.progress}: ${words.join(", ")}`}
      className="flex h-2 min-w-0 overflow-hidden rounded-full bg-sunken"
    >
      {progressParts.map(
        ([part, tone]) =>
          tone !== "" &&
          counts[part] > 0 && (
            <span
              key={part}
              className={`block h-full min-w-[3px] ${tone}`}
              style={{ width: `${(counts[part] / total) * 100}%` }}
            />
          ),
      )}
    </div>
  )
}

/** By their ids; a number that is gone has its id for a name. */
export const useNumberNames = (id: number): ((numberId: number) => string) => {
  const { data } = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path: { id } }),
  )
  const names = new Map(data?.data.map((number) => [number.id, toName(number)]))
  return (numberId) => names.get(numberId) ?? campaignLabels.number(numberId)
}

/** Whom a row is for, as people write it. */
export const toRecipient = ({ to }: Pick<CampaignRow, "to">): string => {
  if (to === null) return rowsLabels.erased
  if ("phone" in to) return to.phone
  if ("username" in to) return to.username
  return "group" in to ? to.group : rowsLabels.contact(to.contact_id)
}
