/**
 * Reminders: messages sent repeatedly, by a pattern in a time zone (contract: Reminders); their
 * store, runs and requests. One commit, guarded by the reminder's revision, writes a run and the
 * advance to the next due time. So each due time makes at most one message, with any number of
 * workers and crashes.
 */
import { Result, Schema } from "effect"
import type { Effect } from "effect"
import type { OutboundRule } from "./Egress.ts"
import { problem, refuse } from "./Refusal.ts"
import type { Code, Problem, Refusal, StoreUnavailable } from "./Refusal.ts"
import type { MessageId, NumberId, ReminderId, WorkspaceId } from "./Ids.ts"
import type { CallerScope, Sender } from "./Auth.ts"
import { MediaInput, mediaUrlProblems } from "./Media.ts"
import type { MediaReference } from "./Media.ts"
import { isTelegramOnly, resolveNumber } from "./accept.ts"
import type { AcceptCode } from "./accept.ts"
import type {
  Acceptance,
  AcceptanceFacts,
  AcceptanceOutcome,
  AcceptanceQuery,
  FailedGuard,
  NumberFacts,
} from "./accept.ts"
import { TextInput, toMediaReference } from "./SendRequest.ts"
import type { SendRequest } from "./SendRequest.ts"
import { RecipientInput, recipientKey } from "./Recipient.ts"
import type { RequestedRecipient } from "./Recipient.ts"
import type { IdempotencyClaim } from "./Idempotency.ts"
import { described, inputDecoder, integerBetween, isBlank, nameUpTo, parsed } from "./Input.ts"
import type { CommandOf } from "./Input.ts"
import { pageFields, queryBoolean, queryDecoder } from "./Page.ts"
import type { ListPage, PageOf, PageQuery } from "./Page.ts"
import type { Mode, Plan, Workspace } from "./Workspace.ts"
import { latestRunIn, nextRunAfter, parseCron, parseTimeZone } from "./Cron.ts"
import type { ReminderSchedule, TimeZone } from "./Cron.ts"

/** In code points (contract: Reminders). */
export const maximumReminderNameLength = 100

/** How long the run log and deleted reminders are kept. */
export const runsRetentionMillis = 30 * 24 * 60 * 60 * 1000

/** The fields that requests set and changes may change. */
export interface ReminderContent {
  readonly name: string
  /** False while paused. */
  readonly active: boolean
  /** As named; each run resolves contacts. */
  readonly to: RequestedRecipient
  /** Null: any connected number, at each run. */
  readonly from: NumberId | null
  readonly text: string
  readonly media: MediaReference | null
  /** As given; each run parses it again. */
  readonly cron: string
  readonly timezone: TimeZone
}

/** Only these fields of a larger record. */
export const getContent = (content: ReminderContent): ReminderContent => ({
  name: content.name,
  active: content.active,
  to: content.to,
  from: content.from,
  text: content.text,
  media: content.media,
  cron: content.cron,
  timezone: content.timezone,
})

/** Whether to delete a log line older than `before`: an existing reminder keeps its latest run. */
export const isRunForgotten = (
  run: { readonly ranAt: number; readonly isLatest: boolean },
  reminder: { readonly removed: boolean },
  before: number,
): boolean => run.ranAt < before && (!run.isLatest || reminder.removed)

export interface Reminder extends ReminderContent {
  readonly id: ReminderId
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  /** The next due time (epoch milliseconds); null when paused or never. */
  readonly nextRunAt: number | null
  readonly createdAt: number
  /** Grows with each change and run; a decision on an older one must be repeated. */
  readonly revision: number
  /** The outcome of the latest past due time; null before the first. */
  readonly lastRun: LastRun | null
}

export interface LastRun {
  readonly dueAt: number
  readonly outcome: "accepted" | "refused" | "missed"
  /** Of the accepted message, else null; null too once that was erased. */
  readonly messageId: MessageId | null
  /** Why it was refused, else null. */
  readonly code: Code | null
}

/** A run to commit, with the reminder's advance. */
export interface ReminderRun {
  readonly id: ReminderId
  /** Of the reminder decided on; if the stored one differs, another worker was first. */
  readonly revision: number
  /** The due time that runs or is passed over. */
  readonly dueAt: number
  readonly ranAt: number
  /** Null when no further run comes. */
  readonly nextRunAt: number | null
  /** Of a run that was asked for: the commit finishes it with the run's id. */
  readonly idempotency: IdempotencyClaim | null
}

