/** One campaign: what it does and why, how far it is, when it is done, its rows, and what a user can do. */
import { Link, getRouteApi, useRouteContext } from "@tanstack/react-router"
import { Suspense, lazy } from "react"
import type { ReactNode } from "react"
import type { Campaign } from "@messaging-service/client"
import { Answer } from "../ui/Answer.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Fact, PageHead, Section, backLink } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import { Actions } from "./CampaignActions.tsx"
import { CampaignRows } from "./CampaignRows.tsx"
import type { ModeSearch } from "./campaignSearch.ts"
import { campaignNames, dayNames } from "./names.ts"
import { ProgressBar, StateWord, getProgress, useNumberNames } from "./parts.tsx"
import { useCampaign } from "./useCampaign.ts"
import type { CampaignPath } from "./useCampaign.ts"
import {
  campaignLabels as labels,
  pausedRemedies,
  pausedTexts,
  progressLabels,
  standingLabels,
  waitRemedies,
  waitTexts,
} from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/campaigns/$campaignId")

/** It brings the form's fields, which no campaign shows that has begun. */
const DraftCheck = lazy(() =>
  import("./DraftCheck.tsx").then((module) => ({ default: module.DraftCheck })),
)

export const CampaignPage = () => {
  const { campaignId, workspaceId } = route.useParams()
  const { mode } = route.useSearch()
  const path = { id: Number(workspaceId), campaign_id: Number(campaignId) }
  const campaign = useCampaign(path, mode)
  return (
    <main className="page gap-6">
      <PageHead title={campaign.data?.name ?? campaignNames.unnamed(path.campaign_id)}>
        <Link
          className={backLink}
          to="/w/$workspaceId/campaigns"
          params={{ workspaceId }}
          search={mode === undefined ? {} : { mode }}
        >
          {campaignNames.all}
        </Link>
        {campaign.data && <Actions path={path} campaign={campaign.data} />}
      </PageHead>
      <Answer query={campaign}>
        {(data) => (
          <div className="flex flex-col gap-6">
            <Standing campaign={data} workspaceId={workspaceId} />
            {data.state === "draft" && data.rows.total > 0 && (
              <Suspense>
                <DraftCheck path={path} campaign={data} />
              </Suspense>
            )}
            <CampaignRows key={data.id} path={path} campaign={data} />
            <Settings path={path} campaign={data} mode={mode} />
          </div>
        )}
      </Answer>
    </main>
  )
}

const Standing = ({ campaign, workspaceId }: { campaign: Campaign; workspaceId: string }) => (
  <section aria-label={labels.progress} className="card flex flex-col gap-4 p-5">
    <div className="flex flex-wrap items-start gap-x-3 gap-y-2">
      <StateWord state={campaign.state} />
      <div role="status" className="flex min-w-0 flex-1 basis-64 flex-col gap-1">
        <WhatItDoes campaign={campaign} workspaceId={workspaceId} />
      </div>
    </div>
    {campaign.rows.total > 0 && campaign.state !== "draft" && <Counts campaign={campaign} />}
    {campaign.mode === "test" && <p className="text-sm text-violet">{labels.test}</p>}
  </section>
)

const Counts = ({ campaign }: { campaign: Campaign }) => {
  const counts = getProgress(campaign)
  return (
    <>
      <ProgressBar campaign={campaign} />
      <dl className="grid grid-cols-2 gap-4 sm:grid-cols-5">
        {(["sent", "failed", "waiting", "left", "out"] as const).map((part) => (
          <Fact key={part} name={progressLabels[part]}>
            <span
              className={`figure text-lg font-semibold tabular-nums ${part === "failed" && counts.failed > 0 ? "text-red" : ""}`}
            >
              {counts[part].toLocaleString()}
            </span>
          </Fact>
        ))}
      </dl>
    </>
  )
}

/** Words around a time: relative, then by the clock. */
const Around = ({
  at,
  text: [before, between, after],
}: {
  at: string
  text: ReadonlyArray<string>
}) => (
  <p className="text-sm text-soft">
    {before}
    <When at={at} />
    {between}
    <When at={at} how="clock" />
    {after}
  </p>
)

const Line = ({ children, tone = "" }: { children: ReactNode; tone?: string }) => (
  <p className={`font-medium ${tone}`}>{children}</p>
)

const WhatItDoes = ({ campaign, workspaceId }: { campaign: Campaign; workspaceId: string }) => {
  switch (campaign.state) {
    case "draft":
      return (
        <Line>{campaign.rows.total === 0 ? standingLabels.draftEmpty : standingLabels.draft}</Line>
      )
    case "paused":
      return <Paused campaign={campaign} />
    case "done":
    case "stopped":
      return <Line>{standingLabels[campaign.state]}</Line>
    case "scheduled":
    case "running":
      return <Waits campaign={campaign} workspaceId={workspaceId} />
  }
}

