/**
 * A refusal: an error for callers, as a value (contract: Errors). Every rule refuses with one of
 * these; adapters turn it into their form of answer.
 */
import { Data, Effect } from "effect"

/**
 * The error catalogue: every `code` that an answer can carry, with its HTTP status and the text a
 * developer reads (contract: Error codes). The one place that knows them; answers, events and the
 * documentation are made from it.
 */

interface Entry {
  readonly status: number
  /** The status when the thing itself was addressed in the path. */
  readonly pathStatus?: number
  readonly message: string
  /** The facts that come with it, and those that are there only at times. */
  readonly details?: ReadonlyArray<keyof Details>
  readonly optionalDetails?: ReadonlyArray<keyof Details>
  /** Left out where a service lists codes and serves no operator API. */
  readonly operatorOnly?: true
}

/** Facts that refusals carry; the catalogue says which code has which. */
export interface Details {
  readonly requiredScope?: string
  /** The message's status, in the words of an answer. */
  readonly status?: string
  readonly sending?: boolean
  /** How many messages still fit at the planned time. */
  readonly room?: number
  /** ISO 8601: when all of them fit; null for never. */
  readonly roomAt?: string | null
  readonly numberId?: number
  readonly contactId?: number
  /** A message that is stored although it was refused. */
  readonly messageId?: number
  /** In bytes, as is `limit`. */
  readonly used?: number
  readonly limit?: number
  /** Of a file, from 1. */
  readonly line?: number
  readonly column?: number
}

const entry = (
  status: number,
  message: string,
  more: Omit<Entry, "status" | "message"> = {},
): Entry => ({ status, message, ...more })

const operatorOnly = <C extends string>(some: Readonly<Record<C, Entry>>): Record<C, Entry> => {
  const marked = {} as Record<C, Entry>
  for (const code of Object.keys(some) as Array<C>) {
    marked[code] = { ...some[code], operatorOnly: true }
  }
  return marked
}

