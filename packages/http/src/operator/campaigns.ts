/** Campaigns: one message for each of many rows (contract: Campaigns). */
import {
  CampaignBody,
  CampaignChangeBody,
  CampaignFiles,
  CampaignQuery,
  CampaignResultsQuery,
  CampaignRowQuery,
  Campaigns,
  campaignReference,
  campaignStates,
  campaignWaitReasons,
  described,
  noRows,
  maximumCampaignFileBytes,
  pauseReasons,
  refuse,
  requireFitTexts,
  ResumeBody,
  RowsBody,
  rowStatuses,
  StoreUnavailable,
  toHoursInput,
  weekdays,
} from "@messaging-service/core"
import type {
  CampaignId,
  CampaignRowView,
  CampaignView,
  ChangeCampaign,
  CreateCampaign,
  ListCampaignRows,
  ListCampaigns,
  Refusal,
  Role,
  RowsAdded,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Result, Schema, Stream } from "effect"
import {
  answerJson,
  jsonBody,
  deleted,
  DeletedJson,
  IdJson,
  json,
  jsonOrFile,
  optionalJson,
  pageJson,
  pageBody,
  query,
  StreamedAnswer,
  Time,
} from "../Entry.ts"
import { parseQuery, repeatedAnswer } from "../IncomingRequest.ts"
import type { IncomingRequest } from "../IncomingRequest.ts"
import { toRequestField } from "../JsonNames.ts"
import { isMultipart } from "../MultipartForm.ts"
import type { Refused } from "../openapi/Operation.ts"
import type { JsonValue } from "../StrictJson.ts"
import { MediaJson } from "../v2/messages.ts"
import { RequestedRecipientJson } from "../v2/reminders.ts"
import { ModeParameter, parseMode, operatorRoute, workspacePath } from "./pipeline.ts"
import type { OperatorRoute } from "./pipeline.ts"

// Answers

const CountsJson = Schema.Struct({
  total: described(Schema.Int, "The sum of the others."),
  pending: described(Schema.Int, "Not taken on yet."),
  refused: Schema.Int,
  skipped: described(Schema.Int, "Not taken on any more."),
  queued: Schema.Int,
  sent: Schema.Int,
  delivered: Schema.Int,
  read: Schema.Int,
  failed: Schema.Int,
  cancelled: Schema.Int,
  expired: Schema.Int,
}).annotate({ identifier: "CampaignRowCounts" })

const WaitsJson = described(
  Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        reason: Schema.Literals(campaignWaitReasons),
        until: described(Schema.NullOr(Time), "When it ends by itself; null when unknown."),
      }),
    ),
  ),
  "Why no row is taken on now; null unless `scheduled` or `running`. Empty: the next look takes rows, or none is left.",
)

const ClockTimeJson = Schema.String.annotate({ pattern: "^\\d\\d:\\d\\d$", examples: ["09:00"] })

const CampaignJson = Schema.Struct({
  id: IdJson,
  mode: Schema.Literals(["live", "test"]),
  name: Schema.String,
  state: Schema.Literals(campaignStates),
  stateReason: described(
    Schema.NullOr(Schema.Literals(pauseReasons)),
    "Why it is paused; else null.",
  ),
  text: described(Schema.String, "The template."),
  media: Schema.NullOr(MediaJson),
  from: described(
    Schema.NullOr(Schema.Array(IdJson)),
    "Sending numbers; null for any of the workspace.",
  ),
  reference: described(Schema.String, "Of all its messages."),
  timezone: Schema.NullOr(Schema.String),
  sendAt: Schema.NullOr(Time),
  hours: described(
    Schema.NullOr(
      Schema.Struct({
        days: Schema.Array(Schema.Literals(weekdays)),
        from: ClockTimeJson,
        until: ClockTimeJson,
      }),
    ),
    "Messages leave only then.",
  ),
  expiresAt: Schema.NullOr(Time),
  quotaReserve: described(Schema.Int, "What it leaves to others of each number's 24 hours."),
  defaultCountryCode: Schema.NullOr(Schema.String),
  duplicates: Schema.Literals(["keep", "drop"]),
  rows: described(CountsJson, "How many rows have each status, exact when the answer is made."),
  waitsFor: WaitsJson,
  finishesAt: described(Schema.NullOr(Time), "As far as is known now; null when unknown."),
  createdAt: Time,
  startedAt: Schema.NullOr(Time),
  endedAt: Schema.NullOr(Time),
}).annotate({ identifier: "Campaign" })

