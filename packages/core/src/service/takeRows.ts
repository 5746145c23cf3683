/**
 * Which rows of a campaign to take on now, from which numbers, and when to look again (campaigns: 5).
 * Each row is decided alone, as POST /messages would; what is taken on of a number is one
 * acceptance. Pure.
 */
import { Result } from "effect"
import {
  campaignReference,
  hasCampaignEnded,
  fullQueue,
  refillQueue,
  rowsAtOnce,
} from "../model/Campaign.ts"
import type { Campaign, CampaignRow, RowRecipient, RowRefusal } from "../model/Campaign.ts"
import { rowTextToSend } from "../model/campaignRows.ts"
import type { HoursNow } from "../model/hours.ts"
import { decideAcceptance, isTelegramOnly } from "../model/accept.ts"
import type {
  AcceptCode,
  AcceptContext,
  Acceptance,
  AcceptanceFacts,
  NumberFacts,
} from "../model/accept.ts"
import type { ContactId, NumberId } from "../model/Ids.ts"
import type { PlannedQuota, QuotaLimit } from "../model/Message.ts"
import { parsePhone, parseUsername } from "../model/Recipient.ts"
import type { Phone, RequestedRecipient } from "../model/Recipient.ts"
import type { SendRequest } from "../model/SendRequest.ts"
import type { Platform } from "../model/SendingNumber.ts"
import { messagesRemaining, sendRefusal } from "../model/Workspace.ts"
import { nextCheckAt } from "../store/CampaignStore.ts"
import type {
  CampaignCheck,
  CampaignMove,
  CampaignNumber,
  CampaignTake,
  NextCheck,
} from "../store/CampaignStore.ts"
import { campaignMove, hasNoNumbers, hoursMove, isRestricted } from "./campaignStates.ts"
import type { CampaignTrigger } from "./campaignStates.ts"

/** Another look after so long, where no time is known and whatever has changed was missed. */
const fallbackMillis = 600_000

/** Rows of each need that a look reads at most. */
export const rowsLookedAt = 10 * rowsAtOnce

/** What a campaign leaves of a number's 24 hours. */
export const campaignLimit = (
  { quotaReserve }: Pick<Campaign, "quotaReserve">,
  { messages, windowMillis }: QuotaLimit,
): QuotaLimit => ({ messages: Math.max(0, messages - quotaReserve), windowMillis })

/** What a row names; null when that is none any more. */
export const requestedRecipient = (to: RowRecipient): RequestedRecipient | null => {
  if ("group" in to) return { kind: "group", group: to.group }
  if ("contactId" in to) return { kind: "contact", contactId: to.contactId as ContactId }
  if ("phone" in to) {
    const phone = parsePhone(to.phone)
    return phone === undefined ? null : { kind: "phone", phone }
  }
  const username = parseUsername(to.username)
  return username === undefined ? null : { kind: "username", username }
}

/**
 * What a look finds without the facts of its rows: a move, or when to look again; null: rows may be
 * taken on.
 */
export const decideCheck = (
  check: CampaignCheck,
  hours: HoursNow,
  now: number,
): CampaignMove | NextCheck | null => {
  const { campaign, hasWaiting, numbers, pending, rows, workspace } = check
  const standing = { campaign, now, isOpen: hours.isOpen, numbers }
  const instant = nextMoment(check, hours, now)
  const moved = (trigger: CampaignTrigger) =>
    Result.getOrElse(campaignMove(standing, trigger), () => null)
  if (campaign.state === "scheduled") {
    if (hasNoNumbers(standing)) return moved("lose_numbers")
    if (campaign.sendAt === null || campaign.sendAt <= now) return moved("begin")
  }
  if (campaign.state === "draft" || hasCampaignEnded(campaign)) return never
  if (campaign.state !== "running") return nextCheckAt(instant)
  if (pending === 0 && !hasWaiting) return moved("finish")
  if (hasNoNumbers(standing)) return moved("lose_numbers")
  if (isRestricted(standing)) return moved("restrict")
  const ofHours = hoursMove(standing)
  if (ofHours !== null) return ofHours
  if (!hours.isOpen || rows.length === 0) return nextCheckAt(instant)
  return workspace.deletedAt !== null || sendRefusal(workspace) !== undefined
    ? nextCheckAt(earliest([instant, now + fallbackMillis], now))
    : null
}