const entries = {
  // Keys and workspaces
  api_v2_not_enabled: entry(403, "Version 2 of the API is not enabled for this workspace."),
  missing_api_key: entry(401, "Send the API key as `Authorization: Bearer <key>`."),
  invalid_api_key: entry(401, "This is not a version 2 API key."),
  v1_key_on_v2: entry(
    401,
    "This is a version 1 key. Version 2 needs a key that starts with svc_live_ or svc_test_.",
  ),
  api_key_revoked: entry(401, "This API key has been revoked."),
  api_key_expired: entry(401, "This API key is past its expiry date."),
  too_many_auth_failures: entry(
    429,
    "Too many requests with a wrong key from this address. Wait a minute.",
  ),
  demo_account: entry(403, "Demo workspaces cannot use the API."),
  account_disabled: entry(403, "The account of the workspace's owner is disabled."),
  missing_scope: entry(403, "The key lacks the scope that this operation needs.", {
    details: ["requiredScope"],
  }),
  number_not_allowed: entry(403, "The key is limited to other numbers."),
  rate_limited: entry(429, "Too many requests with this key."),
  // Requests
  not_found: entry(404, "There is nothing at this address."),
  method_not_allowed: entry(405, "This address does not take that method."),
  invalid_json: entry(400, "The body is not valid JSON."),
  unsupported_content_type: entry(415, "Send the body as application/json in UTF-8."),
  request_too_large: entry(413, "The body is too large."),
  validation_failed: entry(400, "The request is not valid."),
  invalid_cursor: entry(400, "The cursor is malformed or was made for another list."),
  invalid_idempotency_key: entry(
    400,
    "Idempotency-Key takes one value of 1 to 255 printable ASCII characters.",
  ),
  idempotency_key_reused: entry(
    422,
    "This Idempotency-Key was used within 24 hours for another request.",
  ),
  idempotency_in_progress: entry(
    409,
    "The first request with this Idempotency-Key is still running.",
  ),
  internal_error: entry(500, "The service failed. Retry later with the same Idempotency-Key."),
  service_unavailable: entry(
    503,
    "The service is too busy for this request. Retry after the seconds of `Retry-After`.",
  ),
  // Messages
  text_required: entry(400, "A message needs text or media, and text that is not blank."),
  text_too_long: entry(400, "The text is longer than 3,000 characters."),
  too_many_recipients: entry(400, "A batch takes at most 1,000 recipients."),
  invalid_datetime: entry(
    400,
    "Times are ISO 8601 with an offset, such as 2030-01-31T09:00:00+02:00.",
  ),
  invalid_phone: entry(422, "Phone numbers are international, with + and a country code."),
  invalid_username: entry(422, "Usernames are @name, a t.me/name link or tg: and a user id."),
  username_needs_telegram: entry(
    422,
    "A Telegram username needs a Telegram account as `from`, or exactly one connected.",
  ),
  contact_not_found: entry(422, "There is no such contact.", { pathStatus: 404 }),
  media_not_found: entry(422, "There is no such file in the media directory.", { pathStatus: 404 }),
  invalid_media_url: entry(422, "The media link is not a public http or https address."),
  time_in_past: entry(422, "This time is already past."),
  number_not_found: entry(422, "There is no such number.", { pathStatus: 404 }),
  from_required: entry(
    422,
    "Name the sending number in `from`: there is not exactly one connected.",
  ),
  no_credits: entry(402, "The plan has too few messages left."),
  message_rejected: entry(422, "The message could not be queued."),
  number_daily_cap_reached: entry(429, "The number has reached its 1,000 messages in 24 hours.", {
    details: ["room", "roomAt"],
  }),
  message_not_found: entry(404, "There is no such message."),
  not_cancellable: entry(409, "The message is no longer waiting.", {
    details: ["status"],
    optionalDetails: ["sending"],
  }),
  // Conversations
  received_message_not_found: entry(404, "There is no such received message."),
  chat_not_found: entry(422, "There is no such chat.", { pathStatus: 404 }),
  reply_not_possible: entry(
    422,
    "The message to reply to is not of that chat, was not sent, or is no longer stored.",
  ),
  // Numbers
  plan_required: entry(403, "The plan does not include this."),
  number_limit_reached: entry(403, "The plan has no room for another number."),
  already_connected: entry(409, "The number is connected already."),
  number_exists: entry(
    409,
    "The workspace has a number with this phone already. Use that number, or remove it; where it is disconnected, link it again.",
    { details: ["numberId"] },
  ),
  contact_exists: entry(
    409,
    "The workspace has a contact with this phone or username already. Use that contact, or delete it.",
    { details: ["contactId"] },
  ),
  connect_in_progress: entry(409, "The number is being connected already.", {
    details: ["numberId"],
  }),
  // Reminders
  invalid_cron: entry(400, "A cron pattern has five fields and must be able to run at some time."),
  invalid_timezone: entry(400, "This is not the name of an IANA time zone."),
  reminder_not_found: entry(404, "There is no such reminder."),
  // Campaigns
  ...operatorOnly({
    campaign_not_found: entry(404, "There is no such campaign."),
    row_not_found: entry(404, "The campaign has no such row."),
    campaign_limit_reached: entry(
      403,
      "The workspace already has the limit of 100 campaigns that have not ended.",
    ),
    campaign_not_started: entry(409, "The campaign is a draft: start it first."),
    campaign_started: entry(409, "The campaign is no draft any more."),
    campaign_has_rows: entry(
      409,
      "Rows were checked with this field. Delete the draft's rows before you change it.",
    ),
    campaign_ended: entry(409, "The campaign has ended."),
    upload_in_progress: entry(409, "Another upload adds rows to this campaign. Retry after it."),
    invalid_template: entry(400, "Braces hold the name of a column; `{{` and `}}` are braces."),
    too_many_rows: entry(400, "A campaign takes at most 100,000 rows."),
    no_rows: entry(422, "The campaign has no row to send."),
    column_not_found: entry(422, "The file has no such column."),
    invalid_csv: entry(422, "The file is not valid CSV.", { optionalDetails: ["line", "column"] }),
    from_row_required: entry(
      422,
      "The store was restored: name the first row that had not left as `from_row`.",
    ),
  }),
  // Webhooks
  webhook_limit_reached: entry(
    403,
    "The workspace already has the limit of 5 running webhook endpoints.",
  ),
  invalid_webhook_url: entry(422, "The webhook address is not a public https:// address."),
  invalid_callback_url: entry(
    422,
    "The callback address is not a public http:// or https:// address.",
  ),
  webhook_not_found: entry(404, "There is no such webhook endpoint."),
  webhook_stopped: entry(409, "The webhook endpoint is stopped: nothing is delivered to it."),
  event_not_found: entry(404, "There is no such event for this webhook endpoint."),
  // Media
  storage_full: entry(403, "The plan's media storage has no room for this file.", {
    details: ["used", "limit"],
  }),
  // Conversations
  conversations_not_enabled: entry(404, "Conversations are off in this workspace."),
  // Number checks
  number_not_connected: entry(422, "The number is not connected."),
  number_check_not_found: entry(404, "There is no such number check."),
  // Operator API
  missing_operator_token: entry(401, "Send the operator token as `Authorization: Bearer <token>`."),
  invalid_operator_token: entry(401, "This is not the operator token."),
  session_ended: entry(401, "The session has ended. Sign in again."),
  invalid_portal_code: entry(401, "This link is not valid: unknown, used, revoked or too old."),
  cross_site_request: entry(
    403,
    "A browser session changes things only from the dashboard's own pages.",
  ),
  portal_link_limit_reached: entry(403, "The workspace already has the limit of 100 unused links."),
  portal_session_not_found: entry(404, "There is no such portal link in this workspace."),
  delivery_not_found: entry(404, "The endpoint's log has no such delivery."),
  operator_required: entry(403, "Only the operator may do this."),
  role_required: entry(403, "The acting role may not do this."),
  workspace_not_found: entry(404, "There is no such workspace."),
  key_not_found: entry(404, "There is no such key in this workspace."),
  key_limit_reached: entry(403, "The workspace already has the limit of 10 keys of this version."),
  not_connecting: entry(409, "The number is not being connected."),
  telegram_not_configured: entry(
    409,
    "Telegram accounts are logged in with TELEGRAM_API_ID and TELEGRAM_API_HASH.",
  ),
  login_not_found: entry(404, "No login of this number goes on."),
  invalid_code: entry(422, "This is not the code that Telegram sent."),
  invalid_password: entry(422, "This is not the account's password."),
  already_restored: entry(
    409,
    "This epoch of the store has accepted messages. Say again: true where it was restored once more.",
  ),
  clock_not_adjustable: entry(409, "The clock moves on only with CLOCK=adjustable."),
} satisfies Record<string, Entry>

