/** The fields of a campaign; what most do not need is folded away. Of a started one only what may still change. */
import { useQuery } from "@tanstack/react-query"
import { useId, useState } from "react"
import type { MouseEvent, ReactNode } from "react"
import type { Campaign } from "@messaging-service/client"
import { newKey, operationQuery } from "../api/call.ts"
import { Attach, AttachmentPreview } from "../media/Attach.tsx"
import type { Attachment } from "../media/Attach.tsx"
import { Preview } from "../messages/Preview.tsx"
import { SendingNotes } from "../messages/SendingNotes.tsx"
import { toName } from "../numbers/connection.ts"
import { toAttachment } from "../reminders/reminderForm.ts"
import { timeZones } from "../ui/timeZones.ts"
import { CheckField, Fields, Form, TextArea, TextField, fieldProblem } from "../ui/forms.tsx"
import type { FormFields } from "../ui/forms.tsx"
import { Icon } from "../ui/Icon.tsx"
import { ownZone } from "../ui/zone.ts"
import { noRows, unknownPlaceholders, weekdays } from "./campaignForm.ts"
import type { FilledCampaign, RowsChoice } from "./campaignForm.ts"
import { Recipients } from "./Recipients.tsx"
import { formLabels as labels } from "./formWords.ts"

interface FieldsProps {
  readonly id: number
  /** Null for a new one. */
  readonly campaign: Campaign | null
  readonly mode: FilledCampaign["mode"]
  /** The user comes to give a draft other rows. */
  readonly isReplacing: boolean
  readonly action: string
  readonly isBusy: boolean
  readonly error: Error | null
  readonly submit: (filled: FilledCampaign) => void
  readonly changed: () => void
  readonly children?: ReactNode
}

interface PartProps {
  readonly id: number
  readonly campaign: Campaign | null
  readonly error: Error | null
  /** The rows were checked with those settings. */
  readonly isLocked: boolean
}

export const CampaignFields = (props: FieldsProps) => {
  const { action, campaign, changed, children, error, id, isBusy, isReplacing, mode, submit } =
    props
  const total = campaign?.rows.total ?? 0
  const [name, setName] = useState(campaign?.name ?? "")
  const [text, setText] = useState(campaign?.text ?? "")
  const [attachment, setAttachment] = useState(() => toAttachment(campaign?.media ?? null))
  const [rows, setRows] = useState<RowsChoice>(
    total > 0 && !isReplacing ? { ...noRows, how: "keep" } : noRows,
  )
  const isDraft = campaign === null || campaign.state === "draft"
  const part = { id, campaign, error, isLocked: rows.how !== "replace" }
  const choose = (next: RowsChoice) => {
    setRows(next)
    changed()
    const fileName = next.file?.name.replace(/\.\w+$/, "") ?? ""
    // A column of whole texts needs no other text.
    const whole = next.columns.find((column) => /^(text|message)$/i.test(column))
    setName((now) => now || fileName)
    if (whole !== undefined) setText((now) => now || `{${whole}}`)
  }
  return (
    <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <Form
        className="card flex min-w-0 flex-col gap-5 p-5"
        action={action}
        call={{ error, isPending: isBusy }}
        submit={(data, form) => {
          // Its first recipient would be taken for the names of the columns, and get nothing.
          if (rows.hasHeader) submit({ data, attachment, rows, mode })
          else form.querySelector<HTMLElement>("[aria-invalid=true]")?.focus()
        }}
        onChange={changed}
        fields={[
          {
            name: "name",
            label: labels.name,
            about: labels.nameAbout,
            value: name,
            change: setName,
            required: true,
            maxLength: 100,
          },
          ...(isDraft
            ? contentFields({
                ...part,
                mode,
                rows,
                choose,
                text,
                setText,
                attachment,
                setAttachment,
              })
            : []),
          ...foldedFields(part, isDraft),
        ]}
      >
        {children}
        <SendingNotes id={id} />
      </Form>
      <div className="lg:sticky lg:top-6">
        <Preview
          text={text}
          empty={attachment.kind === "none" ? labels.previewEmpty : ""}
          media={<AttachmentPreview attachment={attachment} id={id} mode={mode} />}
        />
      </div>
    </div>
  )
}

/** The rows, and what each of them gets. */
const contentFields = (content: ContentProps): FormFields => [
  {
    shows: ["rows", "to_column"],
    draw: () => (
      <Recipients
        choice={content.rows}
        change={content.choose}
        problem={fieldProblem(content.error, "rows")}
        columnProblem={fieldProblem(content.error, "to_column")}
        total={content.campaign?.rows.total ?? 0}
      />
    ),
  },
  { shows: ["text", "media"], draw: () => <Content {...content} /> },
]

