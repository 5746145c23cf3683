/** What the form of a campaign holds, and the requests that it makes. */
import type {
  Campaign,
  CampaignInput,
  ChangeCampaign,
  SendingHours,
} from "@messaging-service/client"
import { Refused, call } from "../api/call.ts"
import { uploadTo } from "../api/upload.ts"
import { getMedia } from "../media/Attach.tsx"
import type { Attachment } from "../media/Attach.tsx"
import { toAttachment } from "../reminders/reminderForm.ts"
import { findColumns, parseCsv, toUtf8 } from "../ui/csv.ts"
import { formText } from "../ui/forms.tsx"
import { parseFieldTime, toFieldTime } from "../ui/zone.ts"
import type { CampaignPath } from "./useCampaign.ts"

export const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const

/** The rows that a user gives, as a file or as pasted lines. */
export interface RowsChoice {
  /** `keep`: those that the draft has. */
  readonly how: "keep" | "replace" | "add"
  readonly source: "file" | "pasted"
  readonly file: File | null
  readonly text: string
  /** The names in the first line. */
  readonly columns: ReadonlyArray<string>
  readonly hasHeader: boolean
  /** Which of them has the recipients; null before there is one. */
  readonly column: string | null
}

export const noRows: RowsChoice = {
  how: "replace",
  source: "file",
  file: null,
  text: "",
  columns: [],
  hasHeader: true,
  column: null,
}

/** More characters than two rows have. */
const headBytes = 65_536

const withColumns = (choice: RowsChoice, text: string): RowsChoice => {
  const rows = parseCsv(text)
  if (rows.length === 0) return { ...choice, columns: [], hasHeader: true, column: null }
  const { columns, hasHeader, recipients } = findColumns(rows)
  return { ...choice, columns, hasHeader, column: columns[recipients] ?? null }
}

export const chooseText = (choice: RowsChoice, text: string): RowsChoice =>
  withColumns({ ...choice, text }, text.slice(0, headBytes))

export const chooseFile = async (choice: RowsChoice, chosen: File): Promise<RowsChoice> => {
  const file = await toUtf8(chosen)
  return withColumns({ ...choice, file }, await file.slice(0, headBytes).text())
}

/** The names in braces, without words for a missing value, that no column has. */
export const unknownPlaceholders = (
  text: string,
  { columns }: RowsChoice,
): ReadonlyArray<string> => {
  const known = new Set(columns.map((name) => name.toLowerCase()))
  return [...text.replaceAll(/\{\{|\}\}/g, "").matchAll(/\{([^{}|]+)\}/g)]
    .map(([, name = ""]) => name.trim())
    .filter((name) => !known.has(name.toLowerCase()))
}

export interface FilledCampaign {
  readonly data: FormData
  readonly attachment: Attachment
  readonly rows: RowsChoice
  readonly mode: "live" | "test"
}

/** The field's local time as an instant: the campaign's own while the field shows it. */
const toInstant = (data: FormData, name: string, known: string | null): string | null => {
  const text = formText(data, name)
  if (known !== null && text === toFieldTime(Date.parse(known))) return known
  return parseFieldTime(text)
}

const toHours = (data: FormData): SendingHours | null => {
  if (!data.has("limits hours")) return null
  const days = data.getAll("days") as SendingHours["days"]
  const until = formText(data, "until")
  return {
    ...(days === undefined ? {} : { days }),
    from: formText(data, "hours from"),
    // A day ends at 24:00, which a field of a time calls 00:00.
    until: until === "00:00" ? "24:00" : until,
  }
}

/** Of a started campaign nothing that its rows were checked with, and no time to begin. */
const isStarted = (campaign: Campaign | null): boolean =>
  campaign !== null && campaign.state !== "draft"

const optional = (text: string): string | null => (text === "" ? null : text)

