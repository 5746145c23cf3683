/**
 * A reminder: a message that is sent again and again, at the times of its pattern in its zone
 * (contract: Reminders); and the port that keeps reminders and the log of their runs. A run and the
 * advance of its reminder to the next due time are one commit, guarded by the reminder's revision: so
 * a due time makes one message at most, however many workers there are and wherever one of them dies.
 */
import { Context, Result, Schema } from "effect"
import type { Effect } from "effect"
import type { OutboundRule } from "../egress/Egress.ts"
import { problem, refuse } from "../error/Refusal.ts"
import type { Code, Problem, Refusal, StoreUnavailable } from "../error/Refusal.ts"
import type { MessageId, NumberId, ReminderId, WorkspaceId } from "../Ids.ts"
import type { CallerScope, Sender } from "../key/Auth.ts"
import { MediaInput, mediaUrlProblems } from "../media/Media.ts"
import type { MediaReference } from "../media/Media.ts"
import { isTelegramOnly, resolveNumber } from "../message/accept.ts"
import type {
  Acceptance,
  AcceptanceFacts,
  AcceptanceOutcome,
  AcceptanceQuery,
  NumberFacts,
} from "../message/MessageStore.ts"
import { TextInput, toMediaReference } from "../message/SendRequest.ts"
import type { SendRequest } from "../message/SendRequest.ts"
import { RecipientInput, recipientKey } from "../recipient/Recipient.ts"
import type { RequestedRecipient } from "../recipient/Recipient.ts"
import type { IdempotencyClaim } from "../request/Idempotency.ts"
import {
  decoded,
  described,
  inputDecoder,
  isBlank,
  nameUpTo,
  parsed,
  refusedFor,
} from "../request/Input.ts"
import { pageFields, queryDecoder, textFor } from "../request/Page.ts"
import type { ListPage, PageOf, PageQuery } from "../request/Page.ts"
import type { Mode, Plan, Workspace } from "../workspace/Workspace.ts"
import { latestRunIn, nextRunAfter, parseCron, parseTimeZone } from "./Cron.ts"
import type { ReminderSchedule, TimeZone } from "./Cron.ts"

/** Code points (contract: Reminders). */
export const maximumReminderNameLength = 100

/** How long the log of a reminder's runs can be looked at, and a deleted reminder is remembered. */
export const runsKeptMillis = 30 * 24 * 60 * 60 * 1000

/** What a request says of a reminder, and a change may change. */
export interface ReminderContent {
  readonly name: string
  /** False while it is paused. */
  readonly active: boolean
  /** As it was named; contacts are resolved at each run. */
  readonly to: RequestedRecipient
  /** Null: any connected number, at each run. */
  readonly from: NumberId | null
  readonly text: string
  readonly media: MediaReference | null
  /** As it was given: it is read again for each run. */
  readonly cron: string
  readonly timezone: TimeZone
}

/** These fields alone, of a record that has more. */
export const contentOf = (content: ReminderContent): ReminderContent => ({
  name: content.name,
  active: content.active,
  to: content.to,
  from: content.from,
  text: content.text,
  media: content.media,
  cron: content.cron,
  timezone: content.timezone,
})

/**
 * Whether a line of the log from before `before` is dropped: a reminder that was not deleted goes on
 * showing its latest run.
 */
export const isRunForgotten = (
  run: { readonly ranAt: number; readonly isLatest: boolean },
  reminder: { readonly removed: boolean },
  before: number,
): boolean => run.ranAt < before && (!run.isLatest || reminder.removed)

export interface Reminder extends ReminderContent {
  readonly id: ReminderId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  /** The due time of the next run (epoch milliseconds); null when paused, or when none ever comes. */
  readonly nextRunAt: number | null
  readonly createdAt: number
  /** Grows with each change and each run: a caller that decided on an older one decides again. */
  readonly revision: number
  /** What became of the latest due time that is over; null before the first. */
  readonly lastRun: LastRun | null
}

export interface LastRun {
  readonly dueAt: number
  readonly outcome: "accepted" | "refused" | "missed"
  /** Of the message that was accepted, else null. */
  readonly messageId: MessageId | null
  /** Why it was refused, else null. */
  readonly code: Code | null
}

/** A run to be committed, with the reminder's advance. */
export interface ReminderRun {
  readonly id: ReminderId
  /** Of the reminder that was decided on. If the stored one has changed, another worker was first. */
  readonly revision: number
  /** The due time that the run is made for, or that is passed over. */
  readonly dueAt: number
  readonly ranAt: number
  /** Null when no further run comes. */
  readonly nextRunAt: number | null
}

/** What is written of a run that makes no message. */
type RunOutcome =
  | { readonly outcome: "refused"; readonly code: Code }
  /** Nothing ran when it was due, and it is too late to make it up. */
  | { readonly outcome: "missed"; readonly code: null }

/** A line of the reminder's log. */
export interface LoggedRun extends LastRun {
  readonly id: number
  readonly ranAt: number
}

/**
 * The schedule of a stored reminder; undefined when this process cannot read it, since its time zones
 * are older than those of the process that took it.
 */