/** The outcome of a run without a message. */
type RunOutcome =
  | { readonly outcome: "refused"; readonly code: Code }
  /** Nothing ran when it was due, and it is too late to make it up. */
  | { readonly outcome: "missed"; readonly code: null }

/** A line of the reminder's log. */
export interface LoggedRun extends LastRun {
  readonly id: number
  readonly ranAt: number
}

/** A stored reminder's schedule; undefined when this process's older time zones lack its zone. */
const toSchedule = ({
  cron,
  timezone,
}: Pick<ReminderContent, "cron" | "timezone">): ReminderSchedule | undefined => {
  const pattern = Result.getOrUndefined(parseCron(cron))
  const zone = parseTimeZone(timezone)
  return pattern === undefined || zone === undefined ? undefined : { cron: pattern, timezone: zone }
}

/** The first run later than `after`; null when paused. */
export const firstRun = (
  content: Pick<ReminderContent, "active" | "cron" | "timezone">,
  after: number,
): number | null => {
  const schedule = content.active ? toSchedule(content) : undefined
  return schedule === undefined ? null : nextRunAfter(schedule, after)
}

export type NewReminder = Omit<Reminder, "id" | "revision" | "lastRun">

/** A limited key sees the reminders that send from its numbers. */
export interface ReminderScope extends Omit<CallerScope, "mode"> {
  /** Null for the operator, who sees both. */
  readonly mode: Mode | null
}

export type ReminderInsertion =
  | { readonly _tag: "Inserted"; readonly reminder: Reminder }
  /** The claim was lost; nothing was written. */
  | { readonly _tag: "Conflict"; readonly guard: "idempotency" }

/** What a run is decided on. */
export interface ReminderToRun {
  readonly reminder: Reminder
  /** The number of its previous message; null before the first. */
  readonly previousNumberId: NumberId | null
  /** Current, even if deleted. */
  readonly workspace: Workspace
}

export interface DueReminder extends ReminderToRun {
  /** Its `nextRunAt`. */
  readonly dueAt: number
}

/**
 * `reminder`: it was changed, deleted or run meanwhile. When another transaction blocks the run,
 * nothing is written, and it stays due.
 */
export type RunCommit =
  | (Extract<AcceptanceOutcome, { readonly _tag: "Accepted" }> & { readonly runId: number })
  | { readonly _tag: "Conflict"; readonly guard: FailedGuard | "reminder" }
  | { readonly _tag: "HeldUp" }

/** `reminder`: as for `RunCommit`. */
export type AdvanceCommit =
  /** The id of the log's line; null without one. */
  | { readonly _tag: "Advanced"; readonly runId: number | null }
  | { readonly _tag: "Conflict"; readonly guard: "reminder" | "idempotency" }

export interface ReminderStore {
  /** Finishes the claim. Guard: it is still held. The first revision is 1. */
  insert(
    reminder: NewReminder,
    idempotency: IdempotencyClaim | null,
  ): Effect.Effect<ReminderInsertion, StoreUnavailable>
  get(scope: ReminderScope, id: ReminderId): Effect.Effect<Reminder | null, StoreUnavailable>
  /** For a run that was asked for. */
  loadForRun(
    scope: ReminderScope,
    id: ReminderId,
  ): Effect.Effect<Omit<ReminderToRun, "workspace"> | null, StoreUnavailable>
  /**
   * With its original content, even if changed or deleted since; answers a repeat of its
   * creation. Ignore its `nextRunAt` and `lastRun`.
   */
  created(id: ReminderId): Effect.Effect<Reminder | null, StoreUnavailable>
  /** Newest first. */
  list(
    scope: ReminderScope,
    filter: { readonly active: boolean | null },
    page: PageQuery,
  ): Effect.Effect<PageOf<Reminder>, StoreUnavailable>
  /**
   * Replaces content and next run, and increments the revision. Guard: the reminder exists with
   * that revision; false when not.
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
  /** Due reminders, longest due first. */
  due(now: number, limit: number): Effect.Effect<ReadonlyArray<DueReminder>, StoreUnavailable>
  /**
   * Writes the acceptance of one message as `MessageStore.accept` does, the advance and the log
   * line; or nothing. Finishes the run's claim. Guards: that claim is still held, the revision
   * (`reminder`), then those of `accept`.
   */
  run(acceptance: Acceptance, run: ReminderRun): Effect.Effect<RunCommit, StoreUnavailable>
  /**
   * Advances without a message; logs `outcome` unless null. Finishes the run's claim. Guards: that
   * claim is still held, the revision (`reminder`).
   */
  advanceWithoutMessage(
    run: ReminderRun,
    outcome: RunOutcome | null,
  ): Effect.Effect<AdvanceCommit, StoreUnavailable>
  /** The log, newest first. */
  runs(id: ReminderId, page: PageQuery): Effect.Effect<PageOf<LoggedRun>, StoreUnavailable>
  /**
   * Deletes log lines and deleted reminders older than `before`, but keeps each reminder's
   * latest line.
   */
  forget(before: number): Effect.Effect<void, StoreUnavailable>
}

