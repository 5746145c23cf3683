/** The operations of version 1 that send (contract: Version 1: sends). */
import { Effect, Result, Schema } from "effect"
import { ErrorPageV1 } from "./FailureV1.ts"
import { unreadable } from "./FieldsV1.ts"
import {
  groupFields,
  groupOf,
  phoneFields,
  phonesFields,
  recipientOf,
  recipientsOf,
} from "./recipientV1.ts"
import { operationV1 } from "./RouteV1.ts"
import { sendFields, sendV1 } from "./SendV1.ts"
import { textsOfLists } from "./texts.ts"
import { scheduleFields, scheduledAt } from "./timesV1.ts"

const MessageId = Schema.Int.annotate({ description: "The message's id." })

const SentAnswer = Schema.Struct({
  status: Schema.Literal(1),
  message: Schema.String,
  msg_id: MessageId,
})

const SentManyAnswer = Schema.Struct({
  status: Schema.Literal(1),
  message: Schema.String,
  msg_ids: Schema.Array(MessageId).annotate({ description: "In the order of `phones`." }),
})

/** The answer to a single send. */
const sent = (message: string, [id]: ReadonlyArray<number>): typeof SentAnswer.Type => ({
  status: 1,
  message,
  // The core answers with one message for each recipient.
  msg_id: id ?? 0,
})

const atOnce = Result.succeed(null)

export const sendRoutes = Effect.gen(function* () {
  const send = yield* sendV1

  return [
    operationV1({
      method: "POST",
      path: "/api/v1/send_msg",
      summary: "Send to a phone or a group",
      credentials: "client",
      fields: { ...phoneFields, ...groupFields, ...sendFields },
      example: { country_code: "1", phone: "5550001234", msg: "Your table is ready." },
      answer: SentAnswer,
      handler: Effect.fnUntraced(function* ({ caller, fields, file }) {
        const to = yield* Effect.fromResult(recipientOf(fields))
        const ids = yield* send({ caller, fields, file, to, sendAt: atOnce })
        return sent("Message queued", ids)
      }),
    }),
    operationV1({
      method: "POST",
      path: "/api/v1/send_msg/group",
      summary: "Send to a group",
      credentials: "client",
      fields: { ...groupFields, ...sendFields },
      example: { group_name: "Team", msg: "We open at ten today." },
      answer: SentAnswer,
      handler: Effect.fnUntraced(function* ({ body, caller, fields, file }) {
        const mistyped = typeof body.one("group_name") === "number"
        if (mistyped || fields.msg_type === unreadable) return yield* new ErrorPageV1()
        const to = yield* Effect.fromResult(groupOf(fields))
        const ids = yield* send({ caller, fields, file, to, sendAt: atOnce })
        return sent("Message queued", ids)
      }),
    }),
    operationV1({
      method: "POST",
      path: "/api/v1/send_msg/multi",
      summary: "Send to many phones, to all or to none",
      credentials: "client",
      fields: { ...phonesFields, ...sendFields },
      example: {
        country_code: "1",
        phones: ["5550001234", "5550001235"],
        msg: "We open at ten today.",
      },
      texts: textsOfLists,
      answer: SentManyAnswer,
      handler: Effect.fnUntraced(function* ({ caller, fields, file }) {
        const to = yield* Effect.fromResult(recipientsOf(fields))
        const ids = yield* send({ caller, fields, file, to, sendAt: atOnce })
        return {
          status: 1,
          message: "Messages queued",
          msg_ids: ids,
        }
      }),
    }),
    operationV1({
      method: "POST",
      path: "/api/v1/schedule_msg",
      summary: "Send to a phone or a group at a given time",
      credentials: "client",
      fields: { ...phoneFields, ...groupFields, ...scheduleFields, ...sendFields },
      example: {
        country_code: "1",
        phone: "5550001234",
        msg: "Your table is ready in an hour.",
        date: "31/01/2030",
        time: "19:00",
        timezone: "Europe/Berlin",
      },
      answer: SentAnswer,
      handler: Effect.fnUntraced(function* ({ caller, fields, file }) {
        const to = yield* Effect.fromResult(recipientOf(fields))
        const ids = yield* send({ caller, fields, file, to, sendAt: scheduledAt(fields) })
        return sent("Message scheduled", ids)
      }),
    }),
  ]
})
