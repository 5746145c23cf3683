/** What a draft would do before it does it: how many rows are fine, what each sends, and when it would be done. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { Campaign, CampaignForecast } from "@messaging-service/client"
import { newKey, operationQuery, useCall } from "../api/call.ts"
import { AttachmentPreview } from "../media/Attach.tsx"
import { FromField } from "../messages/FromField.tsx"
import { Preview } from "../messages/Preview.tsx"
import { parseRecipients } from "../messages/recipients.ts"
import { SendingNotes } from "../messages/SendingNotes.tsx"
import { toAttachment } from "../reminders/reminderForm.ts"
import { newMessageLabels } from "../messages/words.ts"
import { Answer } from "../ui/Answer.tsx"
import { FormDialog } from "../ui/Dialog.tsx"
import { formText } from "../ui/forms.tsx"
import { Button, Fact, Section } from "../ui/parts.tsx"
import { Table } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { EditLink } from "./CampaignActions.tsx"
import { toRecipient, useNumberNames } from "./parts.tsx"
import type { CampaignPath } from "./useCampaign.ts"
import { checkLabels as labels, forecastLabels } from "./words.ts"

interface DraftProps {
  readonly path: CampaignPath
  readonly campaign: Campaign
}

export const DraftCheck = ({ campaign, path }: DraftProps) => {
  const { pending, refused } = campaign.rows
  const forecast = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/campaigns/{campaign_id}/forecast", {
      path,
      query: { mode: campaign.mode },
    }),
  )
  return (
    <Section title={labels.title}>
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="card flex min-w-0 flex-col gap-4 p-5">
          <dl className="grid grid-cols-2 gap-4 sm:grid-cols-3">
            <Fact name={labels.fine}>{pending.toLocaleString()}</Fact>
            <Fact name={labels.refused}>
              <span className={refused > 0 ? "text-red" : ""}>{refused.toLocaleString()}</span>
            </Fact>
            {forecast.data && (
              <Fact name={labels.allowance}>
                {forecast.data.allowance.remaining?.toLocaleString() ?? labels.unlimited}
              </Fact>
            )}
          </dl>
          {refused > 0 && (
            <div className="flex flex-col items-start gap-2 rounded-lg bg-amber-wash px-3.5 py-3 text-sm text-amber">
              <p>{pending === 0 ? labels.mendAll : labels.mend}</p>
              {campaign.default_country_code === null && <p>{labels.countryCode}</p>}
              <span className="text-ink">
                <EditLink path={path} campaign={campaign} rows="replace" text={labels.upload} />
              </span>
            </div>
          )}
          <SendingNotes id={path.id} />
          <Answer query={forecast} rows={2}>
            {(data) => <Forecast forecast={data} id={path.id} />}
          </Answer>
        </div>
        <RowPreview path={path} campaign={campaign} />
      </div>
    </Section>
  )
}

type Share = CampaignForecast["numbers"][number] & { readonly id: number }

const toColumns = (toNumber: (id: number) => string): Columns<Share> => [
  { name: forecastLabels.number, cell: ({ number_id: number }) => toNumber(number) },
  {
    name: forecastLabels.room,
    right: true,
    tone: "tabular-nums",
    cell: ({ room, usable }) =>
      usable ? (
        room.toLocaleString()
      ) : (
        <span className="text-amber">{forecastLabels.notUsable}</span>
      ),
  },
  {
    name: forecastLabels.share,
    right: true,
    tone: "tabular-nums",
    cell: ({ rows }) => rows.toLocaleString(),
  },
]

const Forecast = ({ forecast, id }: { forecast: CampaignForecast; id: number }) => {
  const toNumber = useNumberNames(id)
  const { allowance, finishes_at: finishes, numbers, rows, starts_at: starts } = forecast
  const limits = forecastLabels.limits(forecast)
  return (
    <div className="flex flex-col gap-3 border-t border-line pt-4">
      <h3 className="label">{forecastLabels.title}</h3>
      {rows === 0 ? (
        <p>{forecastLabels.nothing}</p>
      ) : (
        <div className="flex flex-col gap-1 text-sm">
          {starts !== null && (
            <p>
              {forecastLabels.starts}
              <When at={starts} how="clock" />.
            </p>
          )}
          <p className="font-medium">
            {finishes === null ? (
              forecastLabels.unknown
            ) : (
              <>
                {forecastLabels.finishes}
                <When at={finishes} how="clock" />.
              </>
            )}
          </p>
          {allowance.missing > 0 && (
            <p className="text-amber">{forecastLabels.missing(allowance.missing)}</p>
          )}
          {numbers.every((one) => !one.usable) && (
            <p className="text-amber">{forecastLabels.noNumber}</p>
          )}
          {limits !== null && <p className="text-violet">{limits}</p>}
        </div>
      )}
      {numbers.length > 0 && (
        <Table
          caption={forecastLabels.caption}
          columns={toColumns(toNumber)}
          rows={numbers.map((one) => ({ ...one, id: one.number_id }))}
        />
      )}
    </div>
  )
}

const previewed = 20

/** The messages of the first rows, as their recipients would see them. */
const RowPreview = ({ campaign, path }: DraftProps) => {
  const [at, setAt] = useState(0)
  const { data } = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/campaigns/{campaign_id}/rows", {
      path,
      query: { mode: campaign.mode, status: "pending", limit: previewed },
    }),
  )
  const rows = data?.data ?? []
  const index = Math.max(0, Math.min(at, rows.length - 1))
  const row = rows[index]
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <Preview
        text={row?.text ?? ""}
        empty={row === undefined ? labels.noPreview : ""}
        media={
          <AttachmentPreview
            attachment={toAttachment(campaign.media)}
            id={path.id}
            mode={campaign.mode}
          />
        }
      />
      {row !== undefined && (
        <nav aria-label={labels.preview} className="flex items-center gap-2 text-xs text-soft">
          <span className="mr-auto min-w-0">
            {labels.getPreview(index + 1, campaign.rows.pending)}
            <span className="block truncate font-mono">{labels.toWhom(toRecipient(row))}</span>
          </span>
          <Button
            aria-label={labels.previous}
            aria-disabled={index === 0}
            onClick={() => setAt(Math.max(0, index - 1))}
          >
            ‹
          </Button>
          <Button
            aria-label={labels.next}
            aria-disabled={index === rows.length - 1}
            onClick={() => setAt(Math.min(rows.length - 1, index + 1))}
          >
            ›
          </Button>
        </nav>
      )}
      {row?.text != null && <SendMe id={path.id} campaign={campaign} text={row.text} />}
    </div>
  )
}

