/**
 * What a campaign waits for, and when it will be done (campaigns: 2 and 8): from what is known now,
 * without a write. Pure.
 */
import { hasCampaignEnded, refillQueue } from "../model/Campaign.ts"
import { unpaced } from "../model/Pacing.ts"
import type { Pacing } from "../model/Pacing.ts"
import { messagesRemaining } from "../model/Workspace.ts"
import type { CampaignForecast, CampaignWait } from "./Campaigns.ts"
import { campaignWaitReasons } from "./Campaigns.ts"
import { desksFor, makeDesks, requestedRecipient } from "./takeRows.ts"
import type { Desk, TakeFacts } from "./takeRows.ts"
import type { HoursNow } from "../model/hours.ts"

export interface Outlook extends TakeFacts {
  /** Its hours at any moment. */
  readonly hoursAt: (instant: number) => HoursNow
}

/** Numbers that rows wait for: those that the rows known to be due need, else all. */
const requestedDesks = (
  { facts, check }: TakeFacts,
  desks: ReadonlyArray<Desk>,
): ReadonlyArray<Desk> => {
  const requested = new Set<Desk>()
  for (const row of check.rows) {
    const to = row.to === null ? null : requestedRecipient(row.to)
    if (to !== null) for (const desk of desksFor(row, to, desks, facts)) requested.add(desk)
  }
  if (check.rows.length > 0) return desks.filter((desk) => requested.has(desk))
  const usable = desks.filter(({ isUsable }) => isUsable)
  const whatsapp = usable.filter(({ number }) => number.number.platform === "whatsapp")
  if (whatsapp.length > 0) return whatsapp
  return usable.length > 0 ? usable : desks
}

const isFull = ({ number }: Desk): boolean => number.waiting >= refillQueue

/** Why a number takes no row now; null: it takes one. */
const deskWait = (desk: Desk, isTest: boolean): CampaignWait | null => {
  const { number, quota } = desk
  if (!isTest && number.number.status !== "connected")
    return { reason: "not_connected", until: null }
  if (!isTest && number.pausedUntil !== null) {
    const until = Number.isFinite(number.pausedUntil) ? number.pausedUntil : null
    return { reason: "number_paused", until }
  }
  if (desk.room === 0) return { reason: "quota", until: quota.exact?.roomAt ?? null }
  return isFull(desk) ? { reason: "sending", until: null } : null
}

/** One of each reason, with the earliest end that is known. */
const joined = (waits: ReadonlyArray<CampaignWait>): ReadonlyArray<CampaignWait> =>
  campaignWaitReasons.flatMap((reason) => {
    const same = waits.filter((wait) => wait.reason === reason)
    const known = same.flatMap(({ until }) => until ?? [])
    return same.length === 0
      ? []
      : { reason, until: known.length === 0 ? null : Math.min(...known) }
  })

/** Why no row is taken on now. Null unless scheduled or running. */
export const campaignWaits = (outlook: TakeFacts): ReadonlyArray<CampaignWait> | null => {
  const { context, facts, hours, check } = outlook
  const { campaign, nextRowAt, pending, rows, workspace } = check
  if (campaign.state !== "scheduled" && campaign.state !== "running") return null
  if (pending === 0) return []
  const waits: Array<CampaignWait> = []
  const add = (reason: CampaignWait["reason"], until: number | null = null) =>
    waits.push({ reason, until })
  if (workspace.accountDisabled) add("disabled")
  if (workspace.demo) add("demo")
  if (campaign.state === "scheduled") add("scheduled", campaign.sendAt)
  else if (rows.length === 0 && nextRowAt !== null) add("scheduled", nextRowAt)
  if (!hours.isOpen) add("hours", hours.changesAt)
  if (messagesRemaining(facts.plan) === 0) add("no_credits")
  const desks = requestedDesks(outlook, makeDesks(outlook))
  const ofDesks = desks.map((desk) => deskWait(desk, context.sender.mode === "test"))
  if (desks.length === 0) add("not_connected")
  else if (!ofDesks.includes(null)) waits.push(...ofDesks.filter((wait) => wait !== null))
  return joined(waits)
}

// The forecast. A number sends at its interval with half its jitter, and no more than its minute,
// its hour and its 24 hours allow; all that only in the campaign's hours.

const minute = 60_000
const hour = 60 * minute

/** Forecasts reach so far. */
const horizonMillis = 10 * 366 * 24 * hour

/** When the last of so many messages leaves, after the first. */
const paceMillis = (
  count: number,
  { jitterMillis, minIntervalMillis, perHour, perMinute }: Pacing,
) => {
  const behind = Math.max(0, count - 1)
  const whole = (max: number | null, millis: number) =>
    max === null ? 0 : Math.floor(behind / max) * millis
  const interval = (minIntervalMillis ?? 0) + (jitterMillis ?? 0) / 2
  return Math.max(behind * interval, whole(perMinute, minute), whole(perHour, hour))
}

/** The highest count from 0 to `limit` that fits: fewer fit wherever more do. */
const largest = (limit: number, fits: (count: number) => boolean): number => {
  let [low, high] = [0, limit]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}

interface Span {
  readonly from: number
  /** Exclusive; infinite without hours. */
  readonly until: number
}

/** Its hours from a moment on, made as they are asked for. */
const makeSpans = (from: number, hoursAt: Outlook["hoursAt"]) => {
  const known: Array<Span> = []
  let next: number | null = from
  const more = () => {
    while (next !== null && next < from + horizonMillis) {
      const start: number = next
      const { changesAt, isOpen } = hoursAt(start)
      next = changesAt
      if (!isOpen) continue
      const span = { from: start, until: changesAt ?? Infinity }
      known.push(span)
      return span
    }
    return undefined
  }
  return (index: number): Span | undefined => known[index] ?? more()
}

