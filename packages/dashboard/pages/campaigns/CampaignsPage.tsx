/** The campaigns of a workspace: in which state each is, how far it is, and when it is done. */
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import type { Campaign } from "@messaging-service/client"
import { SelectField } from "../ui/forms.tsx"
import { useList } from "../ui/list.ts"
import { PageHead, primaryLink, Button } from "../ui/parts.tsx"
import { PagedTable, rowLink } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { campaignStates } from "./campaignSearch.ts"
import type { CampaignsSearch, ModeSearch } from "./campaignSearch.ts"
import { ProgressBar, StateWord, getProgress } from "./parts.tsx"
import { campaignsLabels as labels, progressLabels, shortReasons, stateLabels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/campaigns")

export const CampaignsPage = () => {
  const { workspaceId } = route.useParams()
  const { mode, state } = route.useSearch()
  const navigate = useNavigate({ from: "/w/$workspaceId/campaigns" })
  const campaigns = useList("GET /admin/v1/workspaces/{id}/campaigns", {
    path: { id: Number(workspaceId) },
    query: { mode, state, limit: 25 },
  })
  const show = (change: CampaignsSearch) =>
    void navigate({ search: (old) => ({ ...old, trail: undefined, ...change }) })
  const add = <NewLink workspaceId={workspaceId} mode={mode} />
  return (
    <main className="page gap-4">
      <PageHead title={labels.title} about={labels.about}>
        {add}
      </PageHead>
      <search className="grid max-w-md grid-cols-2 gap-3">
        <SelectField
          label={labels.state}
          value={state ?? ""}
          onChange={({ target: { value } }) =>
            show({ state: campaignStates.find((one) => one === value) })
          }
          options={[
            ["", labels.anyState],
            ...campaignStates.map((one) => [one, stateLabels[one]] as const),
          ]}
        />
        <SelectField
          label={labels.mode}
          value={mode ?? "live"}
          onChange={({ target: { value } }) => show({ mode: value === "test" ? value : undefined })}
          options={[
            ["live", labels.modes.live],
            ["test", labels.modes.test],
          ]}
        />
      </search>
      <PagedTable
        list={campaigns}
        caption={labels.caption}
        columns={toColumns(workspaceId, mode)}
        empty={
          state === undefined
            ? [
                "campaign",
                mode === "test" ? labels.emptyTest : labels.empty,
                labels.emptyAbout,
                add,
              ]
            : [
                "search",
                labels.nothingFound,
                labels.nothingFoundAbout,
                <Button key="all" onClick={() => show({ state: undefined })}>
                  {labels.anyState}
                </Button>,
              ]
        }
      />
    </main>
  )
}

const NewLink = ({ mode, workspaceId }: ModeSearch & { workspaceId: string }) => (
  <Link
    to="/w/$workspaceId/campaigns/new"
    params={{ workspaceId }}
    search={mode === undefined ? {} : { mode }}
    className={primaryLink}
  >
    {labels.add}
  </Link>
)

const toColumns = (workspaceId: string, mode: ModeSearch["mode"]): Columns<Campaign> => [
  {
    name: labels.name,
    cell: ({ id, name }) => (
      <Link
        to="/w/$workspaceId/campaigns/$campaignId"
        params={{ workspaceId, campaignId: String(id) }}
        search={mode === undefined ? {} : { mode }}
        className={`${rowLink} max-md:break-words max-md:whitespace-normal`}
      >
        {name}
      </Link>
    ),
  },
  {
    name: labels.state,
    cell: ({ state, state_reason: reason }) => (
      <span className="flex flex-wrap items-center gap-x-1.5 whitespace-normal">
        <StateWord state={state} quiet />
        {reason !== null && <span className="text-xs text-soft">{shortReasons[reason]}</span>}
      </span>
    ),
  },
  { name: labels.progress, cell: (campaign) => <Progress campaign={campaign} /> },
  {
    name: labels.when,
    wide: true,
    right: true,
    tone: "text-soft",
    cell: (campaign) => <Times campaign={campaign} />,
  },
]

const Progress = ({ campaign }: { campaign: Campaign }) => {
  if (campaign.rows.total === 0) return <span className="text-faint">{labels.noRows}</span>
  const counts = getProgress(campaign)
  const named = (["sent", "failed", "waiting", "left", "out"] as const).filter(
    (part) => counts[part] > 0,
  )
  return (
    <span className="flex min-w-0 flex-col gap-1 py-1 md:min-w-56">
      <ProgressBar campaign={campaign} />
      <span className="text-xs whitespace-normal text-soft tabular-nums">
        {named
          .map((part) => `${counts[part].toLocaleString()} ${progressLabels[part]}`)
          .join(" · ")}
      </span>
    </span>
  )
}

const Times = ({ campaign }: { campaign: Campaign }) => {
  const { created_at, ended_at, finishes_at, send_at, state } = campaign
  if (ended_at !== null) return <Labelled text={labels.ended} at={ended_at} />
  if (state === "scheduled" && send_at !== null)
    return <Labelled text={labels.begins} at={send_at} />
  if (state === "running" && finishes_at !== null)
    return <Labelled text={labels.finishes} at={finishes_at} />
  return <Labelled text={labels.created} at={created_at} />
}

const Labelled = ({ at, text }: { text: string; at: string }) => (
  <>
    {text}
    <When at={at} how="clock" />
  </>
)
