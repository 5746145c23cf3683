/** Makes the service of campaigns. */
import { Clock, Effect, Layer, Option, Stream } from "effect"
import { maximumOpenCampaigns, noRows } from "../model/Campaign.ts"
import type { Campaign, CampaignRow, CampaignSettings, NewCampaign } from "../model/Campaign.ts"
import {
  campaignParser,
  decideUpdate,
  parseListCampaignRows,
  parseListCampaigns,
  parseResultsQuery,
  parseResume,
  parseRows,
  refuseTimes,
} from "../model/CampaignInput.ts"
import type { RequestedCampaign } from "../model/CampaignInput.ts"
import { Caller } from "../model/Auth.ts"
import { Egress, OutboundRule } from "../model/Egress.ts"
import type { IdempotencyClaim } from "../model/Idempotency.ts"
import type { CampaignId, NumberId, WorkspaceId } from "../model/Ids.ts"
import { Ids } from "../model/Ids.ts"
import { makeCursors } from "../model/Page.ts"
import { refuse } from "../model/Refusal.ts"
import type { Code, Failure, StoreUnavailable } from "../model/Refusal.ts"
import { isVisibleTo } from "../model/SendingNumber.ts"
import type { Mode, Role } from "../model/Workspace.ts"
import type { CampaignScope, CountedCampaign, RowFilter } from "../store/CampaignStore.ts"
import { commitAndWake, WakeUp } from "../store/DueWork.ts"
import { Store } from "../store/Store.ts"
import { addedBefore, addRows, findCampaign, findDraft, uploadRows } from "./addCampaignRows.ts"
import type { CampaignLocation } from "./addCampaignRows.ts"
import { makeCampaignActions } from "./campaignActions.ts"
import { Campaigns } from "./Campaigns.ts"
import type { CampaignView } from "./Campaigns.ts"
import { resultsHeader, resultsLine, rowView } from "./campaignViews.ts"
import { makeIdempotent } from "./makeIdempotent.ts"
import { Workspaces } from "./Workspaces.ts"

/** Decisions to try while others change the campaign. */
const attempts = 10

/** Rows of results that are read at once. */
const rowsRead = 1000

const getDraft = (
  { mode, workspaceId }: CampaignScope,
  settings: CampaignSettings,
  now: number,
): NewCampaign => ({
  ...settings,
  workspaceId,
  mode,
  state: "draft",
  stateReason: null,
  isHolding: false,
  asksFromRow: false,
  runningSince: null,
  lookAt: null,
  createdAt: now,
  startedAt: null,
  endedAt: null,
})

const makeWork = Effect.gen(function* makeWork() {
  const { campaigns, media, numbers } = yield* Store
  return {
    store: campaigns,
    files: media,
    numbers,
    egress: yield* Egress,
    wakeUp: yield* WakeUp,
    ids: yield* Ids,
    actions: yield* makeCampaignActions,
    cursors: yield* makeCursors,
    idempotent: yield* makeIdempotent,
    workspaces: yield* Workspaces,
    parse: campaignParser(yield* OutboundRule),
  }
})

type Work = Effect.Success<typeof makeWork>

/** Fails with `number_not_found` where the workspace has not all of them. */
const requireNumbers = Effect.fnUntraced(function* requireNumbers(
  { numbers }: Work,
  { mode, workspaceId }: CampaignScope,
  from: ReadonlyArray<NumberId> | null,
) {
  if (from === null) return
  const all = yield* numbers.list(workspaceId)
  const known = new Set(all.filter((one) => isVisibleTo(mode, one)).map(({ id }) => id))
  if (!from.every((id) => known.has(id))) {
    return yield* refuse("number_not_found", { field: "from" })
  }
})

/** As POST /messages checks its file. */
const requireMedia = Effect.fnUntraced(function* requireMedia(
  { egress, files }: Work,
  { mode, workspaceId }: CampaignScope,
  media: CampaignSettings["media"],
) {
  if (media === null) return
  if (media.mediaId !== null) {
    const file = yield* files.get(workspaceId, mode, media.mediaId)
    if (file === null) return yield* refuse("media_not_found", { field: "media.mediaId" })
  }
  if (media.url !== null && !(yield* egress.allows(media.url, workspaceId))) {
    return yield* refuse("invalid_media_url", { field: "media.url" })
  }
})

