/**
 * One run of a reminder: which of the times that have come it is made for, from which number, and
 * what became of it (contract: Reminder runs). Pure.
 */
import { refuse } from "../error/Refusal.ts"
import type { Code } from "../error/Catalogue.ts"
import { isTelegramOnly } from "../message/accept.ts"
import type { AcceptanceFacts, NumberFacts } from "../message/MessageStore.ts"
import type { SendRequest } from "../message/SendRequest.ts"
import type { RequestedRecipient } from "../recipient/Recipient.ts"
import type { Plan, Workspace } from "../workspace/Workspace.ts"
import { scheduleOf } from "./Reminder.ts"
import type { Reminder, ReminderContent, ReminderRun, RunOutcome } from "./Reminder.ts"
import { latestRunIn, nextRunAfter } from "./Schedule.ts"

/** How long ago a missed run may have been due to be made up; an hour in milliseconds. */
const madeUpMillis = 60 * 60 * 1000

/** Whether to send at a due time, and which run the reminder advances by. */
export interface RunPlan {
  readonly run: ReminderRun
  /** Null: to be sent, if POST /messages would. */
  readonly instead: RunOutcome | null
}

/**
 * Plans what is to be done at `now` for a reminder whose next run is due. Of several times that have
 * come only the latest counts, and only if it came within the last hour. Null while the run is not due
 * yet: the clock was set back after the reminder was read.
 */
export const planRun = (reminder: Reminder, dueAt: number, now: number): RunPlan | null => {
  if (now < dueAt) return null
  const schedule = scheduleOf(reminder)
  const run = { id: reminder.id, revision: reminder.revision, dueAt, ranAt: now }
  if (schedule === undefined) {
    const instead: RunOutcome = { outcome: "refused", code: "invalid_timezone" }
    return { run: { ...run, nextRunAt: null }, instead }
  }
  const nextRunAt = nextRunAfter(schedule, now)
  const latest = latestRunIn(schedule, Math.max(dueAt, now - madeUpMillis) - 1, now)
  return latest === null
    ? { run: { ...run, nextRunAt }, instead: { outcome: "missed", code: null } }
    : { run: { ...run, dueAt: latest, nextRunAt }, instead: null }
}

/** Why a workspace's reminders do not run, whatever they say. */
export const workspaceRefusal = (
  workspace: Pick<Workspace, "accountDisabled" | "demo">,
): Code | undefined => {
  if (workspace.accountDisabled) return "account_disabled"
  return workspace.demo ? "demo_account" : undefined
}

/** The refusal of creations, changes and runs while the plan lacks reminders. */
export const withoutReminders = (plan: Plan | null) =>
  plan?.reminders === true
    ? undefined
    : refuse("plan_required", { message: "The plan does not include reminders." })

/**
 * What the refusal of a run says. Without `from` a run takes any number that is connected, so that what
 * asks a caller to name one means here that none is.
 */
export const runRefusalMessage = (code: Code, { from }: Pick<ReminderContent, "from">): string => {
  if (from === null && code === "from_required") {
    return "No number that reaches this recipient is connected."
  }
  if (from === null && code === "username_needs_telegram") {
    return "No Telegram account is connected."
  }
  return refuse(code).message
}

/** What a run asks to be sent, as the body of POST /messages would. */
export const runRequest = (reminder: ReminderContent): SendRequest => ({
  recipients: [reminder.to],
  batch: false,
  from: reminder.from,
  text: reminder.text,
  media: reminder.media,
  sendAt: null,
  expiresAt: null,
  callbackUrl: null,
})

/**
 * The number that a run without `from` is sent from: of the connected ones of the platform that the
 * recipient needs, the one with most room in its 24 hours. All that are connected are in the facts,
 * oldest first and counted; null when none will do.
 */
export const roomiest = (to: RequestedRecipient, facts: AcceptanceFacts): NumberFacts | null => {
  const connected = (platform: "whatsapp" | "telegram") =>
    facts.connected.filter(({ number }) => number.platform === platform)
  const telegramOnly = isTelegramOnly(to, facts)
  const whatsapp = telegramOnly ? [] : connected("whatsapp")
  // Where both could, WhatsApp goes first.
  const suited = whatsapp.length > 0 || to.kind === "group" ? whatsapp : connected("telegram")
  let best: NumberFacts | null = null
  for (const each of suited) {
    if (best === null || plannedOf(each) < plannedOf(best)) best = each
  }
  return best
}

/** The limit is the same for all, so that the least planned leaves the most room. */
const plannedOf = ({ quota }: NumberFacts): number => quota.exact?.planned ?? quota.bound
