/** The facade's only error type. */

/**
 * Why a call was refused or failed. New versions may add codes; no version changes a code's meaning.
 */
export type ErrorCode =
  | "api_v2_not_enabled"
  | "missing_api_key"
  | "invalid_api_key"
  | "v1_key_on_v2"
  | "api_key_revoked"
  | "api_key_expired"
  | "too_many_auth_failures"
  | "demo_account"
  | "account_disabled"
  | "missing_scope"
  | "number_not_allowed"
  | "rate_limited"
  | "not_found"
  | "method_not_allowed"
  | "invalid_json"
  | "unsupported_content_type"
  | "request_too_large"
  | "validation_failed"
  | "invalid_cursor"
  | "invalid_idempotency_key"
  | "idempotency_key_reused"
  | "idempotency_in_progress"
  | "internal_error"
  | "service_unavailable"
  | "text_required"
  | "text_too_long"
  | "too_many_recipients"
  | "invalid_datetime"
  | "invalid_phone"
  | "invalid_username"
  | "username_needs_telegram"
  | "contact_not_found"
  | "media_not_found"
  | "invalid_media_url"
  | "time_in_past"
  | "number_not_found"
  | "from_required"
  | "no_credits"
  | "message_rejected"
  | "number_daily_cap_reached"
  | "message_not_found"
  | "not_cancellable"
  | "plan_required"
  | "number_limit_reached"
  | "already_connected"
  | "number_exists"
  | "contact_exists"
  | "connect_in_progress"
  | "invalid_cron"
  | "invalid_timezone"
  | "reminder_not_found"
  | "campaign_not_found"
  | "row_not_found"
  | "campaign_limit_reached"
  | "campaign_not_started"
  | "campaign_started"
  | "campaign_has_rows"
  | "campaign_ended"
  | "upload_in_progress"
  | "invalid_template"
  | "too_many_rows"
  | "no_rows"
  | "column_not_found"
  | "invalid_csv"
  | "from_row_required"
  | "webhook_limit_reached"
  | "invalid_webhook_url"
  | "invalid_callback_url"
  | "webhook_not_found"
  | "webhook_stopped"
  | "event_not_found"
  | "conversations_not_enabled"
  | "received_message_not_found"
  | "chat_not_found"
  | "reply_not_possible"
  | "storage_full"
  | "number_not_connected"
  | "number_check_not_found"
  | "missing_operator_token"
  | "invalid_operator_token"
  | "session_ended"
  | "invalid_portal_code"
  | "cross_site_request"
  | "portal_link_limit_reached"
  | "portal_session_not_found"
  | "delivery_not_found"
  | "operator_required"
  | "role_required"
  | "workspace_not_found"
  | "key_not_found"
  | "key_limit_reached"
  | "not_connecting"
  | "telegram_not_configured"
  | "login_not_found"
  | "invalid_code"
  | "invalid_password"
  | "already_restored"
  | "clock_not_adjustable"
  /** The service is closed or closing. */
  | "closed"
  /** `open` failed: the message says what to change. */
  | "cannot_start"

/** One problem with the arguments. */
export interface ErrorProblem {
  /** As in `MessagingError`. */
  readonly code: ErrorCode
  /** Path of the field, such as `to[3].phone`; null when the problem concerns the whole command. */
  readonly field: string | null
  /** For developers, in English. */
  readonly message: string
}

/**
 * Every promise of the service rejects with one of these. Branch on `code`: texts may change. Each
 * method documents its own codes. Any method may also fail with `closed` or `service_unavailable`. A
 * fault of the service fails with `internal_error`, with its reason as `cause`.
 */
export class MessagingError extends Error {
  /** Always `MessagingError`. */
  override readonly name = "MessagingError"
  /** Stable code; branch on it. */
  readonly code: ErrorCode
  /** HTTP status of the code, such as 422. */
  readonly status: number
  /**
   * Path of the wrong field, such as `to.phone`; null when the problem concerns the whole command. The
   * message names it too.
   */
  readonly field: string | null
  /** Further problems with the same command, at most 50. */
  readonly errors: ReadonlyArray<ErrorProblem>
  /** Facts of the code, such as `used` and `limit` of `storage_full`; mostly empty. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>
  /** Milliseconds after which a repeat may succeed; null when unknown. */
  readonly retryAfterMillis: number | null

  /** @internal */
  constructor(
    input: Pick<MessagingError, "code" | "status" | "message"> &
      Partial<Pick<MessagingError, "field" | "errors" | "details" | "retryAfterMillis">>,
    options?: ErrorOptions,
  ) {
    super(input.message, options)
    this.code = input.code
    this.status = input.status
    this.field = input.field ?? null
    this.errors = input.errors ?? []
    this.details = input.details ?? {}
    this.retryAfterMillis = input.retryAfterMillis ?? null
  }
}