const shownCampaign = (campaign: CampaignView) => ({
  ...campaign,
  reference: campaignReference(campaign),
  hours: campaign.hours && toHoursInput(campaign.hours),
})

const RowJson = Schema.Struct({
  row: Schema.Int,
  line: described(Schema.NullOr(Schema.Int), "Its line in the file; null unless from one."),
  to: described(
    Schema.NullOr(RequestedRecipientJson),
    "As the row named it; null once its message was erased.",
  ),
  status: described(
    Schema.Literals(rowStatuses),
    "What happened to it: its own status, or its message's.",
  ),
  text: described(
    Schema.NullOr(Schema.String),
    "As it would be sent or was sent; null when refused.",
  ),
  sendAt: Schema.NullOr(Time),
  expiresAt: Schema.NullOr(Time),
  messageId: Schema.NullOr(IdJson),
  numberId: Schema.NullOr(IdJson),
  takenOnAt: Schema.NullOr(Time),
  sentAt: Schema.NullOr(Time),
  deliveredAt: Schema.NullOr(Time),
  readAt: Schema.NullOr(Time),
  error: described(
    Schema.NullOr(
      Schema.Struct({
        code: Schema.String,
        message: Schema.String,
        field: Schema.NullOr(Schema.String),
        row: described(
          Schema.NullOr(Schema.Int),
          "Of a duplicate: the first row with the recipient.",
        ),
      }),
    ),
    "Why it was refused or skipped, or why its message failed.",
  ),
}).annotate({ identifier: "CampaignRow" })

const shownRow = (row: CampaignRowView) => ({
  ...row,
  error: row.problem && {
    ...row.problem,
    field: row.problem.field && toRequestField(row.problem.field),
  },
})

const AddedJson = Schema.Struct({
  firstRow: Schema.Int,
  lastRow: Schema.Int,
  pending: described(Schema.Int, "Rows that can be sent."),
  refused: described(Schema.Int, "Rows that cannot be sent; they never stop the others."),
  problems: described(Schema.Array(RowJson), "The first 100 refused ones."),
}).annotate({ identifier: "CampaignRowsAdded" })

const shownAdded = (added: RowsAdded) => ({ ...added, problems: added.problems.map(shownRow) })

const ClearedJson = Schema.Struct({
  deleted: described(Schema.Int, "How many."),
}).annotate({ identifier: "CampaignRowsCleared" })

const ForecastJson = Schema.Struct({
  rows: described(Schema.Int, "Pending rows."),
  allowance: Schema.Struct({
    remaining: described(
      Schema.NullOr(Schema.Int),
      "Messages that the plan still accepts; null for unlimited.",
    ),
    missing: described(Schema.Int, "How many rows it is short of."),
  }),
  numbers: Schema.Array(
    Schema.Struct({
      numberId: IdJson,
      usable: Schema.Boolean,
      room: described(Schema.Int, "Now in its 24 hours, the reserve taken off."),
      rows: described(Schema.Int, "Its share."),
    }),
  ),
  startsAt: Schema.NullOr(Time),
  finishesAt: described(
    Schema.NullOr(Time),
    "Null when the allowance is short, or no number is usable.",
  ),
  waitsFor: WaitsJson,
}).annotate({ identifier: "CampaignForecast" })

const ResultsCsv = Schema.Unknown.annotate({ identifier: "CampaignResults" })

// Examples

const exampleInput = {
  name: "Spring hours",
  text: "Hello {name|there}, we open at {opens} from Monday.",
  timezone: "Europe/London",
  hours: { days: ["mon", "tue", "wed", "thu", "fri"], from: "09:00", until: "18:00" },
} as const

const exampleCounts = {
  total: 5000,
  pending: 3987,
  refused: 13,
  skipped: 0,
  queued: 8,
  sent: 112,
  delivered: 590,
  read: 287,
  failed: 3,
  cancelled: 0,
  expired: 0,
}

