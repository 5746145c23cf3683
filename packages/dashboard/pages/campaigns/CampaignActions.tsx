/** What a user can do with a campaign in its state. Whatever cannot be undone asks first, and says what it hits. */
import { useQuery } from "@tanstack/react-query"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Campaign } from "@messaging-service/client"
import { Refused, operationQuery, useCall } from "../api/call.ts"
import { Confirm, ConfirmCall, FormDialog } from "../ui/Dialog.tsx"
import { formText } from "../ui/forms.tsx"
import { Button, Failure } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import { notify } from "../ui/Toast.tsx"
import type { EditSearch } from "./campaignSearch.ts"
import { useNumberNames } from "./parts.tsx"
import { hasEnded, isActive } from "./useCampaign.ts"
import type { CampaignPath } from "./useCampaign.ts"
import { actionLabels, campaignLabels as labels } from "./words.ts"

interface ActionProps {
  readonly path: CampaignPath
  readonly campaign: Campaign
}

interface DialogProps extends ActionProps {
  readonly close: () => void
}

const toQuery = ({ mode }: Campaign) => ({ mode })

export const Actions = ({ campaign, path }: ActionProps) => {
  const [open, setOpen] = useState<"start" | "stop" | "remove" | null>(null)
  const resume = useCall("POST /admin/v1/workspaces/{id}/campaigns/{campaign_id}/resume")
  const input = { path, query: toQuery(campaign) }
  const pause = useCall("POST /admin/v1/workspaces/{id}/campaigns/{campaign_id}/pause", () =>
    notify(labels.pausedNow, () => resume.mutate({ ...input, body: {} })),
  )
  const error = pause.error ?? resume.error
  const close = () => setOpen(null)
  const { state } = campaign
  return (
    <>
      {error && <Failure error={error} />}
      <Button variant="danger" onClick={() => setOpen("remove")}>
        {labels.remove}
      </Button>
      {(isActive(campaign) || state === "paused") && (
        <Button variant="danger" onClick={() => setOpen("stop")}>
          {labels.stop}
        </Button>
      )}
      {!hasEnded(campaign) && <EditLink path={path} campaign={campaign} />}
      {isActive(campaign) && (
        <Button busy={pause.isPending} onClick={() => pause.mutate(input)}>
          {labels.pause}
        </Button>
      )}
      {state === "draft" && campaign.rows.pending > 0 && (
        <Button variant="primary" onClick={() => setOpen("start")}>
          {labels.start}
        </Button>
      )}
      {state === "paused" && <Resume path={path} campaign={campaign} />}
      {open === "start" && <Start path={path} campaign={campaign} close={close} />}
      {open === "stop" && <Stop path={path} campaign={campaign} close={close} />}
      {open === "remove" && <Remove path={path} campaign={campaign} close={close} />}
    </>
  )
}

export const EditLink = ({
  campaign: { mode },
  path,
  rows,
  text = labels.edit,
}: ActionProps & EditSearch & { text?: string }) => (
  <Link
    to="/w/$workspaceId/campaigns/$campaignId/edit"
    params={{ workspaceId: String(path.id), campaignId: String(path.campaign_id) }}
    search={{ ...(mode === "test" ? { mode } : {}), rows }}
    className="control hover:bg-sunken"
  >
    {text}
  </Link>
)

/** Says before the start what it does: how many messages, from which numbers, until when. */
const Start = ({ campaign, close, path }: DialogProps) => {
  const start = useCall("POST /admin/v1/workspaces/{id}/campaigns/{campaign_id}/start", close)
  const toNumber = useNumberNames(path.id)
  const query = toQuery(campaign)
  const { data: forecast } = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/campaigns/{campaign_id}/forecast", {
      path,
      query,
    }),
  )
  const numbers = forecast?.numbers.filter((one) => one.rows > 0) ?? []
  return (
    <Confirm
      title={actionLabels.startTitle(campaign.name)}
      action={labels.start}
      variant="primary"
      call={start}
      act={() => start.mutate({ path, query })}
      close={close}
    >
      <p className="text-ink">
        {actionLabels.sends(campaign.rows.pending)}
        {numbers.length > 0 &&
          actionLabels.from(numbers.map((one) => toNumber(one.number_id)).join(", "))}
        {forecast?.finishes_at && (
          <>
            {actionLabels.done}
            <When at={forecast.finishes_at} how="clock" />
          </>
        )}
        . {campaign.rows.refused > 0 && actionLabels.leftOut(campaign.rows.refused)}
      </p>
      <p className="mt-2 text-sm">{actionLabels.goesOn}</p>
    </Confirm>
  )
}