const Paused = ({ campaign: { state_reason: reason } }: { campaign: Campaign }) => (
  <>
    <Line tone="text-amber">{pausedTexts[reason ?? "requested"]}</Line>
    <p className="text-sm text-soft">{pausedRemedies[reason ?? "requested"]}</p>
  </>
)

type Wait = NonNullable<Campaign["waits_for"]>[number]

/** What a user must do comes first. */
const byRemedy = (a: Wait, b: Wait): number =>
  Number(b.reason in waitRemedies) - Number(a.reason in waitRemedies)

const Waits = ({ campaign, workspaceId }: { campaign: Campaign; workspaceId: string }) => {
  const { finishes_at: finishes, send_at: begins, state, waits_for: waits } = campaign
  const [first, ...others] = (waits ?? [])
    // Its time is the state's own sentence; full queues are how it runs.
    .filter(({ reason }) => reason !== "scheduled" && reason !== "sending")
    .toSorted(byRemedy)
  return (
    <>
      {state === "scheduled" && begins !== null && (
        <Around at={begins} text={standingLabels.scheduled} />
      )}
      {first === undefined ? (
        state === "running" && <Line tone="text-accent">{standingLabels.running}</Line>
      ) : (
        <>
          <Line tone={first.reason in waitRemedies ? "text-amber" : "text-violet"}>
            {waitTexts[first.reason]}
          </Line>
          {first.until !== null && <Around at={first.until} text={standingLabels.until} />}
          {waitRemedies[first.reason] && (
            <p className="text-sm text-soft">{waitRemedies[first.reason]}</p>
          )}
          <Remedy reason={first.reason} workspaceId={workspaceId} />
        </>
      )}
      {others.map(({ reason }) => (
        <p key={reason} className="text-sm text-soft">
          {standingLabels.also}
          {waitTexts[reason]}
        </p>
      ))}
      {finishes !== null && <Around at={finishes} text={standingLabels.finishes} />}
    </>
  )
}

const Remedy = ({ reason, workspaceId }: { reason: Wait["reason"]; workspaceId: string }) => {
  const { session } = useRouteContext({ from: "/inside" })
  if (reason !== "not_connected" && reason !== "number_paused") return null
  if (session.role === "member")
    return <p className="text-sm text-soft">{standingLabels.forAdministrators}</p>
  return (
    <Link
      to="/w/$workspaceId/numbers"
      params={{ workspaceId }}
      className="control self-start hover:bg-sunken"
    >
      <Icon name="phone" />
      {standingLabels.toNumbers}
    </Link>
  )
}

const hoursText = ({ hours, timezone }: Campaign): string =>
  hours === null
    ? labels.anyHours
    : `${hours.days.map((day) => dayNames[day]).join(", ")}, ${hours.from}–${hours.until} ${timezone ?? ""}`

const Settings = ({
  campaign,
  mode,
  path,
}: ModeSearch & { path: CampaignPath; campaign: Campaign }) => {
  const toNumber = useNumberNames(path.id)
  const { expires_at: expires, from, media, send_at: begins } = campaign
  return (
    <Section title={labels.settings}>
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <dl className="card grid grid-cols-1 gap-4 p-5 sm:grid-cols-2">
          <Fact name={labels.from}>
            {from === null ? labels.anyNumber : from.map(toNumber).join(", ")}
          </Fact>
          <Fact name={labels.sendAt}>
            {begins === null ? labels.atStart : <When at={begins} how="clock" />}
          </Fact>
          <Fact name={labels.hours}>{hoursText(campaign)}</Fact>
          <Fact name={labels.expires}>
            {expires === null ? labels.never : <When at={expires} how="clock" />}
          </Fact>
          <Fact name={labels.reserve}>{labels.reserveOf(campaign.quota_reserve)}</Fact>
          <Fact name={labels.countryCode}>
            {campaign.default_country_code === null
              ? labels.none
              : `+${campaign.default_country_code}`}
          </Fact>
          <Fact name={labels.duplicates}>{labels[campaign.duplicates]}</Fact>
          {media !== null && (
            <Fact name={labels.media}>
              {media.media_id === undefined || media.media_id === null
                ? media.url
                : labels.mediaFile(media.media_id)}
            </Fact>
          )}
          {campaign.state !== "draft" && (
            <Fact name={labels.messages}>
              <Link
                to="/w/$workspaceId/messages"
                params={{ workspaceId: String(path.id) }}
                search={{ reference: campaign.reference, ...(mode === undefined ? {} : { mode }) }}
                className="font-mono text-xs text-accent hover:underline"
              >
                {campaign.reference}
              </Link>
            </Fact>
          )}
        </dl>
        <div className="card flex min-w-0 flex-col gap-1 p-5">
          <h3 className="label">{labels.text}</h3>
          <p className="text-sm break-words whitespace-pre-wrap">{campaign.text}</p>
        </div>
      </div>
    </Section>
  )
}
