/** The operations of version 1 on messages that were sent (contract: Version 1: messages). */
import {
  Messages,
  Version1Lists,
  described,
  failureText,
  formatInstant,
  instantOrNull,
  offsetOfPage,
  parseId,
  statusAt,
} from "@messaging-service/core"
import type { Caller, Message, MessageId, MessageStatus, Recipient } from "@messaging-service/core"
import { Clock, Effect, Schema } from "effect"
import { msgTypeOf } from "./contentV1.ts"
import { failV1 } from "./FailureV1.ts"
import { idOf, integer, pageField, pageOf, string } from "./FieldsV1.ts"
import { DateTime, DoneAnswer, done, routeV1, succeeded, successV1 } from "./RouteV1.ts"
import { startOfDay } from "./timesV1.ts"

const StatusV1 = Schema.Literals([0, 1, 2, 3, 4])

type StatusV1 = typeof StatusV1.Type

/** In the order of the numbers. */
const statusTexts = ["Pending", "Sent", "Failed", "Cancelled", "Expired"] as const

const StatusTextV1 = Schema.Literals(statusTexts)

/** Version 1 tells apart less than version 2. */
const numberOf: Readonly<Record<MessageStatus, StatusV1>> = {
  queued: 0,
  scheduled: 0,
  sent: 1,
  delivered: 1,
  read: 1,
  failed: 2,
  cancelled: 3,
  expired: 4,
}

export const shownStatus = (
  status: MessageStatus,
): { readonly status: StatusV1; readonly status_text: (typeof statusTexts)[number] } => {
  const number = numberOf[status]
  return { status: number, status_text: statusTexts[number] }
}

/** Whom it went to, as one text. */
const shownRecipient = (to: Recipient): string => {
  if ("phone" in to) return to.phone
  return "group" in to ? to.group : to.username
}

const TimeOrNull = Schema.NullOr(DateTime)

const StatusAnswer = Schema.Struct({
  status: StatusV1,
  status_text: StatusTextV1,
  message: described(Schema.String, "The text sent."),
  msg_id: Schema.Int,
  sent_at: TimeOrNull,
  error: described(Schema.NullOr(Schema.String), "Why it failed."),
})

const HistoryItem = Schema.Struct({
  msg_id: Schema.Int,
  status: StatusV1,
  status_text: StatusTextV1,
  to: described(Schema.String, "A phone with its +, a group or a username."),
  whatsapp_client: Schema.Int,
  msg_type: Schema.Literals([0, 1, 2]),
  created_at: DateTime,
  sent_at: TimeOrNull,
})

const reportPageSize = 200

const msgId = integer("The message's id.", { required: true })

const statusOf = (message: Message, now: number): typeof StatusAnswer.Type => ({
  ...shownStatus(statusAt(message, now)),
  message: message.text,
  msg_id: message.id,
  sent_at: instantOrNull(message.sentAt),
  error: failureText(message.error),
})

const historyItem = (message: Message, now: number): typeof HistoryItem.Type => ({
  msg_id: message.id,
  ...shownStatus(statusAt(message, now)),
  to: shownRecipient(message.to),
  whatsapp_client: message.from.id,
  msg_type: msgTypeOf(message),
  created_at: formatInstant(message.createdAt),
  sent_at: instantOrNull(message.sentAt),
})

export const messageRoutes = Effect.gen(function* () {
  const messages = yield* Messages
  const lists = yield* Version1Lists

  const status = (caller: Caller, id: MessageId | undefined) =>
    Effect.gen(function* () {
      const message = yield* messages.get(caller, id)
      return statusOf(message, yield* Clock.currentTimeMillis)
    })

  return [
    routeV1("POST /api/v1/cancel_msg", {
      summary: "Cancel a message that is still waiting",
      fields: { msg_id: msgId },
      example: { msg_id: 4711 },
      answer: DoneAnswer,
      handler: ({ caller, fields }) =>
        Effect.as(
          messages.cancel(caller, idOf<MessageId>(fields.msg_id)),
          done("Message cancelled"),
        ),
    }),
    routeV1("POST /api/v1/message/status", {
      summary: "What became of a message",
      fields: { msg_id: msgId },
      example: { msg_id: 4711 },
      answer: StatusAnswer,
      handler: ({ caller, fields }) => status(caller, idOf<MessageId>(fields.msg_id)),
    }),
    routeV1("GET /api/v1/message/status/{msg_id}", {
      summary: "What became of a message",
      fields: {},
      answer: StatusAnswer,
      handler: ({ caller, parameter }) => status(caller, parseId<MessageId>(parameter("msg_id"))),
    }),
    routeV1("POST /api/v1/report", {
      summary: "Messages made on given days",
      fields: {
        start_date: string("First day, `dd-mm-yyyy` in UTC.", { required: true }),
        end_date: string("Last day, `dd-mm-yyyy` in UTC.", { required: true }),
        page: pageField,
      },
      example: { start_date: "01-01-2030", end_date: "31-01-2030" },
      answer: successV1({
        total: described(Schema.Int, "Of all pages."),
        page: Schema.Int,
        history: described(Schema.Array(HistoryItem), "Newest first."),
      }),
      handler: Effect.fnUntraced(function* ({ caller, fields }) {
        const first = startOfDay(fields.start_date ?? "")
        const last = startOfDay(fields.end_date ?? "")
        if (first === undefined || last === undefined) return yield* failV1("invalid_date")
        const page = yield* Effect.fromResult(pageOf(fields.page))
        const { items, total } = yield* lists.messages(
          caller,
          { first, last },
          offsetOfPage(page, reportPageSize),
        )
        const now = yield* Clock.currentTimeMillis
        const history = items.map((message) => historyItem(message, now))
        return { status: succeeded, total, page, history }
      }),
    }),
  ]
})