/** A new draft has no rows, and nothing ahead. */
const newView = (campaign: Campaign): CampaignView => ({
  ...campaign,
  rows: noRows,
  waitsFor: null,
  finishesAt: null,
})

const readViews = Effect.fnUntraced(function* readViews(
  { actions }: Work,
  found: ReadonlyArray<CountedCampaign>,
) {
  const now = yield* Clock.currentTimeMillis
  const campaigns = found.map(({ campaign }) => campaign)
  const outlooks = yield* actions.outlooks(campaigns, now)
  return found.map(({ campaign, rows }, index): CampaignView => ({
    ...newView(campaign),
    rows,
    ...outlooks[index],
  }))
})

const readView = (work: Work, found: CountedCampaign) =>
  Effect.map(readViews(work, [found]), ([view = newView(found.campaign)]) => view)

const insert = Effect.fnUntraced(function* insert(
  work: Work,
  scope: CampaignScope,
  { settings, times }: RequestedCampaign,
  idempotency: IdempotencyClaim | null,
) {
  const now = yield* Clock.currentTimeMillis
  yield* Effect.fromResult(refuseTimes(times, now))
  yield* requireNumbers(work, scope, settings.from)
  yield* requireMedia(work, scope, settings.media)
  const draft = getDraft(scope, settings, now)
  const inserted = yield* work.store.insert(draft, maximumOpenCampaigns, idempotency)
  if (inserted._tag === "Inserted") return newView(inserted.campaign)
  return yield* inserted._tag === "Full"
    ? refuse("campaign_limit_reached")
    : refuse("idempotency_in_progress", { retryAfter: 1 })
})

const createdBefore = Effect.fnUntraced(function* createdBefore(
  { store }: Work,
  [id]: ReadonlyArray<number>,
) {
  const campaign = id === undefined ? null : yield* store.created(id as CampaignId)
  return campaign === null ? yield* refuse("campaign_not_found") : newView(campaign)
})

const update = Effect.fnUntraced(function* update(
  work: Work,
  place: CampaignLocation,
  command: unknown,
) {
  const change = yield* Effect.fromResult(work.parse.change(command))
  for (let attempt = 0; attempt < attempts; attempt++) {
    const found = yield* findCampaign(place)
    const { campaign, rows } = found
    const now = yield* Clock.currentTimeMillis
    const decided = decideUpdate(campaign, rows.total, change, now)
    const settings = yield* Effect.fromResult(decided)
    if (Object.keys(change.settings).length === 0) return yield* readView(work, found)
    yield* requireNumbers(work, place.scope, change.settings.from ?? null)
    yield* requireMedia(work, place.scope, change.settings.media ?? null)
    // What it waits for may be other things now.
    const lookAt = campaign.state === "draft" ? null : now
    const isChanged = yield* commitAndWake(
      work.store.update(campaign.id, campaign.revision, settings, lookAt),
      work.wakeUp.wake("campaigns"),
    )
    if (isChanged) return yield* readView(work, yield* findCampaign(place))
  }
  return yield* refuse("internal_error")
})

const clearRows = Effect.fnUntraced(function* clearRows(place: CampaignLocation) {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { campaign } = yield* findDraft(place)
    const cleared = yield* place.store.clearRows(campaign.id, campaign.revision)
    if (cleared !== null) return cleared
  }
  return yield* refuse("internal_error")
})

const everyRow: RowFilter = { statuses: null, code: null, phone: null }

const list = Effect.fnUntraced(function* list(work: Work, scope: CampaignScope, query: object) {
  const request = yield* Effect.fromResult(parseListCampaigns(query))
  const { state: states = null, ...page } = request
  const binding = ["campaigns", scope.workspaceId, scope.mode, states]
  const now = yield* Clock.currentTimeMillis
  const found = yield* work.cursors.page(page, binding, (one) =>
    work.store.list(scope, { states }, one, now),
  )
  return { items: yield* readViews(work, found.items), next: found.next }
})