// One run of a reminder: for which due time, from which number, and its outcome (contract: Reminder
// runs). Pure.

/** How late a missed run may be made up: an hour, in milliseconds. */
const catchUpMillis = 60 * 60 * 1000

/** Whether to send at a due time, and how the reminder advances. */
interface RunPlan {
  readonly run: ReminderRun
  /** Null: send, if POST /messages would accept. */
  readonly instead: RunOutcome | null
}

/**
 * Plans a due reminder at `now`. Of several past due times only the latest counts, if within the
 * last hour. Null when not yet due: the clock was set back after the read.
 */
export const planRun = (reminder: Reminder, dueAt: number, now: number): RunPlan | null => {
  if (now < dueAt) return null
  const schedule = toSchedule(reminder)
  const { id, revision } = reminder
  const run = { id, revision, dueAt, ranAt: now, idempotency: null }
  if (schedule === undefined) {
    const instead: RunOutcome = { outcome: "refused", code: "invalid_timezone" }
    return { run: { ...run, nextRunAt: null }, instead }
  }
  const nextRunAt = nextRunAfter(schedule, now)
  const latest = latestRunIn(schedule, Math.max(dueAt, now - catchUpMillis) - 1, now)
  return latest === null
    ? { run: { ...run, nextRunAt }, instead: { outcome: "missed", code: null } }
    : { run: { ...run, dueAt: latest, nextRunAt }, instead: null }
}

/** A run at once, besides the schedule, which continues as before. */
export const runAtOnce = (
  { id, nextRunAt, revision }: Reminder,
  now: number,
  idempotency: IdempotencyClaim | null,
): ReminderRun => ({ id, revision, dueAt: now, ranAt: now, nextRunAt, idempotency })

/** The refusal of creations, changes and runs while the plan lacks reminders. */
export const withoutReminders = (plan: Plan | null) =>
  plan?.reminders === true
    ? undefined
    : refuse("plan_required", { message: "The plan does not include reminders." })

/**
 * The message of a run's refusal. Without `from` any connected number would do, so `from_required`
 * here means that none is connected.
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

/** The request of a run, as a body of POST /messages. */
export const runRequest = (reminder: ReminderContent): SendRequest => ({
  recipients: [reminder.to],
  batch: false,
  from: reminder.from,
  text: reminder.text,
  media: reminder.media,
  sendAt: null,
  expiresAt: null,
  callbackUrl: null,
  replyTo: null,
  reference: null,
})

/**
 * The number of a run without `from`: of the suitable connected ones, the one with most room in its
 * 24 hours. The facts hold all connected numbers, oldest first and counted. Null when none is
 * suitable.
 */
export const roomiest = (to: RequestedRecipient, facts: AcceptanceFacts): NumberFacts | null => {
  const connected = (platform: "whatsapp" | "telegram") =>
    facts.connected.filter(({ number }) => number.platform === platform)
  const telegramOnly = isTelegramOnly(to, facts)
  const whatsapp = telegramOnly ? [] : connected("whatsapp")
  // If both suit, WhatsApp goes first.
  const suited = whatsapp.length > 0 || to.kind === "group" ? whatsapp : connected("telegram")
  let best: NumberFacts | null = null
  for (const each of suited) {
    if (best === null || countPlanned(each) < countPlanned(best)) best = each
  }
  return best
}

