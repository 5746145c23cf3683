/** Campaigns of a workspace, for its operator. */
import {
  CampaignFiles,
  campaignReference,
  Campaigns,
  maximumCampaignFileBytes,
  MediaFiles,
  refuseUnkept,
  StoreUnavailable,
  toHoursInput,
} from "@messaging-service/core"
import type {
  CampaignForecast as Forecast,
  CampaignId,
  CampaignRowView,
  CampaignView,
  CampaignWait as Wait,
  Failure,
  Mode,
  Role,
  RowsAdded,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Stream } from "effect"
import type {
  Campaign,
  CampaignForecast,
  CampaignOptions,
  CampaignRow,
  CampaignRowsAdded,
  CampaignsApi,
  CampaignWait,
} from "../api/campaigns.ts"
import type { HasId } from "../api/common.ts"
import { toId, listing, repeatable, withReplayed } from "./Calls.ts"
import type { Run } from "./Calls.ts"
import { spoolFile } from "./CallerApi.ts"
import { date, dateOrNull } from "./records.ts"
import { anything, fields } from "./rules.ts"

const waitShown = ({ reason, until }: Wait): CampaignWait => ({ reason, until: dateOrNull(until) })

const campaignShown = (campaign: CampaignView): Campaign => ({
  id: campaign.id,
  mode: campaign.mode,
  name: campaign.name,
  state: campaign.state,
  stateReason: campaign.stateReason,
  text: campaign.text,
  media: campaign.media && {
    mediaId: campaign.media.mediaId,
    url: campaign.media.url,
    type: campaign.media.type,
    fileName: campaign.media.fileName,
  },
  from: campaign.from,
  reference: campaignReference(campaign),
  timezone: campaign.timezone,
  sendAt: dateOrNull(campaign.sendAt),
  hours: campaign.hours && toHoursInput(campaign.hours),
  expiresAt: dateOrNull(campaign.expiresAt),
  quotaReserve: campaign.quotaReserve,
  defaultCountryCode: campaign.defaultCountryCode,
  duplicates: campaign.duplicates,
  rows: campaign.rows,
  waitsFor: campaign.waitsFor && campaign.waitsFor.map(waitShown),
  finishesAt: dateOrNull(campaign.finishesAt),
  createdAt: date(campaign.createdAt),
  startedAt: dateOrNull(campaign.startedAt),
  endedAt: dateOrNull(campaign.endedAt),
})

const rowShown = (row: CampaignRowView): CampaignRow => ({
  row: row.row,
  line: row.line,
  to: row.to,
  status: row.status,
  text: row.text,
  sendAt: dateOrNull(row.sendAt),
  expiresAt: dateOrNull(row.expiresAt),
  messageId: row.messageId,
  numberId: row.numberId,
  takenOnAt: dateOrNull(row.takenOnAt),
  sentAt: dateOrNull(row.sentAt),
  deliveredAt: dateOrNull(row.deliveredAt),
  readAt: dateOrNull(row.readAt),
  error: row.problem,
})

const addedShown = ({ problems, ...added }: RowsAdded): CampaignRowsAdded => ({
  ...added,
  problems: problems.map(rowShown),
})

const forecastShown = (forecast: Forecast): CampaignForecast => ({
  ...forecast,
  startsAt: dateOrNull(forecast.startsAt),
  finishesAt: dateOrNull(forecast.finishesAt),
  waitsFor: forecast.waitsFor && forecast.waitsFor.map(waitShown),
})

interface Acting {
  readonly run: Run
  readonly role: Role
  readonly id: WorkspaceId | undefined
}

type Service = typeof Campaigns.Service

/** The key has a check of its own. */
const repeatOptions = fields<CampaignOptions & { readonly idempotencyKey?: unknown }>({
  idempotencyKey: anything,
  mode: anything,
})

const makeCalling = ({ id: workspaceId, role, run }: Acting) => {
  const scope = (options?: CampaignOptions) =>
    [role, workspaceId, (options?.mode ?? "live") satisfies Mode] as const
  const one = (campaign: HasId, options?: CampaignOptions) =>
    [...scope(options), toId<CampaignId>(campaign)] as const
  const toAnswer = (call: (campaigns: Service) => Effect.Effect<CampaignView, Failure>) =>
    run(Effect.map(Campaigns.use(call), campaignShown))
  /** Holds a place for a file that goes by. */
  const enter = Effect.gen(function* () {
    if (workspaceId !== undefined) yield* (yield* CampaignFiles).enter(workspaceId)
  })
  const path = `/admin/v1/workspaces/${workspaceId}/campaigns`
  const rowsPath = (campaign: HasId) => `${path}/${toId(campaign)}/rows`
  return { run, scope, one, toAnswer, enter, path, rowsPath }
}

