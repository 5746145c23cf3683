/** Campaigns and their rows. */
import type {
  Campaign,
  CampaignId,
  CampaignMove,
  CampaignScope,
  CampaignSettings,
  CampaignTake,
  NewCampaignRow,
  NextCheck,
  NumberId,
  RowFilter,
  RowsToAppend,
  SendingNumber,
} from "@messaging-service/core"
import { minute } from "../../Records.ts"
import { PassedOver } from "../Chooser.ts"
import type { Chooser } from "../Chooser.ts"
import type { Methods } from "../Method.ts"
import { unknownId } from "../Side.ts"
import { anAcceptance, learnMessages } from "./ofMessages.ts"

/** A campaign with what is known of its rows. */
interface KnownCampaign extends Campaign {
  readonly rowCount: number
  /** An upload that has not ended, and how many rows there are with its own. */
  readonly uploading: { readonly name: string; readonly count: number } | null
}

const someSettings = (c: Chooser): CampaignSettings => ({
  name: c.name(),
  text: c.text(),
  media: null,
  from: c.maybe(() => c.ids<NumberId>("number")),
  reference: c.one([null, "order 1"]),
  timezone: null,
  sendAt: c.maybe(() => c.later()),
  // `from` is a number's id elsewhere.
  hours: null,
  expiresAt: c.maybe(() => c.later()),
  quotaReserve: c.one([200, 0, 999]),
  defaultCountryCode: null,
  duplicates: c.one(["keep", "drop"]),
})

const aKnown = (c: Chooser): KnownCampaign => c.needed<KnownCampaign & { id: number }>("campaign")

const learn = (c: Chooser, campaign: KnownCampaign) => c.side.learn("campaign", campaign)

/** What is known of its rows stays. */
const learnCampaign = (c: Chooser, campaign: Campaign, total: number) => {
  const before = c.recordWith<KnownCampaign & { id: number }>("campaign", campaign.id)
  learn(c, { ...campaign, rowCount: total, uploading: before?.uploading ?? null })
}

const ofCampaign = (c: Chooser): readonly [CampaignScope, CampaignId] => {
  const campaign = c.record<KnownCampaign & { id: number }>("campaign")
  const scope = { workspaceId: c.getWorkspaceId(campaign), mode: c.getMode(campaign) }
  return [scope, campaign?.id ?? (unknownId as CampaignId)]
}

const toRevision = (c: Chooser, { revision }: Campaign): number => revision + (c.once(10) ? 1 : 0)

const aNewRow = (c: Chooser, row: number): NewCampaignRow => {
  const phone = c.phone()
  const shared = { row, line: c.one([null, row + 1]), values: { name: c.name() } }
  const times = { sendAt: c.maybe(() => c.later()), expiresAt: c.maybe(() => c.later()) }
  if (c.once(6)) {
    const refusal = { code: "invalid_phone", field: "to.phone", row: null } as const
    const nothing = { needs: null, recipientKey: null, phone: null }
    return { ...shared, ...times, ...nothing, to: { phone: "1" }, state: "refused", refusal }
  }
  const own = c.one([
    { to: { phone }, needs: "either", recipientKey: phone, phone },
    { to: { phone }, needs: "whatsapp", recipientKey: phone, phone },
    { to: { username: "@someone" }, needs: "telegram", recipientKey: "@someone", phone: null },
    { to: { group: "Group" }, needs: "whatsapp", recipientKey: "group", phone: null },
  ])
  return { ...shared, ...times, ...own, state: "pending", refusal: null }
}

const someToAppend = (c: Chooser): RowsToAppend => {
  const campaign = aKnown(c)
  const { id, rowCount, uploading } = campaign
  const upload = c.one([null, null, uploading?.name ?? null, "a", "b"])
  const isGoingOn = upload !== null && upload === uploading?.name
  const after = (isGoingOn ? uploading.count : rowCount) + (c.once(12) ? 1 : 0)
  return {
    id,
    revision: toRevision(c, campaign),
    after,
    rows: Array.from({ length: 1 + c.below(4) }, (_, index) => aNewRow(c, after + index + 1)),
    upload,
    until: c.now + c.one([minute, 1]),
    isLast: upload === null || c.once(2),
    now: c.now,
    idempotency: c.claim(),
    madeIds: [-id, 1, 2],
    ...(c.once(2) && { shown: { problems: [aNewRow(c, after + 1)] } }),
  }
}