const listRows = Effect.fnUntraced(function* listRows(
  { cursors, store }: Work,
  place: CampaignLocation,
  query: object,
) {
  const request = yield* Effect.fromResult(parseListCampaignRows(query))
  const { code = null, status: statuses = null, to: phone = null, ...page } = request
  const { campaign } = yield* findCampaign(place)
  const now = yield* Clock.currentTimeMillis
  const binding = ["campaign_rows", campaign.id, statuses, code, phone]
  // The cursor holds the row to go on after.
  const found = yield* cursors.page(page, binding, ({ before: after, limit }) =>
    Effect.map(
      store.rows(campaign.id, { statuses, code, phone }, { after, limit: limit + 1 }, now),
      (rows) => {
        const items = rows.slice(0, limit)
        return { items, next: rows.length > limit ? (items.at(-1)?.row ?? null) : null }
      },
    ),
  )
  return { ...found, items: found.items.map((row) => rowView(campaign.text, row)) }
})

const readRow = Effect.fnUntraced(function* readRow(
  place: CampaignLocation,
  row: number | undefined,
) {
  const { campaign } = yield* findCampaign(place)
  if (row === undefined) return yield* refuse("row_not_found")
  const now = yield* Clock.currentTimeMillis
  const page = { after: row - 1, limit: 1 }
  const [found] = yield* place.store.rows(campaign.id, everyRow, page, now)
  return found?.row === row ? rowView(campaign.text, found) : yield* refuse("row_not_found")
})

const results = Effect.fnUntraced(function* results(place: CampaignLocation, query: object) {
  const { status: statuses = null } = yield* Effect.fromResult(parseResultsQuery(query))
  const { campaign } = yield* findCampaign(place)
  const read = (after: number | null) =>
    Effect.map(
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        place.store.rows(campaign.id, { ...everyRow, statuses }, { after, limit: rowsRead }, now),
      ),
      (rows: ReadonlyArray<CampaignRow>) => {
        const last = rows.at(-1)
        const next =
          last === undefined || rows.length < rowsRead ? Option.none() : Option.some(last.row)
        return [[rows.map(resultsLine).join("")], next] as const
      },
    )
  return Stream.concat(
    Stream.succeed(resultsHeader),
    Stream.paginate<number | null, string, StoreUnavailable>(null, read),
  )
})

type Methods = Campaigns["Service"]

/** A workspace in a mode, once the role may do that there. */
const enter = Effect.fnUntraced(function* enter(
  { store, workspaces }: Work,
  duty: "reading" | "messages",
  role: Role,
  id: WorkspaceId | undefined,
  mode: Mode,
) {
  const workspace = yield* workspaces.within(role, id, duty)
  const scope: CampaignScope = { workspaceId: workspace.id, mode }
  const at = (campaignId: CampaignId | undefined): CampaignLocation => ({
    store,
    scope,
    id: campaignId,
  })
  return { at, caller: Caller.trusted(workspace, { mode }), scope }
})

const draftMethods = (
  work: Work,
): Pick<Methods, "create" | "list" | "get" | "update" | "remove"> => ({
  create: Effect.fn("Campaigns.create")(function* (role, workspaceId, mode, command, key) {
    const { caller, scope } = yield* enter(work, "messages", role, workspaceId, mode)
    const requested = yield* Effect.fromResult(work.parse.creation(command))
    return yield* work.idempotent.run(caller, key, {
      work: (claim) => insert(work, scope, requested, claim),
      again: (created) => createdBefore(work, created),
    })
  }),
  list: Effect.fn("Campaigns.list")(function* (role, workspaceId, mode, query) {
    const { scope } = yield* enter(work, "reading", role, workspaceId, mode)
    return yield* list(work, scope, query)
  }),
  get: Effect.fn("Campaigns.get")(function* get(role, workspaceId, mode, id) {
    const { at } = yield* enter(work, "reading", role, workspaceId, mode)
    return yield* readView(work, yield* findCampaign(at(id)))
  }),
  update: Effect.fn("Campaigns.update")(function* (role, workspaceId, mode, id, command) {
    const { at } = yield* enter(work, "messages", role, workspaceId, mode)
    return yield* update(work, at(id), command)
  }),
  remove: Effect.fn("Campaigns.remove")(function* remove(role, workspaceId, mode, id) {
    const { at, scope } = yield* enter(work, "messages", role, workspaceId, mode)
    const { campaign } = yield* findCampaign(at(id))
    yield* work.actions.remove(scope, campaign.id)
    return campaign.id
  }),
})