const exampleCampaign = {
  id: 7,
  mode: "live",
  name: exampleInput.name,
  state: "running",
  state_reason: null,
  text: exampleInput.text,
  media: null,
  from: null,
  reference: "campaign-7",
  timezone: exampleInput.timezone,
  send_at: null,
  hours: exampleInput.hours,
  expires_at: null,
  quota_reserve: 200,
  default_country_code: null,
  duplicates: "keep",
  rows: exampleCounts,
  waits_for: [{ reason: "quota", until: "2030-02-01T09:00:00Z" }],
  finishes_at: "2030-02-04T16:20:00Z",
  created_at: "2030-01-31T07:00:00Z",
  started_at: "2030-01-31T09:00:00Z",
  ended_at: null,
}

const exampleDraft = {
  ...exampleCampaign,
  state: "draft",
  rows: noRows,
  waits_for: null,
  finishes_at: null,
  started_at: null,
}

const exampleRow = {
  row: 17,
  line: 18,
  to: { phone: "+15550001234" },
  status: "delivered",
  text: "Hello Ada, we open at 8 from Monday.",
  send_at: null,
  expires_at: null,
  message_id: 4712,
  number_id: 12,
  taken_on_at: "2030-01-31T09:00:00Z",
  sent_at: "2030-01-31T09:00:05Z",
  delivered_at: "2030-01-31T09:00:07Z",
  read_at: null,
  error: null,
}

const exampleRefused = {
  ...exampleRow,
  row: 3,
  line: 4,
  status: "refused",
  text: null,
  message_id: null,
  number_id: null,
  taken_on_at: null,
  sent_at: null,
  delivered_at: null,
  error: {
    code: "placeholder_empty",
    message: "A placeholder of the text has no value.",
    field: "values.opens",
    row: null,
  },
}

const exampleResults =
  "row,to,status,message_id,number_id,taken_on_at,sent_at,delivered_at,read_at,error_code,error_field,error_message\r\n17,+15550001234,delivered,4712,12,2030-01-31T09:00:00Z,2030-01-31T09:00:05Z,2030-01-31T09:00:07Z,,,,\r\n"

// Routes

const route = operatorRoute("Campaigns")

const campaignsPath = `${workspacePath}/campaigns` as const
const campaignPath = `${campaignsPath}/{campaign_id}` as const
const rowsPath = `${campaignPath}/rows` as const

const UploadParameters = Schema.Struct({
  ...ModeParameter.fields,
  to_column: Schema.optionalKey(
    Schema.String.annotate({
      description: "Of a file: the column of the recipients. Default: `to`, else `phone`.",
    }),
  ),
})

const twice = refuse("validation_failed", {
  field: "toColumn",
  message: "to_column: must be given only once",
})

const toToColumn = ({ query: text }: IncomingRequest): Result.Result<string | null, Refusal> =>
  Result.flatMap(parseQuery(text), (entries) => {
    const [column = null, ...more] = entries.flatMap(([name, value]) =>
      name === "to_column" ? value : [],
    )
    if (more.length > 0) return Result.fail(twice)
    return Result.map(requireFitTexts({ toColumn: column }), () => column)
  })

/** The campaigns' owner: a workspace, in the mode of the query. */
const whose = (role: Role, workspaceId: WorkspaceId | undefined, incoming: IncomingRequest) =>
  Effect.map(Effect.fromResult(parseMode(incoming)), (mode) => [role, workspaceId, mode] as const)

const refusedInput: ReadonlyArray<Refused> = [
  "text_required",
  "text_too_long",
  "invalid_template",
  "invalid_datetime",
  "invalid_timezone",
  "time_in_past",
  "number_not_found",
  "media_not_found",
  "invalid_media_url",
]

const missing: Refused = "campaign_not_found"

/** Holds a place for a file that goes by, before its body is read. */
const holdLocation = (workspaceId: WorkspaceId | undefined) =>
  workspaceId === undefined
    ? Effect.void
    : Effect.flatMap(CampaignFiles, ({ enter }) => enter(workspaceId))

const encoder = new TextEncoder()

