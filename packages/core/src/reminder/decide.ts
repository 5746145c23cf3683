/**
 * The decision on a reminder's creation or change, as far as it depends on stored state: plan,
 * number, contact, media, in this order. Pure. Of a change only what it touches is checked: what has
 * gone bad since is told by the runs.
 */
import { Result } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { Sender } from "../key/Caller.ts"
import { isTelegramOnly, resolveNumber } from "../message/accept.ts"
import type { AcceptanceFacts, AcceptanceQuery } from "../message/MessageStore.ts"
import { recipientKey } from "../recipient/RecipientInput.ts"
import { firstRun } from "./Reminder.ts"
import type { Reminder, ReminderContent } from "./Reminder.ts"
import type { ReminderChange } from "./ReminderRequest.ts"
import { runRequest, withoutReminders } from "./ReminderRun.ts"

/** What is to become of a reminder. */
export interface Wanted {
  /** Null when it is to be made. */
  readonly current: ReminderContent | null
  /** The fields that were given; all of them when it is to be made. */
  readonly given: ReminderChange
  /** The reminder as it will be. */
  readonly content: ReminderContent
}

/** A change that is allowed in any plan: pausing, and nothing else. */
export const isPausing = (given: ReminderChange): boolean =>
  given.active === false && Object.keys(given).length === 1

/** The facts that the decision needs. */
export const factsWanted = (
  { mode, workspaceId }: Sender,
  { content, given }: Wanted,
  now: number,
): AcceptanceQuery => ({
  workspaceId,
  mode,
  now,
  from: content.from,
  phones: [],
  contactIds: content.to.kind === "contact" ? [content.to.contactId] : [],
  mediaId: given.media?.mediaId ?? null,
  exactQuota: null,
  idempotency: null,
})

const numberRefusal = (
  { content, current, given }: Wanted,
  facts: AcceptanceFacts,
  sender: Sender,
): Refusal | undefined => {
  const isNew = content.from !== null && content.from !== current?.from
  if (!isNew && given.to === undefined && content.from === current?.from) return undefined
  // Each run chooses a connected number. But a recipient that only Telegram reaches needs a
  // connected account now, since there is no number that its runs could wait for.
  if (content.from === null) {
    return isTelegramOnly(content.to, facts) &&
      !facts.connected.some(({ number }) => number.platform === "telegram")
      ? refuse("username_needs_telegram", { field: `to.${recipientKey(content.to)}` })
      : undefined
  }
  if (facts.named === null) {
    // The present number was removed since, and the change names no other.
    return isNew ? refuse("number_not_connected", { field: "from" }) : undefined
  }
  const found = resolveNumber(runRequest(content), facts, sender)
  if (Result.isFailure(found)) return found.failure
  return isNew && found.success.number.status !== "connected"
    ? refuse("number_not_connected", { field: "from" })
    : undefined
}

/** Why the reminder cannot be made or changed so; undefined when it can. */
export const reminderRefusal = (
  wanted: Wanted,
  facts: AcceptanceFacts,
  sender: Sender,
  linkAllowed: boolean,
): Refusal | undefined => {
  const { to, media } = wanted.given
  const early = withoutReminders(facts.plan) ?? numberRefusal(wanted, facts, sender)
  if (early !== undefined) return early
  if (to?.kind === "contact" && !facts.contacts.has(to.contactId)) {
    return refuse("contact_not_found", { field: "to.contact_id" })
  }
  if (media != null && media.mediaId !== null && facts.media === null) {
    return refuse("media_not_found", { field: "media.media_id" })
  }
  return linkAllowed ? undefined : refuse("invalid_media_url", { field: "media.url" })
}

/**
 * When a changed reminder runs next: as before, unless it was resumed or has another schedule, which
 * count from now.
 */
export const nextRunOfChanged = (
  current: Reminder,
  content: ReminderContent,
  now: number,
): number | null => {
  const goesOn =
    current.active &&
    content.active &&
    content.cron === current.cron &&
    content.timezone === current.timezone
  return goesOn ? current.nextRunAt : firstRun(content, now)
}