/** All have the same limit, so the least planned has most room. */
const countPlanned = ({ quota }: NumberFacts): number => quota.exact?.planned ?? quota.bound

// Requests about reminders: from unknown input to a reminder or change, or its problems (contract:
// Making a reminder, Changing a reminder). Then the decision by stored state, in order: plan,
// number, contact, media. Pure.

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
    "Id of a connected number; null or left out: any connected one, at each run. Required for a key limited to some numbers.",
  ),
  // `textProblems` reports missing and blank texts.
  text: described(Schema.optionalKey(TextInput), "Required when the reminder is made."),
  media: Schema.optionalKey(Schema.NullOr(MediaInput)),
  schedule: ScheduleInput,
  active: described(Schema.optionalKey(Schema.Boolean), "False pauses it, true resumes it.", {
    default: true,
  }),
}

/** The body of POST /reminders. */
export const ReminderBody = Schema.Struct(fields).annotate({ identifier: "CreateReminder" })

/** A reminder to create. */
export type CreateReminder = CommandOf<typeof ReminderBody.Encoded>

/** The body of PATCH /reminders/{id}. */
export const ReminderChangeBody = Schema.Struct({
  ...fields,
  name: Schema.optionalKey(fields.name),
  to: Schema.optionalKey(fields.to),
  schedule: Schema.optionalKey(fields.schedule),
  active: described(Schema.optionalKey(Schema.Boolean), "False pauses it, true resumes it."),
}).annotate({ identifier: "ChangeReminder", description: "Only the fields to change." })

export type ChangeReminder = CommandOf<typeof ReminderChangeBody.Encoded>

/** The body of POST /workspaces/{id}/reminders/preview. */
export const PreviewBody = Schema.Struct({
  schedule: ScheduleInput,
  count: described(Schema.optionalKey(integerBetween(1, 50)), "How many runs.", { default: 10 }),
}).annotate({ identifier: "PreviewReminder" })

export type PreviewReminder = CommandOf<typeof PreviewBody.Encoded>

const scheduleCodes = ["invalid_cron", "invalid_timezone"] as const

export type PreviewCode = (typeof scheduleCodes)[number] | "validation_failed"

const decodePreview = inputDecoder(PreviewBody, { codes: scheduleCodes })

/** The schedule to preview, with the number of runs. */
export const parsePreview = (command: unknown) =>
  Result.map(decodePreview(command), ({ count = 10, schedule: { cron, timezone } }) => ({
    schedule: { cron, timezone: timezone ?? ("UTC" as TimeZone) },
    count,
  }))

/** What a reminder's fields are refused with, apart from `validation_failed`. */
const codes = [
  "text_required",
  "text_too_long",
  "invalid_phone",
  "invalid_username",
  "invalid_media_url",
  ...scheduleCodes,
] as const

type Raw = Readonly<Record<string, unknown>>

const textRequired = problem("text_required", "text", "A reminder needs text that is not blank.")

const textProblems = (
  { text }: Raw,
  required: boolean,
): ReadonlyArray<Problem<"text_required">> => {
  if (text === undefined) return required ? [textRequired] : []
  return typeof text === "string" && isBlank(text) ? [textRequired] : []
}

/** A limited key's reminder must send from one of its numbers, even after changes. */
const fromProblems = ({ from }: Raw, limited: boolean, required: boolean) => {
  const missing = from === null || (required && from === undefined)
  return limited && missing
    ? [problem("validation_failed", "from", "A key limited to some numbers must name one.")]
    : []
}

/** The given fields; without `timezone` the current one stays. */
type ReminderChange = Partial<ReminderContent>