const never = nextCheckAt(null)

/** Whether pending rows have expired. */
export const isExpiring = ({ campaign, nextExpiryAt, pending }: CampaignCheck, now: number) =>
  pending > 0 &&
  !hasCampaignEnded(campaign) &&
  campaign.state !== "draft" &&
  [campaign.expiresAt, nextExpiryAt].some((instant) => instant !== null && instant <= now)

/** All that a look is decided on once its rows' facts are loaded. */
export interface TakeFacts {
  readonly check: CampaignCheck
  /** Of the rows' recipients and media, with each connected number's quota counted exactly. */
  readonly facts: AcceptanceFacts
  /** With the campaign's limit. */
  readonly context: AcceptContext
  readonly hours: HoursNow
}

/** A number that the campaign may use, with what it can still take. */
export interface Desk {
  readonly number: CampaignNumber
  readonly quota: NumberFacts["quota"]
  /** Connected and not paused; in test mode always. */
  readonly isUsable: boolean
  /** In its 24 hours. */
  room: number
  /** In its queue; 0 until it is refilled. */
  slots: number
}

const emptyQuota: NumberFacts["quota"] = {
  bound: 0,
  fullUntil: null,
  exact: { planned: 0, roomAt: null },
}

export const makeDesks = ({ context, facts, check }: TakeFacts): ReadonlyArray<Desk> => {
  const quotas = new Map(facts.connected.map(({ number, quota }) => [number.id, quota]))
  const isTest = check.campaign.mode === "test"
  return check.numbers.map((number): Desk => {
    const known = quotas.get(number.number.id)
    const isConnected = number.number.status === "connected" && known !== undefined
    const quota = known ?? emptyQuota
    const planned = quota.exact?.planned ?? quota.bound
    return {
      number,
      quota,
      isUsable: isTest || (isConnected && number.pausedUntil === null),
      room: Math.max(0, context.dailyLimit.messages - planned),
      slots: number.waiting < refillQueue ? Math.min(rowsAtOnce, fullQueue - number.waiting) : 0,
    }
  })
}

const canTake = ({ isUsable, room, slots }: Desk): boolean => isUsable && room > 0 && slots > 0

/** Those that could send a row: WhatsApp first where both could. */
export const desksFor = (
  { needs }: Pick<CampaignRow, "needs">,
  to: RequestedRecipient,
  desks: ReadonlyArray<Desk>,
  facts: AcceptanceFacts,
): ReadonlyArray<Desk> => {
  const on = (platform: Platform) =>
    desks.filter(({ number }) => number.number.platform === platform)
  if (needs === "telegram" || isTelegramOnly(to, facts)) return on("telegram")
  const whatsapp = on("whatsapp")
  if (needs === "whatsapp" || whatsapp.some(({ isUsable }) => isUsable)) return whatsapp
  const telegram = on("telegram")
  return telegram.some(({ isUsable }) => isUsable) ? telegram : desks
}

/** Most room in its 24 hours, the lowest id among equals. */
const roomiestDesk = (desks: ReadonlyArray<Desk>): Desk | undefined => {
  let best: Desk | undefined
  for (const desk of desks) {
    if (canTake(desk) && (best === undefined || desk.room > best.room)) best = desk
  }
  return best
}

const getRequest = (
  campaign: Campaign,
  row: CampaignRow,
  text: string,
  to: RequestedRecipient,
  from: NumberId,
): SendRequest => {
  const expiresAt = row.expiresAt ?? campaign.expiresAt
  return {
    recipients: [to],
    batch: false,
    from,
    text,
    media: campaign.media,
    sendAt: null,
    expiresAt: expiresAt === null ? null : { millis: expiresAt, beyond: "" },
    callbackUrl: null,
    replyTo: null,
    reference: campaignReference(campaign),
  }
}