const timesShow = ["from", "send_at", "expires_at", "hours", "timezone"]
const moreShow = ["default_country_code", "duplicates", "quota_reserve", "reference"]

const hasProblem = (error: Error | null, fields: ReadonlyArray<string>): boolean =>
  fields.some((field) => fieldProblem(error, field) !== undefined)

const foldedFields = (part: PartProps, isDraft: boolean): FormFields => [
  {
    shows: timesShow,
    draw: () => (
      <Folded
        title={labels.times}
        about={labels.timesAbout}
        isOpen={!isDraft || hasProblem(part.error, timesShow)}
      >
        <Times {...part} />
      </Folded>
    ),
  },
  {
    shows: moreShow,
    draw: () => (
      <Folded
        title={labels.more}
        about={labels.moreAbout}
        isOpen={hasProblem(part.error, moreShow)}
      >
        <More {...part} isDraft={isDraft} />
      </Folded>
    ),
  },
]

const Folded = ({
  about,
  children,
  isOpen,
  title,
}: {
  title: string
  about: string
  isOpen: boolean
  children: ReactNode
}) => (
  <details open={isOpen} className="group min-w-0 rounded-lg border border-line">
    <summary className="flex cursor-pointer list-none items-center gap-3 rounded-lg px-3.5 py-3 hover:bg-sunken [&::-webkit-details-marker]:hidden">
      <Icon name="chevron" className="text-soft group-open:rotate-90" />
      <span className="min-w-0">
        <span className="block text-sm font-medium">{title}</span>
        <span className="block text-xs text-soft">{about}</span>
      </span>
    </summary>
    <div className="flex min-w-0 flex-col gap-4 border-t border-line p-4">{children}</div>
  </details>
)

interface ContentProps extends PartProps {
  readonly mode: FilledCampaign["mode"]
  readonly rows: RowsChoice
  readonly choose: (rows: RowsChoice) => void
  readonly text: string
  readonly setText: (text: string) => void
  readonly attachment: Attachment
  readonly setAttachment: (attachment: Attachment) => void
}

/** What every recipient gets. */
const Content = (props: ContentProps) => {
  const { attachment, error, id, isLocked, mode, rows, setAttachment, setText, text } = props
  const [unknown] = rows.columns.length === 0 ? [] : unknownPlaceholders(text, rows)
  return (
    <fieldset disabled={isLocked} className="flex min-w-0 flex-col gap-5">
      <legend className="sr-only">{labels.text}</legend>
      {isLocked && <p className="text-sm text-soft">{labels.locked}</p>}
      <div className="flex min-w-0 flex-col gap-1.5">
        <TextArea
          name="text"
          label={labels.text}
          about={labels.textAbout}
          problem={
            fieldProblem(error, "text") ??
            (unknown === undefined ? undefined : labels.noColumn(unknown))
          }
          value={text}
          onChange={(event) => setText(event.target.value)}
          rows={5}
        />
        <Columns columns={rows.columns} setText={setText} />
      </div>
      <Attach
        id={id}
        mode={mode}
        attachment={attachment}
        change={setAttachment}
        newUpload={newKey}
        problem={fieldProblem(error, "media")}
      />
    </fieldset>
  )
}

/** Buttons that put a column's name where the cursor is. */
const Columns = ({
  columns,
  setText,
}: {
  columns: ReadonlyArray<string>
  setText: (text: string) => void
}) => {
  // Others cannot be named in a text.
  const names = [...new Set(columns)].filter((name) => name !== "" && !/[{}|]/.test(name))
  const insert = (name: string) => (event: MouseEvent<HTMLButtonElement>) => {
    const field = event.currentTarget.form?.elements.namedItem("text")
    if (!(field instanceof HTMLTextAreaElement)) return
    field.setRangeText(`{${name}}`, field.selectionStart, field.selectionEnd, "end")
    setText(field.value)
    field.focus()
  }
  if (names.length === 0) return null
  return (
    <div className="flex flex-wrap items-center gap-1.5 text-xs">
      <span className="text-soft">{labels.insert}</span>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          aria-label={labels.insertColumn(name)}
          onClick={insert(name)}
          className="max-w-full cursor-pointer truncate rounded-full border border-edge px-2.5 py-1 font-mono hover:bg-sunken"
        >
          {name}
        </button>
      ))}
    </div>
  )
}

const toMillis = (at: string | null | undefined): number | null =>
  at == null ? null : Date.parse(at)

