/** Version 2 in words, operation by operation (contract: Endpoints). */
import {
  BatchBody,
  CheckResultJson,
  ConnectBody,
  DeletedJson,
  EndpointBody,
  EndpointJson,
  EndpointWithSecret,
  KeyInfo,
  ListQuery,
  MediaFileJson,
  MediaQuery,
  MessageJson,
  NumberCheckBody,
  NumberCheckJson,
  NumberJson,
  PageInput,
  QueuedEvent,
  ReminderBody,
  ReminderChangeBody,
  ReminderJson,
  ReminderQuery,
  ResultsQuery,
  SendBody,
  listJson,
  maximumFileBytes,
  pageJson,
} from "@messaging-service/core"
import { Schema } from "effect"
import type { Effect } from "effect"
import type { routesV2 } from "../v2/routesV2.ts"
import type { Descriptions } from "./Description.ts"
import { examples, listOf, pageOf } from "./examples.ts"
import type { Refused } from "./errors.ts"
import { jsonContent } from "./Operation.ts"
import type { Content } from "./Operation.ts"

const aRecipient = { phone: "+15550001234" }

/** What is wrong with a recipient or with what it is sent. */
const refusedContent: ReadonlyArray<Refused> = [
  "text_required",
  "text_too_long",
  "invalid_phone",
  "invalid_username",
  "username_needs_telegram",
  "contact_not_found",
  "media_not_found",
  "invalid_media_url",
  "number_not_allowed",
]

const refusedSend: ReadonlyArray<Refused> = [
  ...refusedContent,
  "number_not_found",
  "invalid_datetime",
  "time_in_past",
  "from_required",
  "no_credits",
  "message_rejected",
  "number_daily_cap_reached",
]

const refusedReminder: ReadonlyArray<Refused> = [
  ...refusedContent,
  "invalid_cron",
  "invalid_timezone",
  "plan_required",
  "number_not_connected",
]

const aFile: Content = {
  "multipart/form-data": {
    schema: {
      json: {
        type: "object",
        properties: {
          file: {
            type: "string",
            format: "binary",
            description: `At most ${maximumFileBytes} bytes.`,
          },
        },
        required: ["file"],
        additionalProperties: false,
      },
    },
  },
}

const deleted = (id: number) => jsonContent(DeletedJson, { id, deleted: true })

const missingNumber: Refused = { code: "number_not_found", inPath: true }

