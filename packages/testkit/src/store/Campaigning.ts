/** Makes, fills, moves and takes from campaigns for tests of a store. */
import { assert } from "@effect/vitest"
import { nextCheckAt, Store } from "@messaging-service/core"
import type {
  Campaign,
  CampaignMove,
  CampaignSettings,
  CampaignTake,
  CampaignTaken,
  IdempotencyClaim,
  MessageId,
  NewCampaign,
  NewCampaignRow,
  NextCheck,
  RowFilter,
  RowRefusal,
  RowsToAppend,
  RowStatus,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import { ids, only, present } from "./Expect.ts"
import { anAcceptance, aPhone, minute, noon } from "./Records.ts"
import type { AcceptanceOptions } from "./Records.ts"
import { cancelled, end } from "./Sending.ts"

/** What tests leave as it is. */
export const campaignSettings: CampaignSettings = {
  name: "Spring",
  text: "Hello {name}",
  media: null,
  from: null,
  reference: null,
  timezone: null,
  sendAt: null,
  hours: null,
  expiresAt: null,
  quotaReserve: 200,
  defaultCountryCode: null,
  duplicates: "keep",
}

export const aNewCampaign = (
  workspaceId: WorkspaceId,
  overrides: Partial<NewCampaign> = {},
): NewCampaign => ({
  workspaceId,
  mode: "live",
  state: "draft",
  stateReason: null,
  isHolding: false,
  asksFromRow: false,
  runningSince: null,
  lookAt: null,
  createdAt: noon,
  startedAt: null,
  endedAt: null,
  ...campaignSettings,
  ...overrides,
})

export const insert = (campaign: NewCampaign, max = 100, claim: IdempotencyClaim | null = null) =>
  Store.use(({ campaigns: store }) => store.insert(campaign, max, claim))

export const getCounted = ({ id, mode, workspaceId }: Campaign, now = noon) =>
  Store.use(({ campaigns: store }) => store.get({ workspaceId, mode }, id, now))

/** The campaign as the store has it now. */
export const readAgain = (campaign: Campaign) =>
  Effect.map(getCounted(campaign), (found) => present(found).campaign)

export const getCounts = (campaign: Campaign) =>
  Effect.map(getCounted(campaign), (found) =>
    Object.fromEntries(Object.entries(present(found).rows).filter(([, count]) => count > 0)),
  )

/** Nothing of it waits or is due: tests read what is due of the whole store. */
const leaveNothing = (campaign: Campaign) =>
  Effect.gen(function* () {
    const store = (yield* Store).campaigns
    const found = yield* getCounted(campaign)
    if (found !== null) {
      yield* moved(found.campaign, { state: "stopped", lookAt: null }, { isRemoved: true })
    }
    const waiting = yield* store.waiting(campaign.id, 100_000)
    yield* end(...waiting.map((message) => cancelled(message)))
  }).pipe(Effect.orDie)

/** A campaign that goes with the test. */
export const aCampaign = (workspaceId: WorkspaceId, overrides: Partial<NewCampaign> = {}) =>
  Effect.acquireRelease(
    Effect.map(insert(aNewCampaign(workspaceId, overrides)), (inserted) =>
      present(inserted._tag === "Inserted" ? inserted.campaign : null),
    ),
    leaveNothing,
  )

export const aRow = (row: number, overrides: Partial<NewCampaignRow> = {}): NewCampaignRow => {
  const phone = aPhone()
  return {
    row,
    line: null,
    to: { phone },
    needs: "either",
    recipientKey: phone,
    phone,
    values: { name: "Ann" },
    sendAt: null,
    expiresAt: null,
    state: "pending",
    refusal: null,
    ...overrides,
  }
}

/** A row that was refused for its phone. */
export const aRefusedRow = (row: number): NewCampaignRow =>
  aRow(row, {
    to: { phone: "1" },
    needs: null,
    recipientKey: null,
    phone: null,
    state: "refused",
    refusal: { code: "invalid_phone", field: "to.phone", row: null },
  })

/** Rows with those numbers. */
export const someRows = (first: number, count: number, overrides: Partial<NewCampaignRow> = {}) =>
  Array.from({ length: count }, (_, index) => aRow(first + index, overrides))

export const append = (
  campaign: Campaign,
  rows: ReadonlyArray<NewCampaignRow>,
  overrides: Partial<RowsToAppend> = {},
) =>
  Effect.gen(function* () {
    const { campaigns: store } = yield* Store
    // Most tests go on from what is there.
    const counted = yield* getCounted(campaign)
    return yield* store.appendRows({
      id: campaign.id,
      revision: (counted?.campaign ?? campaign).revision,
      after: (rows[0]?.row ?? 1) - 1,
      rows,
      upload: null,
      until: noon + minute,
      isLast: true,
      now: noon,
      idempotency: null,
      madeIds: [],
      ...overrides,
    })
  })

export const appended = { _tag: "Appended" } as const

/** A campaign with rows, in that state; running without one. */
export const aRunning = (
  workspaceId: WorkspaceId,
  rows: ReadonlyArray<NewCampaignRow>,
  overrides: Partial<NewCampaign> = {},
) =>
  Effect.gen(function* () {
    const { state = "running", ...rest } = overrides
    const draft = yield* aCampaign(workspaceId, rest)
    if (rows.length > 0) assert.deepStrictEqual(yield* append(draft, rows), appended)
    const filled = yield* readAgain(draft)
    yield* moved(filled, { state, runningSince: noon, startedAt: noon, lookAt: noon })
    return yield* readAgain(filled)
  })

const everyRow: RowFilter = { statuses: null, code: null, phone: null }

export const getRows = (
  campaign: Campaign,
  filter: Partial<RowFilter> = {},
  after: number | null = null,
  limit = 100,
) =>
  Store.use(({ campaigns: store }) =>
    store.rows(campaign.id, { ...everyRow, ...filter }, { after, limit }, noon),
  )

/** The numbers of the rows that a filter finds. */
export const found = (campaign: Campaign, filter: Partial<RowFilter> = {}) =>
  Effect.map(getRows(campaign, filter), (rows) => rows.map(({ row }) => row))

export const readStatuses = (campaign: Campaign) =>
  Effect.map(getRows(campaign), (rows): ReadonlyArray<RowStatus> =>
    rows.map(({ status }) => status),
  )

export const moved = (
  campaign: Campaign,
  to: Partial<CampaignMove["to"]>,
  overrides: Partial<CampaignMove> = {},
) => {
  const { asksFromRow, endedAt, isHolding, lookAt, runningSince, startedAt } = campaign
  const { state, stateReason } = campaign
  const before = { asksFromRow, endedAt, isHolding, lookAt, runningSince, startedAt }
  return Store.use(({ campaigns: store }) =>
    store.move({
      id: campaign.id,
      revision: campaign.revision,
      now: noon,
      to: { ...before, state, stateReason, ...to },
      messages: null,
      skipBefore: null,
      isRemoved: false,
      ...overrides,
    }),
  )
}

/** Pauses it, which holds what waits. */
export const pause = (campaign: Campaign, now = noon) =>
  Effect.gen(function* () {
    const to = { state: "paused", stateReason: "requested", isHolding: true, lookAt: null } as const
    assert.isTrue(yield* moved(campaign, to, { messages: "hold", now }))
    return yield* readAgain(campaign)
  })

export const resume = (campaign: Campaign, now = noon) =>
  Effect.gen(function* () {
    const to = { state: "running", stateReason: null, isHolding: false, lookAt: now } as const
    assert.isTrue(yield* moved(campaign, to, { messages: "release", now }))
    return yield* readAgain(campaign)
  })

/** Stops it; the store holds what waits, and the caller is to cancel it. */
export const stop = (campaign: Campaign, overrides: Partial<CampaignMove> = {}) => {
  const to = { state: "stopped", isHolding: false, lookAt: null, endedAt: noon } as const
  return moved(campaign, to, { messages: "hold", ...overrides })
}

/** No time is known, and nothing is awaited. */
export const noCheck: NextCheck = nextCheckAt(null)

/** What takes those rows on for a number. */
export const aTake = (
  campaign: Campaign,
  number: SendingNumber,
  rows: ReadonlyArray<number>,
  options: Omit<AcceptanceOptions, "count"> = {},
  overrides: Partial<CampaignTake> = {},
): CampaignTake => {
  const input = anAcceptance(number, { mode: campaign.mode, ...options, count: rows.length })
  const messages = input.messages.map((message, index) => ({
    ...message,
    campaign: { id: campaign.id, row: rows[index] ?? 0 },
  }))
  return {
    id: campaign.id,
    revision: campaign.revision,
    now: input.now,
    acceptance: { ...input, messages },
    queueLimit: 1_000_000,
    taken: messages.map(({ to }, index) => ({
      row: rows[index] ?? 0,
      phone: "phone" in to ? to.phone : null,
    })),
    refused: [],
    next: noCheck,
    ...overrides,
  }
}

export const take = (input: CampaignTake) => Store.use(({ campaigns }) => campaigns.take(input))

/** Takes rows on, and returns their messages. */
export const took = (...args: Parameters<typeof aTake>) =>
  Effect.gen(function* () {
    const store = (yield* Store).messages
    const outcome = yield* take(aTake(...args))
    assert.strictEqual(outcome._tag, "Taken")
    return yield* store.byIds(toIds(outcome))
  })

/** Refuses rows alone. */
export const refuse = (campaign: Campaign, refused: CampaignTake["refused"]) =>
  take({
    id: campaign.id,
    revision: campaign.revision,
    now: noon,
    acceptance: null,
    queueLimit: 0,
    taken: [],
    refused,
    next: noCheck,
  })

export const aRefusal = (of: number): RowRefusal & { readonly of: number } => ({
  of,
  code: "media_not_found",
  field: null,
  row: null,
})

export const toIds = (taken: CampaignTaken): ReadonlyArray<MessageId> =>
  taken._tag === "Taken" ? taken.ids : []

export const findGuard = (taken: CampaignTaken) => (taken._tag === "Conflict" ? taken.guard : null)

/** Its waiting messages that no transport has in hands. */
export const readWaiting = (campaign: Campaign, limit = 1000) =>
  Effect.map(
    Store.use(({ campaigns }) => campaigns.waiting(campaign.id, limit)),
    ids,
  )

export const lookAt = (campaign: Campaign, now = noon, limit = 20) =>
  Effect.map(
    Store.use(({ campaigns: store }) => store.check([campaign.id], now, limit)),
    only,
  )

/** Which of these are due, in their turn. */
export const listDue = (campaigns: ReadonlyArray<Campaign>, now = noon, limit = 1000) =>
  Effect.map(
    Store.use((store) => store.campaigns.due(now, limit)),
    (due) => due.filter((id) => campaigns.some((campaign) => campaign.id === id)),
  )

export const putOff = (campaign: Campaign, next: Partial<NextCheck>, now = noon) =>
  Store.use(({ campaigns: store }) =>
    store.putOff(campaign.id, campaign.revision, { ...noCheck, ...next }, now),
  )