const rowMethods = (
  work: Work,
): Pick<Methods, "addRows" | "uploadRows" | "clearRows" | "rows" | "row" | "results"> => ({
  addRows: Effect.fn("Campaigns.addRows")(function* (role, workspaceId, mode, id, command, key) {
    const { at, caller } = yield* enter(work, "messages", role, workspaceId, mode)
    const input = yield* Effect.fromResult(parseRows(command))
    return yield* work.idempotent.run(caller, key, {
      work: (claim) => addRows(at(id), input, claim),
      again: (made, shown) => addedBefore(at(id), made, shown),
    })
  }),
  uploadRows: Effect.fn("Campaigns.uploadRows")(
    function* (role, workspaceId, mode, id, upload, key) {
      const { at, caller } = yield* enter(work, "messages", role, workspaceId, mode)
      return yield* work.idempotent.run(caller, key, {
        work: (claim) => uploadRows(at(id), upload, work.ids.hex(16), claim),
        again: (made, shown) => addedBefore(at(id), made, shown),
      })
    },
  ),
  clearRows: Effect.fn("Campaigns.clearRows")(function* (role, workspaceId, mode, id) {
    const { at } = yield* enter(work, "messages", role, workspaceId, mode)
    return yield* clearRows(at(id))
  }),
  rows: Effect.fn("Campaigns.rows")(function* rows(role, workspaceId, mode, id, query) {
    const { at } = yield* enter(work, "reading", role, workspaceId, mode)
    return yield* listRows(work, at(id), query)
  }),
  row: Effect.fn("Campaigns.row")(function* row(role, workspaceId, mode, id, number) {
    const { at } = yield* enter(work, "reading", role, workspaceId, mode)
    return yield* readRow(at(id), number)
  }),
  results: Effect.fn("Campaigns.results")(function* (role, workspaceId, mode, id, query) {
    const { at } = yield* enter(work, "reading", role, workspaceId, mode)
    return yield* results(at(id), query)
  }),
})

const runMethods = (
  work: Work,
): Pick<Methods, "forecast" | "start" | "pause" | "resume" | "stop"> => {
  const { actions } = work
  /** Runs an action, then reads what happened to the campaign. */
  const acting = Effect.fnUntraced(function* acting(
    act: (scope: CampaignScope, id: CampaignId | undefined) => Effect.Effect<void, Failure<Code>>,
    ...[role, workspaceId, mode, id]: Parameters<Methods["start"]>
  ) {
    const { at, scope } = yield* enter(work, "messages", role, workspaceId, mode)
    yield* act(scope, id)
    return yield* readView(work, yield* findCampaign(at(id)))
  })
  return {
    forecast: Effect.fn("Campaigns.forecast")(function* forecast(role, workspaceId, mode, id) {
      const { scope } = yield* enter(work, "reading", role, workspaceId, mode)
      return yield* actions.forecast(scope, id)
    }),
    start: Effect.fn("Campaigns.start")((...of) => acting(actions.start, ...of)),
    pause: Effect.fn("Campaigns.pause")((...of) => acting(actions.pause, ...of)),
    resume: Effect.fn("Campaigns.resume")(function* (role, workspaceId, mode, id, command) {
      const fromRow = yield* Effect.fromResult(parseResume(command))
      const resume = (scope: CampaignScope, one: CampaignId | undefined) =>
        actions.resume(scope, one, fromRow)
      return yield* acting(resume, role, workspaceId, mode, id)
    }),
    stop: Effect.fn("Campaigns.stop")((...of) => acting(actions.stop, ...of)),
  }
}

export const layerCampaigns = Layer.effect(
  Campaigns,
  Effect.map(makeWork, (work) =>
    Campaigns.of({ ...draftMethods(work), ...rowMethods(work), ...runMethods(work) }),
  ),
)
