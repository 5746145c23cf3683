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
  /** Names of the extra fields of the error object, and of those that are there only at times. */
  readonly details?: ReadonlyArray<string>
  readonly optionalDetails?: ReadonlyArray<string>
}

const entries = {
  // Keys and workspaces
  api_v2_not_enabled: {
    status: 403,
    message: "Version 2 of the API is not enabled for this workspace.",
  },
  missing_api_key: { status: 401, message: "Send the API key as `Authorization: Bearer <key>`." },
  invalid_api_key: { status: 401, message: "This is not a version 2 API key." },
  v1_key_on_v2: {
    status: 401,
    message:
      "This is a version 1 key. Version 2 needs a key that starts with svc_live_ or svc_test_.",
  },
  api_key_revoked: { status: 401, message: "This API key has been revoked." },
  api_key_expired: { status: 401, message: "This API key is past its expiry date." },
  too_many_auth_failures: {
    status: 429,
    message: "Too many requests with a wrong key from this address. Wait a minute.",
  },
  demo_account: { status: 403, message: "Demo workspaces cannot use the API." },
  account_disabled: { status: 403, message: "The account of the workspace's owner is disabled." },
  missing_scope: {
    status: 403,
    message: "The key lacks the scope that this operation needs.",
    details: ["required_scope"],
  },
  number_not_allowed: { status: 403, message: "The key is limited to other numbers." },
  rate_limited: { status: 429, message: "Too many requests with this key." },
  // Requests
  not_found: { status: 404, message: "There is nothing at this address." },
  method_not_allowed: { status: 405, message: "This address does not take that method." },
  invalid_json: { status: 400, message: "The body is not valid JSON." },
  unsupported_content_type: { status: 415, message: "Send the body as application/json in UTF-8." },
  request_too_large: { status: 413, message: "The body is too large." },
  validation_failed: { status: 400, message: "The request is not valid." },
  invalid_cursor: { status: 400, message: "The cursor is malformed or was made for another list." },
  invalid_idempotency_key: {
    status: 400,
    message: "Idempotency-Key takes one value of 1 to 255 printable ASCII characters.",
  },
  idempotency_key_reused: {
    status: 422,
    message: "This Idempotency-Key was used within 24 hours for another request.",
  },
  idempotency_in_progress: {
    status: 409,
    message: "The first request with this Idempotency-Key is still running.",
  },
  internal_error: {
    status: 500,
    message: "The service failed. Retry later with the same Idempotency-Key.",
  },
  service_unavailable: {
    status: 503,
    message: "The service is too busy for this request. Retry after the seconds of `Retry-After`.",
  },
  // Messages
  text_required: {
    status: 400,
    message: "A message needs text or media, and text that is not blank.",
  },
  text_too_long: { status: 400, message: "The text is longer than 3,000 characters." },
  too_many_recipients: { status: 400, message: "A batch takes at most 1,000 recipients." },
  invalid_datetime: {
    status: 400,
    message: "Times are ISO 8601 with an offset, such as 2030-01-31T09:00:00+02:00.",
  },
  invalid_phone: {
    status: 422,
    message: "Phone numbers are international, with + and a country code.",
  },
  invalid_username: {
    status: 422,
    message: "Usernames are @name, a t.me/name link or tg: and a user id.",
  },
  username_needs_telegram: {
    status: 422,
    message: "A Telegram username needs a Telegram account as `from`, or exactly one connected.",
  },
  contact_not_found: { status: 422, pathStatus: 404, message: "There is no such contact." },
  media_not_found: {
    status: 422,
    pathStatus: 404,
    message: "There is no such file in the media directory.",
  },
  invalid_media_url: {
    status: 422,
    message: "The media link is not a public http or https address.",
  },
  time_in_past: { status: 422, message: "This time is already past." },
  number_not_found: { status: 422, pathStatus: 404, message: "There is no such number." },
  from_required: {
    status: 422,
    message: "Name the sending number in `from`: there is not exactly one connected.",
  },
  no_credits: { status: 402, message: "The plan has too few messages left." },
  message_rejected: { status: 422, message: "The message could not be queued." },
  number_daily_cap_reached: {
    status: 429,
    message: "The number has reached its 1,000 messages in 24 hours.",
  },
  message_not_found: { status: 404, message: "There is no such message." },
  not_cancellable: {
    status: 409,
    message: "The message is no longer waiting.",
    details: ["status"],
    optionalDetails: ["sending"],
  },
  // Numbers
  plan_required: { status: 403, message: "The plan does not include this." },
  number_limit_reached: { status: 403, message: "The plan has no room for another number." },
  already_connected: { status: 409, message: "The number is connected already." },
  connect_in_progress: {
    status: 409,
    message: "The number is being connected already.",
    details: ["number_id"],
  },
  // Reminders
  invalid_cron: {
    status: 400,
    message: "A cron pattern has five fields and must be able to run at some time.",
  },
  invalid_timezone: { status: 400, message: "This is not the name of an IANA time zone." },
  reminder_not_found: { status: 404, message: "There is no such reminder." },
  // Webhooks
  webhook_limit_reached: {
    status: 403,
    message: "The workspace already has the limit of 5 running webhook endpoints.",
  },
  invalid_webhook_url: {
    status: 422,
    message: "The webhook address is not a public https:// address.",
  },
  invalid_callback_url: {
    status: 422,
    message: "The callback address is not a public http:// or https:// address.",
  },
  webhook_not_found: { status: 404, message: "There is no such webhook endpoint." },
  webhook_stopped: {
    status: 409,
    message: "The webhook endpoint is stopped: nothing is delivered to it.",
  },
  event_not_found: { status: 404, message: "There is no such event for this webhook endpoint." },
  // Media
  storage_full: {
    status: 403,
    message: "The plan's media storage has no room for this file.",
    details: ["used", "limit"],
  },
  // Number checks
  number_not_connected: { status: 422, message: "The number is not connected." },
  number_check_not_found: { status: 404, message: "There is no such number check." },
  // Operator API
  missing_operator_token: {
    status: 401,
    message: "Send the operator token as `Authorization: Bearer <token>`.",
  },
  invalid_operator_token: { status: 401, message: "This is not the operator token." },
  role_required: { status: 403, message: "The acting role may not do this." },
  workspace_not_found: { status: 404, message: "There is no such workspace." },
  key_not_found: { status: 404, message: "There is no such key in this workspace." },
  key_limit_reached: {
    status: 403,
    message: "The workspace already has the limit of 10 keys of this version.",
  },
  not_connecting: { status: 409, message: "The number is not being connected." },
  clock_not_adjustable: { status: 409, message: "The clock moves on only with CLOCK=adjustable." },
} satisfies Record<string, Entry>

/** A stable identifier; clients branch on it. */
export type Code = keyof typeof entries

export const catalogue: Readonly<Record<Code, Entry>> = entries