/** They concern the number, the plan or the moment: the row stays as it is. */
const passing: ReadonlySet<string> = new Set<AcceptCode>([
  "no_credits",
  "number_daily_cap_reached",
  "number_not_found",
  "number_not_allowed",
  "from_required",
  "time_in_past",
])

const decideRow = (
  { context, facts, check }: TakeFacts,
  row: CampaignRow,
  to: RequestedRecipient,
  { number, quota }: Desk,
): Result.Result<Acceptance, Pick<RowRefusal, "code" | "field">> => {
  const text = rowTextToSend(check.campaign, row)
  if (Result.isFailure(text)) return Result.fail(text.failure)
  return decideAcceptance(
    getRequest(check.campaign, row, text.success, to, number.number.id),
    { ...facts, named: { number: number.number, quota } },
    context,
  )
}

/** One acceptance of all that a number takes on, each with its text, time to expire and row. */
const merged = (
  campaign: Campaign,
  accepted: ReadonlyArray<{ readonly row: number; readonly acceptance: Acceptance }>,
): Acceptance | null => {
  const [first] = accepted
  if (first === undefined) return null
  const { quota } = first.acceptance
  return {
    ...first.acceptance,
    messages: accepted.flatMap(({ acceptance, row }) =>
      acceptance.messages.map((message) => ({ ...message, campaign: { id: campaign.id, row } })),
    ),
    allowance: accepted.reduce((sum, { acceptance }) => sum + acceptance.allowance, 0),
    quota: quota === null ? null : { ...quota, count: accepted.length },
  }
}

type Portion = Pick<CampaignTake, "acceptance" | "taken" | "refused">

export interface Taking {
  /** Of each number, then of those that are only refused; empty: nothing to write. */
  readonly portions: ReadonlyArray<Portion>
  readonly next: NextCheck
}

const toPhone = (acceptance: Acceptance): Phone | null => {
  const to = acceptance.messages[0]?.to
  return to !== undefined && "phone" in to ? to.phone : null
}

const earliest = (instants: ReadonlyArray<number | null>, now: number): number | null => {
  const ahead = instants.filter(
    (instant): instant is number => instant !== null && instant > now && Number.isFinite(instant),
  )
  return ahead.length === 0 ? null : Math.min(...ahead)
}

/** When time alone makes it worth a look: hours, rows that fall due or expire. */
const nextMoment = (check: CampaignCheck, hours: HoursNow, now: number): number | null =>
  earliest(
    [
      check.campaign.state === "running" ? hours.changesAt : null,
      check.campaign.state === "scheduled" ? check.campaign.sendAt : null,
      ...(check.pending === 0
        ? []
        : [
            check.campaign.expiresAt,
            check.nextExpiryAt,
            check.campaign.state === "running" ? check.nextRowAt : null,
          ]),
    ],
    now,
  )

/** When a number that took none of the rows left may take one; null where no time is known. */
const freeAt = (desk: Desk): number | null => {
  if (!desk.isUsable) return desk.number.pausedUntil
  return desk.room === 0 ? (desk.quota.exact?.roomAt ?? null) : null
}

/** What rows wait for that no number takes now; `fallback`: when to look where nothing is known. */
const awaitedBy = (
  desks: ReadonlyArray<Desk>,
  fallback: number | null,
  instant: number | null,
  now: number,
): NextCheck => {
  const awaited = desks.filter((desk) => desk.isUsable && desk.room > 0)
  const full = desks.filter((desk) => desk.isUsable && desk.room === 0)
  const lookAt = earliest([instant, ...desks.map(freeAt)], now)
  return {
    lookAt: lookAt === null && awaited.length === 0 ? fallback : lookAt,
    awaits: awaited.map(({ number }) => number.number.id),
    awaitsRoom: full.map(({ number: { givenBack, number } }) => ({
      numberId: number.id,
      givenBack,
    })),
    awaitsAllowance: false,
  }
}