const scheduleOf = ({
  cron,
  timezone,
}: Pick<ReminderContent, "cron" | "timezone">): ReminderSchedule | undefined => {
  const pattern = Result.getOrUndefined(parseCron(cron))
  const zone = parseTimeZone(timezone)
  return pattern === undefined || zone === undefined ? undefined : { cron: pattern, timezone: zone }
}

/** The first run later than `after` of a reminder with that content; null when it is paused. */
export const firstRun = (
  content: Pick<ReminderContent, "active" | "cron" | "timezone">,
  after: number,
): number | null => {
  const schedule = content.active ? scheduleOf(content) : undefined
  return schedule === undefined ? null : nextRunAfter(schedule, after)
}

export type NewReminder = Omit<Reminder, "id" | "revision" | "lastRun">

/** Whose reminders: a limited key sees those that send from its numbers. */
export interface ReminderScope extends Omit<CallerScope, "mode"> {
  /** Null for the operator, who sees both. */
  readonly mode: Mode | null
}

export type ReminderInsertion =
  | { readonly _tag: "Inserted"; readonly reminder: Reminder }
  /** The claim was no longer held; nothing was written. */
  | { readonly _tag: "Broken"; readonly guard: "idempotency" }

export interface DueReminder {
  readonly reminder: Reminder
  /** Its `nextRunAt`. */
  readonly dueAt: number
  /** The number that its latest message was planned for; null before the first. */
  readonly previousNumberId: NumberId | null
  /** As it stands, deleted or not. */
  readonly workspace: Workspace
}

/**
 * `reminder`: it was changed, deleted or run meanwhile. `HeldUp`: another transaction, such as a caller's
 * own, held up for long what the run needs; nothing was written, and it stays due.
 */
export type RunCommit =
  | AcceptanceOutcome
  | { readonly _tag: "Broken"; readonly guard: "reminder" }
  | { readonly _tag: "HeldUp" }

export class ReminderStore
  extends /*#__PURE__*/ Context.Service<
    ReminderStore,
    {
      /** Finishes the claim. Guard: it is still held. The first revision is 1. */
      insert(
        reminder: NewReminder,
        idempotency: IdempotencyClaim | null,
      ): Effect.Effect<ReminderInsertion, StoreUnavailable>
      get(scope: ReminderScope, id: ReminderId): Effect.Effect<Reminder | null, StoreUnavailable>
      /**
       * With the content that it was made with, also when it was changed or deleted since; for the
       * repeat of its creation. Its `nextRunAt` and `lastRun` say nothing.
       */
      made(id: ReminderId): Effect.Effect<Reminder | null, StoreUnavailable>
      /** Newest first. */
      list(
        scope: ReminderScope,
        filter: { readonly active: boolean | null },
        page: PageQuery,
      ): Effect.Effect<PageOf<Reminder>, StoreUnavailable>
      /**
       * Replaces content and next run. Guard: the reminder is there and has that revision still, which
       * then grows by one; false when not.
       */
      update(
        id: ReminderId,
        revision: number,
        content: ReminderContent,
        nextRunAt: number | null,
      ): Effect.Effect<boolean, StoreUnavailable>
      /** False when unknown. `now` is when it is deleted. */
      remove(
        scope: ReminderScope,
        id: ReminderId,
        now: number,
      ): Effect.Effect<boolean, StoreUnavailable>
      /** Those whose next run has come; the longest due first. */
      due(now: number, limit: number): Effect.Effect<ReadonlyArray<DueReminder>, StoreUnavailable>
      /**
       * Writes an acceptance of one message as `MessageStore.accept` does, and with it the advance to
       * the next run and the log's line; or nothing. Guards: the revision (`reminder`), then those of
       * `accept`.
       */
      run(acceptance: Acceptance, run: ReminderRun): Effect.Effect<RunCommit, StoreUnavailable>
      /**
       * Advances without a message, with a line in the log unless `outcome` is null. Guard: the
       * revision; false when it is another.
       */
      pass(run: ReminderRun, outcome: RunOutcome | null): Effect.Effect<boolean, StoreUnavailable>
      /** The log, newest first. */
      runs(id: ReminderId, page: PageQuery): Effect.Effect<PageOf<LoggedRun>, StoreUnavailable>
      /**
       * Drops lines of the log from before `before`, but a reminder's latest, and reminders that were
       * deleted before.
       */
      forget(before: number): Effect.Effect<void, StoreUnavailable>
    }
  >()("core/ReminderStore") {}

// One run of a reminder: which of the times that have come it is made for, from which number, and
// what became of it (contract: Reminder runs). Pure.

/** How long ago a missed run may have been due to be made up; an hour in milliseconds. */
const madeUpMillis = 60 * 60 * 1000

/** Whether to send at a due time, and which run the reminder advances by. */
interface RunPlan {
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

// What is asked of reminders, as bodies, queries and commands say it: from unknown input to the
// reminder or the change, or its problems with their fields (contract: Making a reminder, Changing a
// reminder); then the decision on it, as far
// as it depends on stored state: plan, number, contact, media, in this order. Pure.

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
type ReminderChange = Partial<ReminderContent>

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