/** `start`, `pause` and `stop`, which take no body. */
const moves = (["start", "pause", "stop"] as const).map((move) => {
  const { about, refused, success, summary } = {
    start: {
      summary: "Start a campaign",
      about: "It needs a pending row. Without `send_at` ahead it runs at once.",
      success: "The running or scheduled campaign.",
      refused: [
        "campaign_started",
        "campaign_ended",
        "no_rows",
        "time_in_past",
        "number_not_found",
        "account_disabled",
        "demo_account",
      ],
    },
    pause: {
      summary: "Pause a campaign",
      about:
        "What waits in queues is held with it, and what a transport has in hands ends as it ends.",
      success: "The paused campaign.",
      refused: ["campaign_not_started", "campaign_ended"],
    },
    stop: {
      summary: "Stop a campaign",
      about:
        "For good: pending rows are skipped, and waiting messages are cancelled, each with its event, before the answer.",
      success: "The stopped campaign.",
      refused: ["campaign_not_started", "campaign_ended"],
    },
  }[move] as { about: string; refused: ReadonlyArray<Refused>; success: string; summary: string }
  return route(`POST ${campaignPath}/${move}`, {
    id: `${move}Campaign`,
    right: "send",
    summary,
    about: `${about} What is so already changes nothing.`,
    parameters: ModeParameter,
    success,
    answer: jsonBody(CampaignJson, exampleCampaign),
    refused: [missing, ...refused],
    handler: Effect.fnUntraced(function* moveCampaign({ id, incoming, role }) {
      const campaigns = yield* Campaigns
      // Refusals name fields of the campaign.
      incoming.source = "json"
      const scope = yield* whose(role, id("id"), incoming)
      return shownCampaign(yield* campaigns[move](...scope, id("campaign_id")))
    }),
  })
})