/** What of a look goes where. */
export const takeRows = (input: TakeFacts): Taking => {
  const { context, facts, hours, check } = input
  const { campaign } = check
  const { now } = context
  const desks = makeDesks(input)
  const accepted = new Map<NumberId, Array<{ row: number; acceptance: Acceptance }>>()
  const refused: Array<RowRefusal & { readonly of: number }> = []
  /** Numbers that rows wait for. */
  const requested = new Set<Desk>()
  let blocked = 0
  let covered = messagesRemaining(facts.plan) ?? Infinity

  for (const row of check.rows) {
    const to = row.to === null ? null : requestedRecipient(row.to)
    if (to === null) continue
    const suited = desksFor(row, to, desks, facts)
    const desk = roomiestDesk(suited)
    // Without a number of the platform it is refused as any of the others would refuse it.
    const judge = desk ?? (suited.length === 0 ? desks[0] : undefined)
    if (judge === undefined) {
      for (const one of suited) requested.add(one)
      blocked++
      continue
    }
    const decided = decideRow(input, row, to, judge)
    if (Result.isFailure(decided)) {
      const { code, field } = decided.failure
      if (!passing.has(code)) refused.push({ of: row.row, code, field, row: null })
      if (code === "no_credits") covered = 0
    } else if (covered > 0) {
      const { numberId } = decided.success
      const before = accepted.get(numberId) ?? []
      accepted.set(numberId, [...before, { row: row.row, acceptance: decided.success }])
      covered -= decided.success.allowance
      judge.room--
      judge.slots--
    }
    if (covered === 0) break
  }

  const portions = desks.flatMap(({ number }): ReadonlyArray<Portion> => {
    const own = accepted.get(number.number.id) ?? []
    if (own.length === 0) return []
    const portion = own.map(({ acceptance, row }) => ({ row, phone: toPhone(acceptance) }))
    return [{ acceptance: merged(campaign, own), taken: portion, refused: [] }]
  })
  const refusals: ReadonlyArray<Portion> =
    refused.length === 0 ? [] : [{ acceptance: null, taken: [], refused }]
  const hasTaken = (desk: Desk) => accepted.has(desk.number.number.id)
  const instant = nextMoment(check, hours, now)
  const next = (): NextCheck => {
    const left = check.pending - refused.length - [...accepted.values()].flat().length
    if (left === 0) return nextCheckAt(instant)
    const fallback = now + fallbackMillis
    if (covered === 0) {
      return { ...nextCheckAt(earliest([instant, fallback], now)), awaitsAllowance: true }
    }
    // Rows that this look did not read may be for any number that took some.
    const isCut = isCutOff(check)
    if (isCut) for (const desk of desks) if (hasTaken(desk)) requested.add(desk)
    const isMore =
      (isCut && (refused.length > 0 || desks.some((desk) => canTake(desk) && hasTaken(desk)))) ||
      // Its room must be counted again.
      [...requested].some((desk) => hasTaken(desk) && desk.room === 0)
    if (isMore) return nextCheckAt(now)
    return awaitedBy([...requested], blocked > 0 ? fallback : null, instant, now)
  }
  return { portions: [...portions, ...refusals], next: next() }
}

/** Whether more rows of a need may be due than the look read. */
const isCutOff = ({ rows }: CampaignCheck): boolean =>
  (["whatsapp", "telegram", "either"] as const).some(
    (need) => rows.filter(({ needs }) => needs === need).length >= rowsLookedAt,
  )

/** What the quota of each number is counted for. */
export const campaignQuota = (
  campaign: Pick<Campaign, "quotaReserve">,
  limit: QuotaLimit,
  now: number,
): PlannedQuota => ({ plannedAt: now, count: 1, limit: campaignLimit(campaign, limit) })
