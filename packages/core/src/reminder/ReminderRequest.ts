/**
 * What is asked of reminders, as bodies, queries and commands say it: from unknown input to the
 * reminder or the change, or its problems with their fields (contract: Making a reminder, Changing a
 * reminder); then the decision on it, as far
 * as it depends on stored state: plan, number, contact, media, in this order. Pure.
 */
import { Result, Schema } from "effect"
import type { OutboundRule } from "../egress/Egress.ts"
import { problem, refuse } from "../error/Refusal.ts"
import type { Problem, Refusal } from "../error/Refusal.ts"
import type { NumberId } from "../Ids.ts"
import type { Sender } from "../key/Caller.ts"
import { MediaInput, mediaUrlProblems } from "../media/Media.ts"
import { isTelegramOnly, resolveNumber } from "../message/accept.ts"
import type { AcceptanceFacts, AcceptanceQuery } from "../message/MessageStore.ts"
import { TextInput, toMediaReference } from "../message/SendRequest.ts"
import { RecipientInput } from "../recipient/recipientJson.ts"
import { recipientKey } from "../recipient/Recipient.ts"
import { described } from "../request/Described.ts"
import { decoded, inputDecoder, nameUpTo, parsed, refusedFor } from "../request/Input.ts"
import { isBlank } from "../request/text.ts"
import { pageFields, queryDecoder, textFor } from "../request/PageInput.ts"
import type { ListPage } from "../request/PageInput.ts"
import { parseCron } from "./Cron.ts"
import { firstRun, maximumReminderNameLength } from "./Reminder.ts"
import type { Reminder, ReminderContent } from "./Reminder.ts"
import { runRequest, withoutReminders } from "./ReminderRun.ts"
import { parseTimeZone } from "./TimeZone.ts"
import type { TimeZone } from "./TimeZone.ts"

const ScheduleInput = Schema.Struct({
  cron: parsed("invalid_cron", (text) => Result.getOrUndefined(parseCron(text)), {
    description: "Five fields: minute, hour, day of month, month, day of week.",
    examples: ["30 9 * * 1-5"],
  }),
  timezone: Schema.optionalKey(
    parsed("invalid_timezone", parseTimeZone, {
      description:
        "IANA name. Left out it is UTC; in a change of the schedule it stays what it was.",
      examples: ["Europe/Berlin"],
    }),
  ),
}).annotate({ identifier: "ScheduleInput" })

const fields = {
  name: described(nameUpTo(maximumReminderNameLength), "Not blank."),
  to: RecipientInput,
  from: described(
    Schema.optionalKey(Schema.NullOr(Schema.Int)),
    "Id of a connected number; null or left out: any connected one. Required for a key limited to some numbers.",
  ),
  // What is missing or blank is told by `textProblems`.
  text: described(Schema.optionalKey(TextInput), "Required when the reminder is made."),
  media: Schema.optionalKey(Schema.NullOr(MediaInput)),
  schedule: ScheduleInput,
  active: described(Schema.optionalKey(Schema.Boolean), "False: paused.", { default: true }),
}

/** The body of POST /reminders. */
export const ReminderBody = Schema.Struct(fields).annotate({ identifier: "CreateReminder" })

/** A reminder to make: in the words of its body. */
export type CreateReminder = typeof ReminderBody.Encoded

/** The body of PATCH /reminders/{id}. */
export const ReminderChangeBody = Schema.Struct({
  ...fields,
  name: Schema.optionalKey(fields.name),
  to: Schema.optionalKey(fields.to),
  schedule: Schema.optionalKey(fields.schedule),
  active: described(Schema.optionalKey(Schema.Boolean), "False pauses it, true resumes it."),
}).annotate({ identifier: "ChangeReminder", description: "Only the fields to change." })

export type ChangeReminder = typeof ReminderChangeBody.Encoded

type Raw = Readonly<Record<string, unknown>>

const textRequired = problem("text_required", "text", "A reminder needs text that is not blank.")

const textProblems = ({ text }: Raw, required: boolean): ReadonlyArray<Problem> => {
  if (text === undefined) return required ? [textRequired] : []
  return typeof text === "string" && isBlank(text) ? [textRequired] : []
}

/** A limited key's reminder must send from one of its numbers, and go on doing so. */
const fromProblems = ({ from }: Raw, limited: boolean, required: boolean) => {
  const missing = from === null || (required && from === undefined)
  return limited && missing
    ? [problem("validation_failed", "from", "A key limited to some numbers must name one.")]
    : []
}

/** The fields that were given; `timezone` is left out when the current one is to be kept. */
export type ReminderChange = Partial<ReminderContent>

const toChange = ({
  from,
  media,
  schedule,
  ...given
}: typeof ReminderChangeBody.Type): ReminderChange => ({
  ...given,
  ...(from === undefined ? {} : { from: from as NumberId | null }),
  ...(media === undefined ? {} : { media: media === null ? null : toMediaReference(media) }),
  ...(schedule === undefined ? {} : { cron: schedule.cron.text }),
  ...(schedule?.timezone === undefined ? {} : { timezone: schedule.timezone }),
})

const toContent = (body: typeof ReminderBody.Type): ReminderContent => ({
  from: null,
  text: "",
  media: null,
  timezone: "UTC" as TimeZone,
  active: true,
  ...toChange(body),
  name: body.name,
  to: body.to,
  cron: body.schedule.cron.text,
})

/**
 * The parsers under a rule for outgoing links, of callers that are limited to some numbers and of
 * others. What is given is looked at whatever its type says. Build once, use often.
 */
export const reminderRequestParser = (rule: OutboundRule) => {
  const parser = (limited: boolean) => {
    const acrossFields = (creation: boolean) => (raw: Raw) => [
      ...fromProblems(raw, limited, creation),
      ...textProblems(raw, creation),
      ...mediaUrlProblems(raw["media"], rule),
    ]
    const creation = inputDecoder(ReminderBody, { across: acrossFields(true) })
    const change = inputDecoder(ReminderChangeBody, { across: acrossFields(false) })
    return {
      creation: (command: unknown) => Result.map(creation(command), toContent),
      change: (command: unknown) => Result.map(change(command), toChange),
    }
  }
  return { limited: parser(true), unlimited: parser(false) }
}

const ActiveText = textFor("Only running or only paused ones.", { type: "boolean" })

const ActiveInput = decoded(ActiveText, (text: string) => {
  if (text === "true") return true
  return text === "false" ? false : refusedFor("must be true or false")
})

/** The query parameters of GET /reminders. */
export const ReminderQuery = Schema.Struct({
  active: Schema.optionalKey(ActiveInput),
  ...pageFields,
})

/** Which reminders. */
export interface ListReminders extends ListPage {
  /** Only running or only paused ones. */
  readonly active?: boolean
}

/** From a query string's parameters, or from the values themselves. */
export const parseListReminders = queryDecoder(ReminderQuery)

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

/**
 * Why the reminder cannot be made or changed so; undefined when it can. Of a change only what it
 * touches is checked: what has gone bad since is told by the runs.
 */
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