export const campaignRoutes: ReadonlyArray<OperatorRoute> = [
  route(`POST ${campaignsPath}`, {
    idempotent: true,
    id: "createCampaign",
    right: "send",
    summary: "Make a campaign",
    about: "A draft: add rows, look at what would be sent, and start it.",
    parameters: ModeParameter,
    request: json<CreateCampaign>()(CampaignBody, exampleInput),
    status: 201,
    success: "The draft.",
    answer: jsonBody(CampaignJson, exampleDraft),
    refused: [...refusedInput, "campaign_limit_reached"],
    handler: Effect.fnUntraced(function* createCampaign({
      id,
      idempotency,
      incoming,
      request,
      role,
    }) {
      const campaigns = yield* Campaigns
      const scope = yield* whose(role, id("id"), incoming)
      const created = yield* campaigns.create(...scope, request, idempotency)
      return repeatedAnswer(incoming, answerJson(created, shownCampaign))
    }),
  }),
  route(`GET ${campaignsPath}`, {
    id: "listCampaigns",
    right: "read",
    summary: "List campaigns",
    about: "Newest first.",
    parameters: ModeParameter,
    request: query<ListCampaigns>()(CampaignQuery),
    success: "A page of campaigns.",
    answer: pageBody(CampaignJson, exampleCampaign),
    handler: Effect.fnUntraced(function* listCampaigns({ id, incoming, request, role }) {
      const campaigns = yield* Campaigns
      const scope = yield* whose(role, id("id"), incoming)
      return pageJson(yield* campaigns.list(...scope, request), shownCampaign)
    }),
  }),
  route(`GET ${campaignPath}`, {
    id: "getCampaign",
    right: "read",
    summary: "Read a campaign",
    parameters: ModeParameter,
    success: "The campaign.",
    answer: jsonBody(CampaignJson, exampleCampaign),
    refused: [missing],
    handler: Effect.fnUntraced(function* getCampaign({ id, incoming, role }) {
      const campaigns = yield* Campaigns
      const scope = yield* whose(role, id("id"), incoming)
      return shownCampaign(yield* campaigns.get(...scope, id("campaign_id")))
    }),
  }),
  route(`PATCH ${campaignPath}`, {
    id: "updateCampaign",
    right: "send",
    summary: "Change a campaign",
    about:
      "`text`, `media`, `timezone`, `default_country_code` and `duplicates` only without rows, `send_at` until it runs, the others until it ends. Rows that are taken on later follow them.",
    parameters: ModeParameter,
    request: json<ChangeCampaign>()(CampaignChangeBody, { quota_reserve: 500 }),
    success: "The changed campaign.",
    answer: jsonBody(CampaignJson, exampleCampaign),
    refused: [missing, ...refusedInput, "campaign_has_rows", "campaign_started", "campaign_ended"],
    handler: Effect.fnUntraced(function* updateCampaign({ id, incoming, request, role }) {
      const campaigns = yield* Campaigns
      const scope = yield* whose(role, id("id"), incoming)
      return shownCampaign(yield* campaigns.update(...scope, id("campaign_id"), request))
    }),
  }),
  route(`DELETE ${campaignPath}`, {
    id: "deleteCampaign",
    right: "send",
    summary: "Delete a campaign",
    about:
      "Stops it first. Its messages stay, and its rows are erased by the next round of housekeeping.",
    parameters: ModeParameter,
    success: "Deleted.",
    answer: jsonBody(DeletedJson, deleted(7)),
    refused: [missing],
    handler: Effect.fnUntraced(function* deleteCampaign({ id, incoming, role }) {
      const campaigns = yield* Campaigns
      const scope = yield* whose(role, id("id"), incoming)
      return deleted(yield* campaigns.remove(...scope, id("campaign_id")))
    }),
  }),
  route(`POST ${rowsPath}`, {
    idempotent: true,
    id: "addCampaignRows",
    right: "send",
    summary: "Add rows to a draft",
    about:
      "As JSON, or a CSV file whose first line names the columns. Every row is checked; a refused one never stops the others. A file is taken whole or not at all.",
    parameters: UploadParameters,
    request: jsonOrFile(
      RowsBody,
      { rows: [{ to: { phone: "+15550001234" }, values: { name: "Ada", opens: "8" } }] },
      maximumCampaignFileBytes,
    ),
    holds: ({ request }, workspaceId) =>
      isMultipart(request.headers["content-type"]) ? holdLocation(workspaceId) : Effect.void,
    status: 201,
    success: "What was added.",
    answer: jsonBody(AddedJson, {
      first_row: 1,
      last_row: 5000,
      pending: 4987,
      refused: 13,
      problems: [exampleRefused],
    }),
    refused: [
      missing,
      "campaign_started",
      "upload_in_progress",
      "too_many_rows",
      "column_not_found",
      "invalid_csv",
      "rate_limited",
    ],
    handler: Effect.fnUntraced(function* addCampaignRows({
      id,
      idempotency,
      incoming,
      request,
      role,
    }) {
      const campaigns = yield* Campaigns
      const scope = yield* whose(role, id("id"), incoming)
      const toColumn = yield* Effect.fromResult(toToColumn(incoming))
      const campaignId = id<CampaignId>("campaign_id")
      if (request.kind === "json") {
        const added = campaigns.addRows(...scope, campaignId, request.command, idempotency)
        return repeatedAnswer(incoming, answerJson(yield* added, shownAdded))
      }
      const content = Stream.mapError(
        request.content.content,
        (cause) => new StoreUnavailable({ operation: "media.spool", cause }),
      )
      const upload = { toColumn, content }
      const added = campaigns.uploadRows(...scope, campaignId, upload, idempotency)
      return repeatedAnswer(incoming, answerJson(yield* added, shownAdded))
    }),
  }),
  route(`DELETE ${rowsPath}`, {
    id: "clearCampaignRows",
    right: "send",
    summary: "Delete a draft's rows",
    parameters: ModeParameter,
    success: "How many rows it had.",
    answer: jsonBody(ClearedJson, { deleted: 5000 }),
    refused: [missing, "campaign_started"],
    handler: Effect.fnUntraced(function* clearCampaignRows({ id, incoming, role }) {
      const campaigns = yield* Campaigns
      const scope = yield* whose(role, id("id"), incoming)
      return { deleted: yield* campaigns.clearRows(...scope, id("campaign_id")) }
    }),
  }),
  route(`GET ${rowsPath}`, {
    id: "listCampaignRows",
    right: "read",
    summary: "List a campaign's rows",
    about: "In the order of `row`, with what became of each.",
    parameters: ModeParameter,
    request: query<ListCampaignRows>()(CampaignRowQuery),
    success: "A page of rows.",
    answer: pageBody(RowJson, exampleRow),
    refused: [missing, "invalid_phone"],
    handler: Effect.fnUntraced(function* listCampaignRows({ id, incoming, request, role }) {
      const campaigns = yield* Campaigns
      const scope = yield* whose(role, id("id"), incoming)
      return pageJson(yield* campaigns.rows(...scope, id("campaign_id"), request), shownRow)
    }),
  }),
  route(`GET ${rowsPath}/{row}`, {
    id: "getCampaignRow",
    right: "read",
    summary: "Read a row",
    parameters: ModeParameter,
    success: "The row.",
    answer: jsonBody(RowJson, exampleRow),
    refused: [missing, "row_not_found"],
    handler: Effect.fnUntraced(function* getCampaignRow({ id, incoming, role }) {
      const campaigns = yield* Campaigns
      const scope = yield* whose(role, id("id"), incoming)
      return shownRow(yield* campaigns.row(...scope, id("campaign_id"), id("row")))
    }),
  }),
  route(`GET ${campaignPath}/results.csv`, {
    id: "downloadCampaignResults",
    right: "read",
    summary: "Download a campaign's results",
    about:
      "A line for each row, in their order. A stream: a broken one ends without its last line.",
    parameters: ModeParameter,
    request: query<Pick<ListCampaignRows, "status">>()(CampaignResultsQuery),
    success: "UTF-8 with a byte order mark, commas and CRLF.",
    contentType: "text/csv",
    answer: jsonBody(ResultsCsv, exampleResults),
    refused: [missing, "rate_limited"],
    handler: Effect.fnUntraced(function* downloadCampaignResults({ id, incoming, request, role }) {
      const campaigns = yield* Campaigns
      const files = yield* CampaignFiles
      const scope = yield* whose(role, id("id"), incoming)
      const campaignId = id<CampaignId>("campaign_id")
      const workspaceId = id<WorkspaceId>("id")
      return new StreamedAnswer(
        "text/csv",
        Effect.gen(function* openResults() {
          if (workspaceId !== undefined) yield* files.enter(workspaceId)
          const lines = yield* campaigns.results(...scope, campaignId, request)
          incoming.answerHeaders["content-disposition"] =
            `attachment; filename="campaign-${campaignId}.csv"`
          incoming.answerHeaders["x-content-type-options"] = "nosniff"
          return Stream.map(lines, (text) => encoder.encode(text))
        }),
      )
    }),
  }),
  route(`GET ${campaignPath}/forecast`, {
    id: "forecastCampaign",
    right: "read",
    summary: "See when a campaign would finish",
    about: "From what is known now: hours, pacing and room of its numbers. Stores nothing.",
    parameters: ModeParameter,
    success: "The forecast.",
    answer: jsonBody(ForecastJson, {
      rows: 3987,
      allowance: { remaining: 5000, missing: 0 },
      numbers: [{ number_id: 12, usable: true, room: 788, rows: 3987 }],
      starts_at: "2030-01-31T09:00:00Z",
      finishes_at: "2030-02-04T16:20:00Z",
      waits_for: [],
    }),
    refused: [missing],
    handler: Effect.fnUntraced(function* forecastCampaign({ id, incoming, role }) {
      const campaigns = yield* Campaigns
      const scope = yield* whose(role, id("id"), incoming)
      return yield* campaigns.forecast(...scope, id("campaign_id"))
    }),
  }),
  ...moves,
  route(`POST ${campaignPath}/resume`, {
    id: "resumeCampaign",
    right: "send",
    summary: "Resume a campaign",
    about:
      "What was held leaves in its order. After a restore of the store `from_row` names the first row that had not left: pending rows before it are skipped. What is so already changes nothing.",
    parameters: ModeParameter,
    request: optionalJson<JsonValue>()(ResumeBody, { from_row: 1021 }),
    success: "The running or scheduled campaign.",
    answer: jsonBody(CampaignJson, exampleCampaign),
    refused: [missing, "campaign_not_started", "campaign_ended", "from_row_required"],
    handler: Effect.fnUntraced(function* resumeCampaign({ id, incoming, request, role }) {
      const campaigns = yield* Campaigns
      const scope = yield* whose(role, id("id"), incoming)
      return shownCampaign(yield* campaigns.resume(...scope, id("campaign_id"), request))
    }),
  }),
]