/** A stable identifier; clients branch on it. */
export type Code = keyof typeof entries

export const catalogue: Readonly<Record<Code, Entry>> = entries

// The one way in which a store fails: the store did not answer, or answered with something
// other than a decision (connection refused, pool exhausted, statement timed out). Refusals of
// rules are values, never this.

export class StoreUnavailable
  extends /*#__PURE__*/ Data.TaggedError("StoreUnavailable")<{
    /** The port's operation, for logs; never shown to a client. */
    readonly operation: string
    readonly cause: unknown
    /** Seconds; there when the store is well and only has no room for this now. */
    readonly retryAfter?: number
    /** The disk of the store is full. */
    readonly isDiskFull?: boolean
  }>
{
  override get message() {
    return `the store did not answer: ${this.operation}`
  }
}

/**
 * How many problems `errors` reports at most. A row of `sharedResources`, but kept here: every rule that
 * refuses is bundled with this file, and would bring that table along.
 */
export const maximumErrors = 50

/**
 * Code units of a message, and of a field's path, which may hold names that the caller made up. With
 * these an answer stays within `refusalBytes` however its text must be escaped.
 */
const maximumMessage = 500
const maximumField = 120

/** Cuts a text that a caller may have made longer than an answer may repeat it. */
const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`

/** One problem of a request that has several. */
export interface Problem<C extends Code = Code> {
  readonly code: C
  /** Path of the field, such as `to[3].phone`; null when the whole request is meant. */
  readonly field: string | null
  readonly message: string
}

/** `C`: the codes that it can have. Each operation's type names its own. */
export class Refusal<out C extends Code = Code>
  extends /*#__PURE__*/ Data.TaggedError("Refusal")<{
    readonly code: Code
    readonly status: number
    readonly message: string
    readonly field: string | null
    /** The other problems of the same request. */
    readonly errors: ReadonlyArray<Problem>
    readonly details: Details
    /** Seconds; goes into `Retry-After`. */
    readonly retryAfter: number | null
  }>
{
  declare readonly code: C
}

/** Why an operation of the service fails: it is refused, or the store does not answer. */
export type Failure<C extends Code = Code> = Refusal<C> | StoreUnavailable

interface Options {
  readonly message?: string
  readonly field?: string | null
  readonly errors?: ReadonlyArray<Problem>
  readonly details?: Details
  readonly retryAfter?: number
  /** The missing thing was addressed in the path: 404 instead of 422. */
  readonly inPath?: boolean
}

/** Makes the refusal with the catalogue's status and text. */
export const refuse = <C extends Code>(code: C, options: Options = {}): Refusal<C> => {
  const known = catalogue[code]
  return new Refusal<C>({
    code,
    status: options.inPath === true ? (known.pathStatus ?? known.status) : known.status,
    message: cut(options.message ?? known.message, maximumMessage),
    field: options.field == null ? null : cut(options.field, maximumField),
    errors: options.errors?.slice(0, maximumErrors) ?? [],
    details: options.details ?? {},
    retryAfter: options.retryAfter ?? null,
  })
}

/** What is found under an id, or that refusal; the id is undefined when it could not be read. */
export const findOrRefuse = <Id, A, E, C extends Code>(
  code: C,
  id: Id | undefined,
  find: (id: Id) => Effect.Effect<A | null, E>,
): Effect.Effect<A, E | Refusal<C>> =>
  Effect.filterOrFail(
    id === undefined ? Effect.succeed(null) : find(id),
    (found): found is A => found !== null,
    () => refuse(code),
  )

/**
 * The refusal for a store that did not answer. A healthy store without room says when to come back; all
 * else is a fault.
 */
export const refusalOfStore = ({
  retryAfter,
}: StoreUnavailable): Refusal<"internal_error" | "service_unavailable"> =>
  retryAfter === undefined
    ? refuse("internal_error")
    : refuse("service_unavailable", { retryAfter })

/** The refusal with more details. */
export const detailed = <C extends Code>(refusal: Refusal<C>, more: Details): Refusal<C> => {
  const { code, status, message, field, errors, details, retryAfter } = refusal
  const all = { ...details, ...more }
  return new Refusal<C>({ code, status, message, field, errors, details: all, retryAfter })
}

export const problem = <C extends Code>(
  code: C,
  field: string | null,
  message?: string,
): Problem<C> => ({
  code,
  field: field === null ? null : cut(field, maximumField),
  message: cut(message ?? catalogue[code].message, maximumMessage),
})

/**
 * The first problem is the error, the rest go to `errors` (contract: JSON and text), as many as may
 * be told.
 */
export const refuseAll = <C extends Code>(
  { code, ...first }: Problem<C>,
  errors: ReadonlyArray<Problem>,
): Refusal<C> => refuse(code, { ...first, errors })

/** Every problem of a refused request, the error itself first. */
export const toProblems = (refusal: Refusal): ReadonlyArray<Problem> => [
  problem(refusal.code, refusal.field, refusal.message),
  ...refusal.errors,
]
