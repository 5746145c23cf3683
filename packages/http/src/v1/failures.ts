/**
 * The texts of version 1's refusals (contract: Version 1: requests): each with its status, the code
 * of version 2 that it replaces, operations with other wordings, and the answers made from them.
 */
import type { Code, Refusal } from "@messaging-service/core"
import { Data } from "effect"
import { htmlReply } from "../IncomingRequest.ts"
import type { IncomingRequest, WholeReply } from "../IncomingRequest.ts"

interface Text {
  /** Default: 400. */
  readonly status?: number
  readonly message: string
}

const entries = {
  // Requests
  invalid_method: { message: "Invalid request method" },
  not_found: { status: 404, message: "Not found" },
  invalid_json: { message: "Invalid JSON format" },
  too_large: { status: 413, message: "Request too large" },
  too_many_requests: { status: 429, message: "Too many requests" },
  internal_error: { status: 500, message: "Internal error" },
  service_unavailable: { status: 503, message: "Service unavailable" },

  // Credentials
  missing_key: { message: "Auth Error - Please send correct API key and Client id" },
  missing_credentials: { message: "Auth Error" },
  missing_client_id: { message: "Invalid client id." },
  invalid_client_id: { message: "Invalid client id." },
  invalid_client_id_of_me: { message: "Invalid Client Id" },
  invalid_key: { message: "Auth Error: invalid api key" },
  demo_account: { message: "Demo Account can not access apis" },
  account_disabled: { message: "Account Disabled" },

  // Recipients
  no_recipient: { message: "Either phone or group_name parameter is required" },
  two_recipients: { message: "Please provide either phone OR group_name, not both" },
  invalid_phone: { message: "Invalid phone number" },
  invalid_phone_of_list: { message: "Invalid Contact Number" },
  no_phones: { message: "Phones cant be null" },
  too_many_phones: { message: "More than 1000 phones" },
  no_group: { message: "Group Name cant be null" },
  invalid_group: { message: "Invalid group name" },

  // Content
  invalid_msg_type: { message: "Invalid msg_type" },
  no_text: { message: "Msg cant be null" },
  text_too_long: { message: "Message length is too long" },
  no_image: { message: "Image Url Can't be null" },
  no_file: { message: "File Url Can't be null" },
  several_files: { message: "Only one file can be sent" },
  file_unavailable: { message: "Invalid file url, Can't download" },
  invalid_file_name: { message: "Invalid file name" },

  // Terms
  invalid_date: { message: "Invalid date" },
  invalid_time: { message: "Invalid time" },
  invalid_timezone: { message: "Invalid timezone" },
  time_in_past: { message: "Schedule time is in the past" },
  invalid_expiry: { message: "Invalid expire_after_seconds" },
  invalid_webhook: { message: "Invalid webhook url" },

  // Numbers
  no_number: { message: "Invalid whatsapp client id." },
  invalid_number: { message: "Invalid whatsapp client" },
  invalid_number_of_me: { message: "Invalid WhatsApp Client ID" },

  // Allowance and quota
  no_credits: { message: "Not enough credits" },
  daily_limit: { status: 429, message: "Daily limit reached" },

  // Messages
  invalid_message_id: { message: "Invalid message id" },
  not_cancellable: { message: "Message can not be cancelled" },
  invalid_page: { message: "Invalid page" },
  invalid_limit: { message: "Invalid limit" },
  invalid_offset: { message: "Invalid offset" },

  // Media
  no_upload: { message: "File cant be null" },
  invalid_media_id: { message: "Invalid media id" },
  invalid_file_type: { message: "Invalid file_type" },
  storage_full: { message: "Media storage is full" },

  // Reminders
  no_reminder_name: { message: "Reminder name cant be null" },
  reminder_name_too_long: { message: "Reminder name is too long" },
  invalid_cron: { message: "Invalid cron expression" },
  invalid_reminder_id: { message: "Invalid reminder id" },

  // Number verification
  no_numbers: { message: "Numbers cant be null" },
  too_many_numbers: { message: "More than 1000 numbers" },
  campaign_name_too_long: { message: "Campaign name is too long" },
  invalid_campaign_id: { message: "Invalid campaign id" },
  invalid_status: { message: "Invalid status" },

  // Connecting
  plan_required: { message: "Your plan does not include this" },
  number_not_connected: { message: "Whatsapp client is not connected" },
  number_limit: { message: "Whatsapp client limit reached" },
  already_connected: { message: "Whatsapp client is already connected" },
  already_connecting: { message: "Whatsapp client is already connecting" },
} satisfies Record<string, Text>

export type TextName = keyof typeof entries