const toChange = ({
  from,
  media,
  schedule,
  ...args
}: typeof ReminderChangeBody.Type): ReminderChange => ({
  ...args,
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
 * The parsers under a rule for outgoing links, for limited callers and others. Input is checked
 * whatever its static type. Build once, reuse.
 */
export const reminderRequestParser = (rule: OutboundRule) => {
  const parser = (limited: boolean) => {
    const acrossFields = (creation: boolean) => (raw: Raw) => [
      ...fromProblems(raw, limited, creation),
      ...textProblems(raw, creation),
      ...mediaUrlProblems(raw["media"], rule),
    ]
    const creation = inputDecoder(ReminderBody, { codes, across: acrossFields(true) })
    const change = inputDecoder(ReminderChangeBody, { codes, across: acrossFields(false) })
    return {
      creation: (command: unknown) => Result.map(creation(command), toContent),
      change: (command: unknown) => Result.map(change(command), toChange),
    }
  }
  return { limited: parser(true), unlimited: parser(false) }
}

/** The query parameters of GET /reminders. */
export const ReminderQuery = Schema.Struct({
  active: Schema.optionalKey(queryBoolean("Only running or only paused ones.")),
  ...pageFields,
})

export interface ListReminders extends ListPage {
  /** Only running or only paused ones. */
  readonly active?: boolean | undefined
}

/** Accepts query parameters, or typed values. */
export const parseListReminders = queryDecoder(ReminderQuery)

/** The desired state of a reminder. */
export interface Wanted {
  /** Null for a new one. */
  readonly current: ReminderContent | null
  /** The given fields; all of them for a new one. */
  readonly input: ReminderChange
  /** The resulting reminder. */
  readonly content: ReminderContent
}

/** Whether a change only pauses, which any plan allows. */
export const isPausing = (overrides: ReminderChange): boolean =>
  overrides.active === false && Object.keys(overrides).length === 1

export const factsWanted = (
  { mode, workspaceId }: Sender,
  { content, input }: Wanted,
  now: number,
): AcceptanceQuery => ({
  workspaceId,
  mode,
  now,
  from: content.from,
  phones: [],
  contactIds: content.to.kind === "contact" ? [content.to.contactId] : [],
  chatIds: [],
  replyTo: null,
  mediaId: input.media?.mediaId ?? null,
  exactQuota: null,
  idempotency: null,
})

/** Refusals by stored state. */
type ReminderRefusalCode =
  | Exclude<AcceptCode, "time_in_past" | "no_credits" | "number_daily_cap_reached">
  | "plan_required"
  | "number_not_connected"

/** What a creation or change of a reminder can be refused with. */
export type ReminderCode = (typeof codes)[number] | ReminderRefusalCode

const numberRefusal = (
  { content, current, input }: Wanted,
  facts: AcceptanceFacts,
  sender: Sender,
): Refusal<ReminderRefusalCode> | undefined => {
  const isNew = content.from !== null && content.from !== current?.from
  if (!isNew && input.to === undefined && content.from === current?.from) return undefined
  // Each run chooses a connected number. But a recipient on Telegram alone needs a connected
  // account now, since its runs have no number to wait for.
  if (content.from === null) {
    return isTelegramOnly(content.to, facts) &&
      !facts.connected.some(({ number }) => number.platform === "telegram")
      ? refuse("username_needs_telegram", { field: `to.${recipientKey(content.to)}` })
      : undefined
  }
  if (facts.named === null) {
    // The current number was removed, and the change names no other.
    return isNew ? refuse("number_not_connected", { field: "from" }) : undefined
  }
  const found = resolveNumber(runRequest(content), facts, sender)
  if (Result.isFailure(found)) return found.failure
  return isNew && found.success.number.status !== "connected"
    ? refuse("number_not_connected", { field: "from" })
    : undefined
}

/**
 * Why a creation or change is refused; undefined when allowed. A change checks only its own fields;
 * runs report what broke since.
 */
export const reminderRefusal = (
  requested: Wanted,
  facts: AcceptanceFacts,
  sender: Sender,
  linkAllowed: boolean,
): Refusal<ReminderRefusalCode> | undefined => {
  const { to, media } = requested.input
  const early = withoutReminders(facts.plan) ?? numberRefusal(requested, facts, sender)
  if (early !== undefined) return early
  if (to?.kind === "contact" && !facts.contacts.has(to.contactId)) {
    return refuse("contact_not_found", { field: "to.contactId" })
  }
  if (media != null && media.mediaId !== null && facts.media === null) {
    return refuse("media_not_found", { field: "media.mediaId" })
  }
  return linkAllowed ? undefined : refuse("invalid_media_url", { field: "media.url" })
}

/**
 * A changed reminder's next run: as before, unless it was resumed or rescheduled, which count from
 * now; from its latest run where that is later, by the clock of the process that ran it.
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
  if (goesOn) return current.nextRunAt
  return firstRun(content, Math.max(now, current.lastRun?.dueAt ?? now))
}