type Rows = "addRows" | "uploadRows" | "clearRows" | "rows" | "row" | "results"

const rowsApi = ({
  enter,
  one,
  rowsPath,
  run,
}: ReturnType<typeof makeCalling>): Pick<CampaignsApi, Rows> => ({
  addRows: (campaign, rows, options) =>
    run(
      Effect.gen(function* () {
        const command = { rows }
        const key = yield* repeatable(options, rowsPath(campaign), command, repeatOptions)
        const all = yield* Campaigns
        const created = yield* all.addRows(...one(campaign, options), command, key)
        return withReplayed(addedShown(created.answer), created.replayed)
      }),
    ),
  uploadRows: (campaign, file, options) =>
    run(
      Effect.scoped(
        Effect.gen(function* () {
          yield* enter
          const unkept = refuseUnkept(yield* MediaFiles, "content")
          if (unkept !== undefined) return yield* unkept
          const spooled = yield* spoolFile(file?.content, maximumCampaignFileBytes)
          const toColumn = file.toColumn ?? null
          const body = { sha256: spooled.sha256, toColumn }
          const key = yield* repeatable(options, rowsPath(campaign), body, repeatOptions)
          const content = Stream.mapError(
            spooled.content,
            (cause) => new StoreUnavailable({ operation: "media.spool", cause }),
          )
          const all = yield* Campaigns
          const upload = { toColumn, content }
          const created = yield* all.uploadRows(...one(campaign, options), upload, key)
          return withReplayed(addedShown(created.answer), created.replayed)
        }),
      ),
    ),
  clearRows: (campaign, options) =>
    run(Campaigns.use((all) => all.clearRows(...one(campaign, options)))),
  rows: (campaign, query) =>
    listing(
      run,
      query,
      ({ mode, ...request }) =>
        Campaigns.use((all) => all.rows(...one(campaign, { mode }), request)),
      Effect.succeed(rowShown),
    ),
  row: (campaign, row, options) =>
    run(
      Effect.map(
        Campaigns.use((all) => all.row(...one(campaign, options), toId(row))),
        rowShown,
      ),
    ),
  results: (campaign, { mode, ...query } = {}) =>
    run(
      Effect.scoped(
        Effect.gen(function* () {
          yield* enter
          const lines = yield* (yield* Campaigns).results(...one(campaign, { mode }), query)
          return yield* Stream.mkString(lines)
        }),
      ),
    ),
})

export const campaignsApi = (acting: Acting): CampaignsApi => {
  const calling = makeCalling(acting)
  const { one, path, run, scope, toAnswer } = calling
  return {
    ...rowsApi(calling),
    create: (command, options) =>
      run(
        Effect.gen(function* () {
          const key = yield* repeatable(options, path, command, repeatOptions)
          const created = yield* (yield* Campaigns).create(...scope(options), command, key)
          return withReplayed(campaignShown(created.answer), created.replayed)
        }),
      ),
    list: (query) =>
      listing(
        run,
        query,
        ({ mode, ...request }) => Campaigns.use((all) => all.list(...scope({ mode }), request)),
        Effect.succeed(campaignShown),
      ),
    get: (campaign, options) => toAnswer((all) => all.get(...one(campaign, options))),
    update: (campaign, change, options) =>
      toAnswer((all) => all.update(...one(campaign, options), change)),
    remove: (campaign, options) =>
      run(Effect.asVoid(Campaigns.use((all) => all.remove(...one(campaign, options))))),
    forecast: (campaign, options) =>
      run(
        Effect.map(
          Campaigns.use((all) => all.forecast(...one(campaign, options))),
          forecastShown,
        ),
      ),
    start: (campaign, options) => toAnswer((all) => all.start(...one(campaign, options))),
    pause: (campaign, options) => toAnswer((all) => all.pause(...one(campaign, options))),
    resume: (campaign, { fromRow, mode } = {}) =>
      toAnswer((all) =>
        all.resume(...one(campaign, { mode }), fromRow === undefined ? {} : { fromRow }),
      ),
    stop: (campaign, options) => toAnswer((all) => all.stop(...one(campaign, options))),
  }
}