const toInput = async (
  { attachment, data, mode, rows }: FilledCampaign,
  workspaceId: number,
  campaign: Campaign | null,
): Promise<ChangeCampaign> => {
  const numbers = data.getAll("from").map(Number)
  const always = {
    name: formText(data, "name"),
    from: numbers.length === 0 ? null : numbers,
    hours: toHours(data),
    expires_at: toInstant(data, "expires at", campaign?.expires_at ?? null),
    quota_reserve: Number(formText(data, "reserve")),
    reference: optional(formText(data, "reference")),
    ...(data.has("send at")
      ? { send_at: toInstant(data, "send at", campaign?.send_at ?? null) }
      : {}),
  }
  if (isStarted(campaign) || rows.how !== "replace") return always
  return {
    ...always,
    text: formText(data, "text"),
    media: await getMedia(attachment, workspaceId, mode),
    timezone: optional(formText(data, "zone")),
    default_country_code: optional(formText(data, "country code").replaceAll(/\D/g, "")),
    duplicates: data.get("duplicates") === "drop" ? "drop" : "keep",
  }
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Only what differs: the service refuses what may not change any more. */
const toChange = (
  input: ChangeCampaign,
  campaign: Campaign,
  attachment: Attachment,
): ChangeCampaign => {
  const known: Readonly<Record<string, unknown>> = {
    ...campaign,
    media: isSame(attachment, toAttachment(campaign.media)) ? input.media : campaign.media,
    reference: campaign.reference === `campaign-${campaign.id}` ? null : campaign.reference,
  }
  return Object.fromEntries(
    Object.entries(input).filter(([field, value]) => !isSame(value, known[field])),
  )
}

/** Refusals of the rows as a whole. */
const refusesRows = ["invalid_csv", "too_many_rows", "upload_in_progress", "request_too_large"]

const sendRows = async (
  path: CampaignPath,
  { mode, rows }: FilledCampaign,
  idempotencyKey: string,
  progress: (share: number) => void,
): Promise<void> => {
  const pasted = new File([rows.text], "rows.csv")
  try {
    await uploadTo("POST /admin/v1/workspaces/{id}/campaigns/{campaign_id}/rows", {
      path,
      query: { mode, to_column: rows.column ?? undefined },
      file: rows.source === "file" && rows.file !== null ? rows.file : pasted,
      progress,
      // Replaced rows are deleted before: the first answer would not bring them back.
      ...(rows.how === "add" ? { idempotencyKey } : {}),
    })
  } catch (error) {
    if (error instanceof Refused && refusesRows.includes(error.code))
      throw Object.assign(error, { field: "rows" })
    throw error
  }
}

/** Makes the draft, or changes the one that is known. */
const saveSettings = async (
  filled: FilledCampaign,
  workspaceId: number,
  campaign: Campaign | null,
  key: string,
): Promise<Campaign> => {
  const { attachment, mode, rows } = filled
  const input = await toInput(filled, workspaceId, campaign)
  const query = { mode }
  if (campaign === null)
    return call("POST /admin/v1/workspaces/{id}/campaigns", {
      path: { id: workspaceId },
      query,
      idempotencyKey: key,
      body: input as CampaignInput,
    })
  const path = { id: workspaceId, campaign_id: campaign.id }
  if (campaign.state === "draft" && rows.how === "replace")
    await call("DELETE /admin/v1/workspaces/{id}/campaigns/{campaign_id}/rows", { path, query })
  const change = toChange(input, campaign, attachment)
  if (Object.keys(change).length === 0) return campaign
  return call("PATCH /admin/v1/workspaces/{id}/campaigns/{campaign_id}", {
    path,
    query,
    body: change,
  })
}

/** Saves the settings, then sends the rows. A try after a refusal or a lost answer makes nothing twice. */
export const saveCampaign = async (
  filled: FilledCampaign,
  {
    campaign,
    key,
    progress,
    saved,
    workspaceId,
  }: {
    readonly workspaceId: number
    /** Null for a new one. */
    readonly campaign: Campaign | null
    /** The same for each try of one form. */
    readonly key: string
    /** Called before the rows are sent, which may be refused. */
    readonly saved: (campaign: Campaign) => void
    readonly progress: (share: number) => void
  },
): Promise<Campaign> => {
  const settings = await saveSettings(filled, workspaceId, campaign, key)
  saved(settings)
  if (settings.state === "draft" && filled.rows.how !== "keep")
    await sendRows({ id: workspaceId, campaign_id: settings.id }, filled, key, progress)
  return settings
}