const aNextLook = (c: Chooser): NextCheck => ({
  lookAt: c.one([null, c.now, c.later()]),
  awaits: c.ids<NumberId>("number", 2),
  awaitsRoom: c.ids<NumberId>("number", 2).map((numberId) => ({ numberId, givenBack: c.below(3) })),
  awaitsAllowance: c.once(4),
})

const aMove = (c: Chooser): CampaignMove => {
  const campaign = aKnown(c)
  const state = c.one(["running", "running", "paused", "paused", "scheduled", "stopped"])
  const isPaused = state === "paused"
  const isRunning = state === "running"
  return {
    id: campaign.id,
    revision: toRevision(c, campaign),
    now: c.now,
    to: {
      state,
      stateReason: isPaused ? "requested" : null,
      isHolding: isPaused,
      asksFromRow: false,
      runningSince: isRunning ? c.now : null,
      lookAt: state === "stopped" ? null : c.one([c.now, null, c.later()]),
      startedAt: campaign.startedAt ?? (isRunning ? c.now : null),
      endedAt: state === "stopped" ? c.now : null,
    },
    messages: c.once(8) ? null : isRunning || state === "scheduled" ? "release" : "hold",
    skipBefore: c.once(6) ? 1 + c.below(4) : null,
    isRemoved: c.once(10),
  }
}

/** Some of its rows, each once. */
const someRows = (c: Chooser, { rowCount }: KnownCampaign, most: number): ReadonlyArray<number> => [
  ...new Set(Array.from({ length: 1 + c.below(most) }, () => 1 + c.below(rowCount + 1))),
]

const aTake = (c: Chooser): CampaignTake => {
  const campaign = aKnown(c)
  const numbers = c.side.known("number") as ReadonlyArray<SendingNumber>
  const own = numbers.filter(
    ({ mode, workspaceId }) =>
      workspaceId === campaign.workspaceId && (mode === "live" || campaign.mode === "test"),
  )
  const number = own[c.below(own.length)]
  if (number === undefined) throw new PassedOver()
  const rows = someRows(c, campaign, 3)
  const refused = c.maybe(() => someRows(c, campaign, 2).filter((row) => !rows.includes(row)))
  const { mode } = campaign
  const drawn = anAcceptance(c, number, rows.length, null)
  const messages = drawn.messages.map((message, index) => ({
    ...message,
    mode,
    sendAt: null,
    dueAt: c.now,
    campaign: { id: campaign.id, row: rows[index] ?? 0 },
  }))
  const limit = { messages: c.one([6, 4, 2]), windowMillis: 24 * 60 * minute }
  const quota = { plannedAt: c.now, count: rows.length, limit }
  const live = { allowance: rows.length, quota }
  const acceptance = {
    ...drawn,
    ...(mode === "live" ? live : { allowance: 0, quota: null }),
    mode,
    messages,
  }
  const isRefusing = c.once(8)
  return {
    id: campaign.id,
    revision: toRevision(c, campaign),
    now: c.now,
    acceptance: isRefusing ? null : acceptance,
    queueLimit: c.one([20, 4]),
    taken: isRefusing
      ? []
      : messages.map(({ to }, index) => ({
          row: rows[index] ?? 0,
          phone: "phone" in to ? to.phone : null,
        })),
    refused: (isRefusing ? rows : (refused ?? [])).map((of) => ({
      of,
      code: "media_not_found",
      field: c.one([null, "media"]),
      row: null,
    })),
    next: aNextLook(c),
  }
}

const aFilter = (c: Chooser): RowFilter => ({
  statuses: c.maybe(() =>
    c.one([["pending"], ["queued", "sent"], ["refused", "skipped"], ["expired", "cancelled"]]),
  ),
  code: c.one([null, null, null, "invalid_phone", "stopped", "restored", "send_failed"]),
  phone: c.maybe(() => c.phone()),
})

/** What was learned of it is of before. */
const isGone = (c: Chooser, { id }: Pick<Campaign, "id">): boolean =>
  c.recordWith("removedCampaign", id) !== undefined