export const texts: Readonly<Record<TextName, Text>> = entries

/** Texts by the core's codes. A code without one answers 400 with the refusal's message. */
export const textOfCode: Readonly<Partial<Record<Code, TextName>>> = {
  method_not_allowed: "invalid_method",
  not_found: "not_found",
  invalid_json: "invalid_json",
  unsupported_content_type: "invalid_json",
  request_too_large: "too_large",
  rate_limited: "too_many_requests",
  too_many_auth_failures: "too_many_requests",
  internal_error: "internal_error",
  service_unavailable: "service_unavailable",

  missing_api_key: "missing_key",
  invalid_api_key: "invalid_key",
  api_key_revoked: "invalid_key",
  api_key_expired: "invalid_key",
  demo_account: "demo_account",
  account_disabled: "account_disabled",

  invalid_phone: "invalid_phone",
  invalid_username: "invalid_phone",
  too_many_recipients: "too_many_phones",
  text_required: "no_text",
  text_too_long: "text_too_long",
  invalid_media_url: "file_unavailable",
  invalid_callback_url: "invalid_webhook",
  invalid_datetime: "invalid_date",
  invalid_timezone: "invalid_timezone",
  time_in_past: "time_in_past",
  from_required: "no_number",
  username_needs_telegram: "no_number",
  number_not_found: "invalid_number",
  no_credits: "no_credits",
  number_daily_cap_reached: "daily_limit",
  message_not_found: "invalid_message_id",
  not_cancellable: "not_cancellable",

  media_not_found: "invalid_media_id",
  storage_full: "storage_full",
  invalid_cron: "invalid_cron",
  reminder_not_found: "invalid_reminder_id",
  number_check_not_found: "invalid_campaign_id",
  plan_required: "plan_required",
  number_not_connected: "number_not_connected",
  number_limit_reached: "number_limit",
  already_connected: "already_connected",
  connect_in_progress: "already_connecting",
}

/** Wordings of single operations. */
export type OtherTexts = Readonly<Partial<Record<TextName, TextName>>>

export const textsOfMe: OtherTexts = {
  missing_key: "missing_credentials",
  missing_client_id: "missing_credentials",
  invalid_client_id: "invalid_client_id_of_me",
  invalid_number: "invalid_number_of_me",
}

/** Of operations on a list of phones. */
export const textsOfLists: OtherTexts = { invalid_phone: "invalid_phone_of_list" }

/** A failure that only version 1 knows; the core's come as its `Refusal`. */
export class FailureV1 extends Data.TaggedError("FailureV1")<{ readonly name: TextName }> {
  override get message() {
    return texts[this.name].message
  }
}

export const failV1 = (name: TextName): FailureV1 => new FailureV1({ name })

/**
 * A group send answers a JSON-number `group_name`, or a `msg_type` that is not a whole number, with
 * an HTML page and status 500 (contract: Version 1: sends).
 */
export class ErrorPageV1 extends Data.TaggedError("ErrorPageV1")<Record<never, never>> {
  override get message() {
    return "answered with an HTML error page"
  }
}

const pageBytes = new TextEncoder().encode(
  '<!doctype html>\n<html lang="en"><head><title>Server Error (500)</title></head><body><h1>Server Error (500)</h1></body></html>\n',
)

export const errorPageReply = (incoming: IncomingRequest): WholeReply =>
  htmlReply(incoming, pageBytes, "default-src 'none'", 500)

const reply = (
  name: TextName,
  others: OtherTexts,
  more: Readonly<Record<string, unknown>>,
): WholeReply => {
  const { message, status = 400 } = texts[others[name] ?? name]
  return { status, body: { status: 0, ...more, message } }
}

export const failureReply = ({ name }: FailureV1, others: OtherTexts = {}): WholeReply =>
  reply(name, others, {})

/** A refused single send that is stored shows its id (contract: Version 1: sends). */
const dailyLimitFields = ({ details }: Refusal): Readonly<Record<string, unknown>> => ({
  ...(details.messageId === undefined ? {} : { msg_id: details.messageId }),
  code: "daily_limit_reached",
})

/** Sets `Retry-After` where it applies and returns the answer. */
export const refusalReplyV1 = (
  { answerHeaders: headers }: IncomingRequest,
  refusal: Refusal,
  others: OtherTexts = {},
): WholeReply => {
  const { code, message, retryAfter } = refusal
  if (retryAfter !== null) headers["retry-after"] = String(retryAfter)
  const name = textOfCode[code]
  if (name === undefined) return { status: 400, body: { status: 0, message } }
  return reply(name, others, name === "daily_limit" ? dailyLimitFields(refusal) : {})
}