interface Sender {
  readonly pacing: Pacing
  /** Messages before the first row. */
  readonly ahead: number
  readonly freeAt: number
  /** In its 24 hours at first, then in each. */
  readonly room: number
  readonly perDay: number
  readonly dayMillis: number
}

/** How many rows a number sends until a moment, this included. */
const sentUntil = (
  sender: Sender,
  spanAt: (index: number) => Span | undefined,
  instant: number,
  limit: number,
): number => {
  const { ahead, dayMillis, freeAt, pacing, perDay, room } = sender
  let sent = 0
  let queue = ahead
  let left = room
  let refillAt = freeAt + dayMillis
  for (let index = 0, at = freeAt; sent < limit;) {
    const span = spanAt(index)
    if (span === undefined || span.from > instant) break
    const from = Math.max(at, span.from)
    while (from >= refillAt) {
      left = perDay
      refillAt += dayMillis
    }
    const until = Math.min(span.until - 1, instant, refillAt - 1)
    const requested = Math.min(limit - sent, left) + queue
    const fitting =
      until < from ? 0 : largest(requested, (count) => paceMillis(count, pacing) <= until - from)
    const rows = Math.max(0, fitting - queue)
    queue = Math.max(0, queue - fitting)
    sent += rows
    left -= rows
    at = until + 1
    if (at > instant) break
    if (at >= span.until) index++
  }
  return sent
}

/** The earliest moment that satisfies, of those that all later ones do too; null beyond `last`. */
const firstMoment = (from: number, last: number, holds: (instant: number) => boolean) => {
  if (holds(from)) return from
  let step = 1000
  while (!holds(Math.min(from + step, last))) {
    if (from + step >= last) return null
    step *= 2
  }
  let [low, high] = [from + Math.floor(step / 2), Math.min(from + step, last)]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

const getSender = (desk: Desk, { context }: Outlook, from: number): Sender => {
  const isTest = context.sender.mode === "test"
  const { number, quota, room } = desk
  const roomAt = room > 0 || isTest ? from : Math.max(from, quota.exact?.roomAt ?? from)
  const { messages, windowMillis } = context.dailyLimit
  return {
    pacing: isTest ? unpaced : number.pacing,
    ahead: isTest ? 0 : number.waiting,
    freeAt: roomAt,
    room: isTest ? Infinity : room > 0 ? room : 1,
    perDay: isTest ? Infinity : messages,
    dayMillis: windowMillis,
  }
}

interface Share {
  readonly room: number
  /** What the number can send until the end. */
  readonly most: number
}

/** Each row goes to the number with most room, the first among equals, while that one can send it in time. */
const shareRows = (pending: number, shares: ReadonlyArray<Share>): ReadonlyArray<number> => {
  const rooms = shares.map(({ room }) => room)
  const top = Math.max(...rooms)
  /** How many each has once none has more room than so far below the top. */
  const downTo = (depth: number) =>
    shares.map(({ most, room }) => Math.min(most, Math.max(0, room - top + depth)))
  const sum = (counts: ReadonlyArray<number>) => counts.reduce((total, count) => total + count, 0)
  const deepest = top - Math.min(...rooms) + pending
  const depth = largest(deepest, (one) => sum(downTo(one)) <= pending)
  const even = downTo(depth)
  const next = downTo(depth + 1)
  let left = pending - sum(even)
  return even.map((count, index) => {
    const more = Math.min(left, (next[index] ?? count) - count)
    left -= more
    return count + more
  })
}

/** Where its rows go, and until when: null where the allowance is short or no number is usable. */
export const campaignForecast = (outlook: Outlook): CampaignForecast => {
  const { context, facts, hoursAt, check } = outlook
  const { now } = context
  const { campaign, pending } = check
  const desks = makeDesks(outlook)
  const remaining = messagesRemaining(facts.plan)
  const needed = campaign.mode === "test" ? Math.min(pending, 1) : pending
  const missing = remaining === null ? 0 : Math.max(0, needed - remaining)
  const start = Math.max(now, campaign.startedAt === null ? (campaign.sendAt ?? now) : now)
  const spanAt = makeSpans(start, hoursAt)
  const senders = requestedDesks(outlook, desks)
    .filter(({ isUsable }) => isUsable)
    .map((desk) => ({ desk, sender: getSender(desk, outlook, start) }))
  const total = (instant: number) =>
    senders.reduce((sum, { sender }) => sum + sentUntil(sender, spanAt, instant, pending - sum), 0)
  const canTell = senders.length > 0 && pending > 0 && !hasCampaignEnded(campaign)
  const finish = canTell
    ? firstMoment(start, start + horizonMillis, (instant) => total(instant) >= pending)
    : null
  const shares = canTell
    ? shareRows(
        pending,
        senders.map(({ sender }) => ({
          room: Number.isFinite(sender.room) ? sender.room : 0,
          most: sentUntil(sender, spanAt, finish ?? start + horizonMillis, pending),
        })),
      )
    : []
  const rowsByNumber = new Map(
    senders.map(({ desk }, index) => [desk.number.number.id, shares[index]]),
  )
  return {
    rows: pending,
    allowance: { remaining, missing },
    numbers: desks.map(({ isUsable, number, room }) => ({
      numberId: number.number.id,
      usable: isUsable,
      room,
      rows: rowsByNumber.get(number.number.id) ?? 0,
    })),
    startsAt: canTell
      ? firstMoment(start, start + horizonMillis, (instant) => total(instant) > 0)
      : null,
    finishesAt: missing > 0 ? null : finish,
    waitsFor: campaignWaits(outlook),
  }
}