export const descriptionsV2: Descriptions<Effect.Success<typeof routesV2>[number]> = {
  "GET /api/v2/me": {
    id: "getKeyInfo",
    tag: "Account",
    summary: "Check the key",
    about: "What the key is and may do. Sends nothing.",
    success: "What the key is and may do.",
    answer: jsonContent(KeyInfo, examples.keyInfo),
  },
  "POST /api/v2/messages": {
    id: "sendMessage",
    tag: "Messages",
    summary: "Send a message",
    about:
      "Queues one message. It is sent later: read its status, or let a webhook tell. A refused send stores nothing.",
    body: jsonContent(SendBody, { to: aRecipient, text: "Your table is ready." }),
    success: "The message was accepted: `queued`, or `scheduled` for a later `send_at`.",
    answer: jsonContent(MessageJson, examples.message),
    refused: refusedSend,
  },
  "POST /api/v2/messages/batch": {
    id: "sendBatch",
    tag: "Messages",
    summary: "Send to many recipients",
    about:
      "All or nothing: one bad recipient queues nothing, and `field` of the error names it. A recipient that appears twice receives two messages.",
    body: jsonContent(BatchBody, {
      to: [aRecipient, { group: "Team" }],
      text: "We open at ten today.",
    }),
    success: "One message for each recipient, in their order.",
    answer: jsonContent(listJson(MessageJson), listOf(examples.message)),
    refused: [...refusedSend, "too_many_recipients"],
  },
  "GET /api/v2/messages": {
    id: "listMessages",
    tag: "Messages",
    summary: "List messages",
    about: "Newest first. A key limited to some numbers sees only their messages.",
    query: ListQuery,
    success: "A page of messages.",
    answer: jsonContent(pageJson(MessageJson), pageOf(examples.sent)),
    refused: ["invalid_datetime", "invalid_phone"],
  },
  "GET /api/v2/messages/{id}": {
    id: "getMessage",
    tag: "Messages",
    summary: "Read a message",
    success: "The message as it is now.",
    answer: jsonContent(MessageJson, examples.sent),
    refused: ["message_not_found"],
  },
  "DELETE /api/v2/messages/{id}": {
    id: "cancelMessage",
    tag: "Messages",
    summary: "Cancel a waiting message",
    about:
      "A message that is being sent at this moment is waited for, at most 5 seconds, and answered by what became of it.",
    success: "The cancelled message.",
    answer: jsonContent(MessageJson, examples.cancelled),
    refused: ["message_not_found", "not_cancellable"],
  },
  "POST /api/v2/reminders": {
    id: "createReminder",
    tag: "Reminders",
    summary: "Create a reminder",
    about: "Each run sends one ordinary message. Needs a plan that includes reminders.",
    body: jsonContent(ReminderBody, {
      name: "Stand-up",
      to: { group: "Team" },
      text: "Stand-up in ten minutes",
      schedule: { cron: "50 9 * * 1-5", timezone: "Europe/Berlin" },
    }),
    success: "The reminder.",
    answer: jsonContent(ReminderJson, { ...examples.reminder, last_run: null }),
    refused: refusedReminder,
  },
  "GET /api/v2/reminders": {
    id: "listReminders",
    tag: "Reminders",
    summary: "List reminders",
    about: "Newest first, paused ones included.",
    query: ReminderQuery,
    success: "A page of reminders.",
    answer: jsonContent(pageJson(ReminderJson), pageOf(examples.reminder)),
  },
  "GET /api/v2/reminders/{id}": {
    id: "getReminder",
    tag: "Reminders",
    summary: "Read a reminder",
    success: "The reminder.",
    answer: jsonContent(ReminderJson, examples.reminder),
    refused: ["reminder_not_found"],
  },
  "PATCH /api/v2/reminders/{id}": {
    id: "updateReminder",
    tag: "Reminders",
    summary: "Change, pause or resume a reminder",
    about:
      "`schedule` is replaced as a whole, but without `timezone` the current zone is kept. Pausing works in any plan.",
    body: jsonContent(ReminderChangeBody, { active: false }),
    success: "The reminder as it is now.",
    answer: jsonContent(ReminderJson, { ...examples.reminder, active: false, next_run_at: null }),
    refused: [...refusedReminder, "reminder_not_found"],
  },
  "DELETE /api/v2/reminders/{id}": {
    id: "deleteReminder",
    tag: "Reminders",
    summary: "Delete a reminder",
    success: "It runs no more.",
    answer: deleted(5),
    refused: ["reminder_not_found"],
  },
  "GET /api/v2/numbers": {
    id: "listNumbers",
    tag: "Numbers",
    summary: "List numbers",
    about: "Every number that the key may use, oldest first, with `connect` null.",
    success: "The numbers.",
    answer: jsonContent(listJson(NumberJson), listOf(examples.number)),
  },
  "GET /api/v2/numbers/{id}": {
    id: "getNumber",
    tag: "Numbers",
    summary: "Read a number",
    about:
      "While it is `connecting`, read it every 2 to 5 seconds: `connect` shows the newest QR link or pairing code.",
    success: "The number.",
    answer: jsonContent(NumberJson, examples.connecting),
    refused: [missingNumber],
  },
  "POST /api/v2/numbers": {
    id: "connectNumber",
    tag: "Numbers",
    summary: "Connect a WhatsApp number",
    about:
      "Starts linking a phone by QR code or pairing code. It ends after 10 minutes. Needs a plan with the QR code API.",
    body: jsonContent(ConnectBody, { login_method: "qr" }),
    success: "The number, `connecting`.",
    answer: jsonContent(NumberJson, { ...examples.connecting, connect: null }),
    refused: [
      "plan_required",
      "number_limit_reached",
      "number_not_allowed",
      "already_connected",
      "connect_in_progress",
      "invalid_phone",
      "number_not_found",
    ],
  },
  "POST /api/v2/webhooks": {
    id: "createWebhook",
    tag: "Webhooks",
    summary: "Create a webhook endpoint",
    about: "At most 5 run in a workspace. The secret is shown only now.",
    body: jsonContent(EndpointBody, { url: "https://shop.example.com/events" }),
    success: "The endpoint with its secret; a repeat with the same `Idempotency-Key` omits it.",
    answer: jsonContent(Schema.Union([EndpointWithSecret, EndpointJson]), examples.newWebhook),
    refused: ["webhook_limit_reached", "invalid_webhook_url"],
  },
  "GET /api/v2/webhooks": {
    id: "listWebhooks",
    tag: "Webhooks",
    summary: "List webhook endpoints",
    about: "Those that run, oldest first.",
    success: "The endpoints.",
    answer: jsonContent(listJson(EndpointJson), listOf(examples.webhook)),
  },
  "GET /api/v2/webhooks/{id}": {
    id: "getWebhook",
    tag: "Webhooks",
    summary: "Read a webhook endpoint",
    success: "The endpoint; a stopped one too.",
    answer: jsonContent(EndpointJson, examples.webhook),
    refused: ["webhook_not_found"],
  },
  "DELETE /api/v2/webhooks/{id}": {
    id: "deleteWebhook",
    tag: "Webhooks",
    summary: "Delete a webhook endpoint",
    success: "Nothing more is sent to it, repeats included.",
    answer: deleted(3),
    refused: ["webhook_not_found"],
  },
  "POST /api/v2/webhooks/{id}/rotate-secret": {
    id: "rotateWebhookSecret",
    tag: "Webhooks",
    summary: "Replace the signing secret",
    about: "The old secret stops working at once, for repeats of earlier events too.",
    success: "The endpoint with its new secret.",
    answer: jsonContent(EndpointWithSecret, examples.newWebhook),
    refused: ["webhook_not_found"],
  },
  "POST /api/v2/webhooks/{id}/test": {
    id: "testWebhook",
    tag: "Webhooks",
    summary: "Send a ping",
    success: "A `ping` is on its way.",
    answer: jsonContent(QueuedEvent, {
      event_id: "evt_0123456789abcdefghijABCD",
      type: "ping",
      queued: true,
    }),
    refused: ["webhook_not_found", "webhook_stopped"],
  },
  "POST /api/v2/media": {
    id: "uploadMedia",
    tag: "Media",
    summary: "Upload a file",
    about:
      "One part alone, the file in the field `file`. Its id is then the `media_id` of messages.",
    body: aFile,
    success: "The file.",
    answer: jsonContent(MediaFileJson, examples.mediaFile),
    refused: ["storage_full"],
  },
  "GET /api/v2/media": {
    id: "listMedia",
    tag: "Media",
    summary: "List files",
    about: "Newest first.",
    query: MediaQuery,
    success: "A page of files.",
    answer: jsonContent(pageJson(MediaFileJson), pageOf(examples.mediaFile)),
  },
  "GET /api/v2/media/{id}": {
    id: "getMedia",
    tag: "Media",
    summary: "Read a file's record",
    success: "The record, with a fresh link.",
    answer: jsonContent(MediaFileJson, examples.mediaFile),
    refused: [{ code: "media_not_found", inPath: true }],
  },
  "DELETE /api/v2/media/{id}": {
    id: "deleteMedia",
    tag: "Media",
    summary: "Delete a file",
    about: "A waiting message with this file then fails with `media_unavailable`.",
    success: "It is gone.",
    answer: deleted(8),
    refused: [{ code: "media_not_found", inPath: true }],
  },
  "POST /api/v2/number-checks": {
    id: "createNumberCheck",
    tag: "Number checks",
    summary: "Check which phones are registered",
    body: jsonContent(NumberCheckBody, {
      phones: ["+15550001234", "+15550001235"],
      name: "January's guests",
    }),
    success: "The check, whose results come in later.",
    answer: jsonContent(NumberCheckJson, {
      ...examples.numberCheck,
      status: "pending",
      checked: 0,
      registered: 0,
    }),
    refused: [
      "invalid_phone",
      "number_not_found",
      "number_not_allowed",
      "number_not_connected",
      "from_required",
    ],
  },
  "GET /api/v2/number-checks": {
    id: "listNumberChecks",
    tag: "Number checks",
    summary: "List number checks",
    about: "Newest first.",
    query: PageInput,
    success: "A page of checks.",
    answer: jsonContent(pageJson(NumberCheckJson), pageOf(examples.numberCheck)),
  },
  "GET /api/v2/number-checks/{id}": {
    id: "getNumberCheck",
    tag: "Number checks",
    summary: "Read a number check",
    success: "The check.",
    answer: jsonContent(NumberCheckJson, examples.numberCheck),
    refused: ["number_check_not_found"],
  },
  "GET /api/v2/number-checks/{id}/results": {
    id: "listNumberCheckResults",
    tag: "Number checks",
    summary: "List the results of a check",
    about: "By descending id.",
    query: ResultsQuery,
    success: "A page of results.",
    answer: jsonContent(pageJson(CheckResultJson), pageOf(examples.checkResult)),
    refused: ["number_check_not_found"],
  },
}