/** Asks first where more than continuing follows from it. */
const Resume = ({ campaign, path }: ActionProps) => {
  const [isAsking, setAsking] = useState(false)
  const resume = useCall("POST /admin/v1/workspaces/{id}/campaigns/{campaign_id}/resume", () =>
    setAsking(false),
  )
  const reason = campaign.state_reason
  const needsRow =
    reason === "restored" ||
    (resume.error instanceof Refused && resume.error.code === "from_row_required")
  const mutate = (row?: number) =>
    resume.mutate({
      path,
      query: toQuery(campaign),
      body: row === undefined ? {} : { from_row: row },
    })
  const close = () => {
    resume.reset()
    setAsking(false)
  }
  const asksFirst = reason === "number_restricted" || needsRow
  return (
    <>
      {resume.error && !needsRow && !isAsking && <Failure error={resume.error} />}
      <Button
        variant="primary"
        busy={resume.isPending}
        onClick={() => (asksFirst ? setAsking(true) : mutate())}
      >
        {labels.resume}
      </Button>
      {needsRow && (isAsking || resume.error !== null) && (
        <FromRow path={path} campaign={campaign} call={resume} act={mutate} close={close} />
      )}
      {isAsking && !needsRow && (
        <Confirm
          title={actionLabels.resumeTitle(campaign.name)}
          action={labels.resume}
          variant="primary"
          call={resume}
          act={() => mutate()}
          close={close}
        >
          {actionLabels.resumeRestricted}
        </Confirm>
      )}
    </>
  )
}

/** After a restore the user alone can find out which rows had been sent. */
const FromRow = ({
  act,
  call,
  campaign,
  close,
  path,
}: DialogProps & {
  call: { readonly error: Error | null; readonly isPending: boolean }
  act: (row: number) => void
}) => {
  const { data } = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/campaigns/{campaign_id}/rows", {
      path,
      query: { ...toQuery(campaign), status: "pending", limit: 1 },
    }),
  )
  const { total } = campaign.rows
  return (
    <FormDialog
      title={actionLabels.fromRowTitle}
      intro={<p className="text-sm text-soft">{actionLabels.fromRowAbout}</p>}
      action={labels.resume}
      // That it was missing is what the dialog is about.
      call={
        call.error instanceof Refused && call.error.code === "from_row_required"
          ? { ...call, error: null }
          : call
      }
      submit={(form) => act(Number(formText(form, "from_row")))}
      close={close}
      fields={[
        {
          name: "from_row",
          label: actionLabels.fromRow,
          about: actionLabels.fromRowHint(data?.data[0]?.row, total),
          type: "number",
          min: 1,
          max: total + 1,
          required: true,
        },
      ]}
    />
  )
}

const Stop = ({ campaign, close, path }: DialogProps) => (
  <ConfirmCall
    name="POST /admin/v1/workspaces/{id}/campaigns/{campaign_id}/stop"
    input={{ path, query: toQuery(campaign) }}
    title={actionLabels.stopTitle(campaign.name)}
    action={labels.stop}
    close={close}
  >
    {actionLabels.stopAbout(campaign.rows.pending, campaign.rows.queued)}
  </ConfirmCall>
)

const Remove = ({ campaign, close, path }: DialogProps) => {
  const navigate = useNavigate()
  return (
    <ConfirmCall
      name="DELETE /admin/v1/workspaces/{id}/campaigns/{campaign_id}"
      input={{ path, query: toQuery(campaign) }}
      done={() =>
        navigate({
          to: "/w/$workspaceId/campaigns",
          params: { workspaceId: String(path.id) },
          search: campaign.mode === "test" ? { mode: campaign.mode } : {},
        })
      }
      title={actionLabels.removeTitle(campaign.name)}
      action={labels.remove}
      close={close}
    >
      {campaign.state === "draft"
        ? actionLabels.removeDraft
        : actionLabels.removeAbout(
            hasEnded(campaign) ? 0 : campaign.rows.pending,
            campaign.rows.queued,
          )}
    </ConfirmCall>
  )
}