export const ofCampaigns: Methods<"campaigns"> = {
  insert: {
    weight: 3,
    kind: "campaign",
    input: (c) => [
      {
        ...someSettings(c),
        workspaceId: c.owner(),
        mode: c.mode(),
        state: "draft",
        stateReason: null,
        isHolding: false,
        asksFromRow: false,
        runningSince: null,
        lookAt: null,
        createdAt: c.now,
        startedAt: null,
        endedAt: null,
      },
      c.one([100, 2]),
      c.claim(),
    ],
    learn: (made, _, c) => {
      if (made._tag === "Inserted") learnCampaign(c, made.campaign, 0)
    },
  },
  get: {
    weight: 5,
    kind: "campaign",
    input: (c) => [...ofCampaign(c), c.now],
    learn: (found, _, c) => {
      if (found !== null) learnCampaign(c, found.campaign, found.rows.total)
    },
  },
  created: { kind: "campaign", input: (c) => [c.id("campaign")] },
  list: {
    kind: "campaign",
    input: (c) => [
      ofCampaign(c)[0],
      { states: c.maybe(() => c.one([["draft"], ["running", "paused"], ["stopped"]])) },
      c.page("campaign"),
      c.now,
    ],
  },
  update: {
    input: (c) => {
      const campaign = aKnown(c)
      const lookAt = c.one([campaign.lookAt, c.now])
      return [campaign.id, toRevision(c, campaign), someSettings(c), lookAt]
    },
    learn: (isDone, [id, revision, settings, lookAt], c) => {
      const before = c.recordWith<KnownCampaign & { id: number }>("campaign", id)
      if (!isDone || before === undefined) return
      learn(c, { ...before, ...settings, lookAt, revision: revision + 1 })
    },
  },
  appendRows: {
    weight: 6,
    input: (c) => [someToAppend(c)],
    learn: ({ _tag }, [{ after, id, isLast, rows, upload }], c) => {
      const before = c.recordWith<KnownCampaign & { id: number }>("campaign", id)
      if (_tag === "Conflict" || before === undefined) return
      const count = after + rows.length
      const { revision } = before
      learn(c, {
        ...before,
        ...(isLast ? { rowCount: count, revision: revision + 1 } : {}),
        uploading: isLast || upload === null ? null : { name: upload, count },
      })
    },
  },
  abandonUpload: {
    weight: 1,
    input: (c) => {
      const { id, uploading } = aKnown(c)
      return [id, uploading?.name ?? "a"]
    },
  },
  firstRows: {
    input: (c) => {
      const { id, uploading } = aKnown(c)
      return [id, c.one([uploading?.name ?? null, null]), [c.phone(), "@someone", "group"]]
    },
  },
  clearRows: {
    weight: 1,
    input: (c) => {
      const campaign = aKnown(c)
      return [campaign.id, toRevision(c, campaign)]
    },
    learn: (count, [id, revision], c) => {
      const before = c.recordWith<KnownCampaign & { id: number }>("campaign", id)
      if (count === null || before === undefined) return
      learn(c, { ...before, rowCount: 0, uploading: null, revision: revision + 1 })
    },
  },
  rows: {
    weight: 3,
    input: (c) => {
      const page = { after: c.one([null, 1, 2]), limit: c.limit() }
      return [aKnown(c).id, aFilter(c), page, c.now]
    },
  },
  move: {
    weight: 6,
    input: (c) => [aMove(c)],
    learn: (isDone, [{ id, isRemoved, revision, to }], c) => {
      const before = c.recordWith<KnownCampaign & { id: number }>("campaign", id)
      if (!isDone || before === undefined || isGone(c, before)) return
      if (isRemoved) c.side.learn("removedCampaign", { id })
      learn(c, { ...before, ...to, revision: revision + 1 })
    },
  },
  due: {
    weight: 3,
    kind: "campaign",
    input: (c) => [c.moment(), c.limit()],
  },
  check: {
    weight: 3,
    kind: "campaign",
    input: (c) => [[aKnown(c).id, aKnown(c).id], c.moment(), c.one([20, 1, 2])],
  },
  take: {
    weight: 8,
    kind: "message",
    input: (c) => [aTake(c)],
    learn: (taken, [{ acceptance }], c) => {
      if (taken._tag === "Taken" && acceptance !== null) learnMessages(c, acceptance, taken.ids)
    },
  },
  putOff: {
    weight: 3,
    input: (c) => {
      const campaign = aKnown(c)
      return [campaign.id, toRevision(c, campaign), aNextLook(c), c.now]
    },
  },
  expireRows: {
    // Which of those that have expired go first is the store's.
    input: (c) => [aKnown(c).id, c.moment(), 1000],
  },
  waiting: { kind: "message", input: (c) => [aKnown(c).id, c.limit()] },
  forget: { weight: 1, input: (c) => [c.now] },
  figures: { weight: 1, input: (c) => [c.moment()] },
}