/** The message of that row to the user's own phone: an ordinary send. */
const SendMe = ({ campaign, id, text }: { id: number; campaign: Campaign; text: string }) => {
  const [open, setOpen] = useState<{ readonly key: string } | null>(null)
  const send = useCall("POST /admin/v1/workspaces/{id}/messages", () => setOpen(null))
  const { media, mode } = campaign
  const submit = (data: FormData, key: string) => {
    const from = formText(data, "from")
    send.mutate({
      path: { id },
      query: { mode },
      idempotencyKey: key,
      body: {
        to: parseRecipients(formText(data, "to"))[0] ?? { phone: "" },
        text,
        ...(from === "" ? {} : { from: Number(from) }),
        ...(media?.media_id ? { media: { media_id: media.media_id } } : {}),
        ...(media?.media_id === null && media.url ? { media: { url: media.url } } : {}),
      },
    })
  }
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button
        onClick={() => {
          send.reset()
          setOpen({ key: newKey() })
        }}
      >
        {labels.sendMe}
      </Button>
      <span role="status" className="text-sm text-accent">
        {send.data !== undefined && newMessageLabels.accepted([send.data])}
      </span>
      {open !== null && (
        <FormDialog
          title={labels.sendMe}
          action={newMessageLabels.send(1)}
          call={send}
          submit={(data) => submit(data, open.key)}
          close={() => setOpen(null)}
          fields={[
            { name: "to", label: labels.sendMeTo, about: labels.sendMeAbout, required: true },
            { shows: "from", draw: (problem) => <FromField id={id} problem={problem} /> },
          ]}
        />
      )}
    </div>
  )
}