const Times = ({ campaign, error, id, isLocked }: PartProps) => (
  <>
    <From id={id} chosen={campaign?.from ?? []} problem={fieldProblem(error, "from")} />
    <Fields
      error={error}
      fields={[
        [
          ...(campaign === null || campaign.started_at === null
            ? [
                {
                  name: "send at",
                  shows: "send_at",
                  type: "datetime-local",
                  label: labels.sendAt,
                  about: labels.sendAtAbout,
                  instant: toMillis(campaign?.send_at),
                },
              ]
            : []),
          {
            name: "expires at",
            shows: "expires_at",
            type: "datetime-local",
            label: labels.expiresAt,
            about: labels.expiresAtAbout,
            instant: toMillis(campaign?.expires_at),
          },
        ],
      ]}
    />
    <Hours campaign={campaign} error={error} isLocked={isLocked} />
  </>
)

const From = ({
  chosen,
  id,
  problem,
}: {
  id: number
  chosen: ReadonlyArray<number>
  problem: string | undefined
}) => {
  const { data } = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path: { id } }),
  )
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1 text-sm font-medium">{labels.from}</legend>
      {data?.data.map((number) => (
        <CheckField
          key={number.id}
          name="from"
          value={number.id}
          label={toName(number)}
          defaultChecked={chosen.includes(number.id)}
        />
      ))}
      <p className="text-xs text-soft">
        {problem === undefined ? (
          labels.fromAbout
        ) : (
          <span role="alert" className="text-red">
            {problem}
          </span>
        )}
      </p>
    </fieldset>
  )
}

const Hours = ({
  campaign,
  error,
  isLocked,
}: Pick<PartProps, "campaign" | "error" | "isLocked">) => {
  const hours = campaign?.hours ?? null
  const [isLimited, setLimited] = useState(hours !== null)
  return (
    <>
      <CheckField
        name="limits hours"
        label={labels.hours}
        about={labels.hoursAbout}
        checked={isLimited}
        onChange={(event) => setLimited(event.target.checked)}
      />
      {isLimited && <DaysAndTimes hours={hours} error={error} />}
      <Zone campaign={campaign} error={error} isLocked={isLocked} />
    </>
  )
}

const DaysAndTimes = ({ error, hours }: { hours: Campaign["hours"]; error: Error | null }) => {
  const days = hours?.days ?? weekdays.slice(0, 5)
  return (
    <>
      <fieldset className="flex min-w-0 flex-wrap gap-x-4 gap-y-2">
        <legend className="mb-1 text-sm font-medium">{labels.days}</legend>
        {weekdays.map((day) => (
          <CheckField
            key={day}
            name="days"
            value={day}
            label={labels.day[day]}
            defaultChecked={days.includes(day)}
          />
        ))}
      </fieldset>
      <Fields
        error={error}
        fields={[
          [
            {
              name: "hours from",
              shows: "hours.from",
              type: "time",
              label: labels.hoursFrom,
              defaultValue: hours?.from ?? "09:00",
            },
            {
              name: "until",
              shows: ["hours.until", "hours.days"],
              type: "time",
              label: labels.hoursUntil,
              defaultValue: hours === null ? "18:00" : hours.until.replace("24:00", "00:00"),
            },
          ],
        ]}
      />
    </>
  )
}

/** A draft has one from the start: once it has rows none can be given, and hours need one. */
const Zone = ({
  campaign,
  error,
  isLocked,
}: Pick<PartProps, "campaign" | "error" | "isLocked">) => {
  const zones = useId()
  return (
    <>
      <TextField
        name="zone"
        label={labels.zone}
        about={labels.zoneAbout}
        problem={fieldProblem(error, "timezone")}
        defaultValue={campaign === null ? ownZone() : (campaign.timezone ?? "")}
        disabled={isLocked}
        list={zones}
        autoComplete="off"
        spellCheck={false}
      />
      <datalist id={zones}>
        {timeZones.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}

const More = ({ campaign, error, isDraft, isLocked }: PartProps & { isDraft: boolean }) => (
  <Fields
    error={error}
    fields={[
      ...(isDraft
        ? [
            [
              {
                name: "country code",
                shows: "default_country_code",
                label: labels.countryCode,
                about: labels.countryCodeAbout,
                defaultValue: campaign?.default_country_code ?? "",
                disabled: isLocked,
                inputMode: "numeric" as const,
                autoComplete: "off",
              },
              {
                name: "duplicates",
                label: labels.duplicates,
                defaultValue: campaign?.duplicates ?? "keep",
                disabled: isLocked,
                options: [
                  ["keep", labels.keepDuplicates],
                  ["drop", labels.dropDuplicates],
                ] as const,
              },
            ],
          ]
        : []),
      [
        {
          name: "reserve",
          shows: "quota_reserve",
          label: labels.reserve,
          about: labels.reserveAbout,
          type: "number",
          defaultValue: campaign?.quota_reserve ?? 200,
        },
        {
          name: "reference",
          label: labels.reference,
          about: labels.referenceAbout,
          maxLength: 200,
          defaultValue:
            campaign === null || campaign.reference === `campaign-${campaign.id}`
              ? ""
              : campaign.reference,
        },
      ],
    ]}
  />
)
