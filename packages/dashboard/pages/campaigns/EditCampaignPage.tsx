/** Makes a campaign, or changes what may still change of one. The service checks every row before any is sent. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { ReactNode } from "react"
import type { Campaign } from "@messaging-service/client"
import { newKey } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { CheckField } from "../ui/forms.tsx"
import { PageHead, backLink } from "../ui/parts.tsx"
import { CampaignFields } from "./CampaignFields.tsx"
import { saveCampaign } from "./campaignForm.ts"
import type { FilledCampaign } from "./campaignForm.ts"
import { formLabels as labels } from "./formWords.ts"
import { campaignNames } from "./names.ts"
import { useCampaign } from "./useCampaign.ts"

const newRoute = getRouteApi("/inside/w/$workspaceId/campaigns/new")
const editRoute = getRouteApi("/inside/w/$workspaceId/campaigns/$campaignId/edit")

export const NewCampaignPage = () => {
  const { workspaceId } = newRoute.useParams()
  const search = newRoute.useSearch()
  const [mode, setMode] = useState<FilledCampaign["mode"]>(search.mode ?? "live")
  return (
    <main className="page gap-4">
      <PageHead title={labels.newTitle}>
        <Link
          className={backLink}
          to="/w/$workspaceId/campaigns"
          params={{ workspaceId }}
          search={search}
        >
          {campaignNames.all}
        </Link>
      </PageHead>
      <CampaignForm id={Number(workspaceId)} campaign={null} mode={mode} action={labels.create}>
        <CheckField
          label={labels.test}
          checked={mode === "test"}
          onChange={(event) => setMode(event.target.checked ? "test" : "live")}
        />
      </CampaignForm>
    </main>
  )
}

export const EditCampaignPage = () => {
  const { campaignId, workspaceId } = editRoute.useParams()
  const { rows, ...search } = editRoute.useSearch()
  const path = { id: Number(workspaceId), campaign_id: Number(campaignId) }
  const campaign = useCampaign(path, search.mode)
  const name = campaign.data?.name ?? campaignNames.unnamed(path.campaign_id)
  return (
    <main className="page gap-4">
      <PageHead title={labels.editTitle(name)}>
        <Link
          className={backLink}
          to="/w/$workspaceId/campaigns/$campaignId"
          params={{ workspaceId, campaignId }}
          search={search}
        >
          {labels.back}
        </Link>
      </PageHead>
      <Answer query={campaign}>
        {(data) => (
          <CampaignForm
            key={data.id}
            id={path.id}
            campaign={data}
            mode={data.mode}
            isReplacing={rows === "replace" && data.state === "draft"}
            action={labels.save}
          />
        )}
      </Answer>
    </main>
  )
}

const CampaignForm = ({
  action,
  campaign,
  children,
  id,
  isReplacing = false,
  mode,
}: {
  id: number
  campaign: Campaign | null
  mode: FilledCampaign["mode"]
  isReplacing?: boolean
  action: string
  children?: ReactNode
}) => {
  const navigate = useNavigate()
  const client = useQueryClient()
  const [key, setKey] = useState(newKey)
  const [share, setShare] = useState<number | null>(null)
  /** The draft that a try before made, before its rows were refused. */
  const [draft, setDraft] = useState<Campaign | null>(null)
  const known = draft?.mode === mode ? draft : campaign
  const { error, isPending, mutate, reset } = useMutation({
    mutationFn: (filled: FilledCampaign) =>
      saveCampaign(filled, {
        workspaceId: id,
        campaign: known,
        key,
        saved: setDraft,
        progress: setShare,
      }),
    onSuccess: (saved) =>
      navigate({
        to: "/w/$workspaceId/campaigns/$campaignId",
        params: { workspaceId: String(id), campaignId: String(saved.id) },
        search: saved.mode === "test" ? { mode: saved.mode } : {},
      }),
    onSettled: () => {
      setShare(null)
      void client.invalidateQueries()
    },
  })
  return (
    <CampaignFields
      id={id}
      campaign={campaign}
      mode={mode}
      isReplacing={isReplacing}
      action={share === null || share === 1 ? action : labels.uploading(share)}
      isBusy={isPending}
      error={error}
      submit={mutate}
      changed={() => {
        setKey(newKey())
        reset()
      }}
    >
      {children}
    </CampaignFields>
  )
}
