/**
 * Every send of version 1: from its fields to version 2's body and the terms that version 2 lacks,
 * and to the same operation of the core (contract: Version 1: sends). Free checks come before the
 * download of a link, and the core's checks of stored state after it: a download belongs to the
 * fields, and number, allowance and quota follow those.
 */
import {
  Attachments,
  CallbackUrls,
  described,
  Messages,
  OutboundRule,
  refuse,
  sendRequestParser,
} from "@messaging-service/core"
import type { Attachment, Caller, MediaType, Refusal } from "@messaging-service/core"
import { Clock, Effect, Result, Schema } from "effect"
import { ErrorPageV1, failV1, textsOfLists } from "./failures.ts"
import type { FailureV1 } from "./failures.ts"
import {
  contentFields,
  expiryFields,
  parseExpiry,
  groupFields,
  parseGroup,
  instantText,
  integer,
  isWholeNumber,
  kindOf,
  phoneFields,
  phonesFields,
  parseRecipient,
  parseRecipients,
  scheduledAt,
  scheduleFields,
  toSource,
  string,
  textOfContent,
  unreadable,
} from "./fields.ts"
import type { ReadFieldsV1, RecipientV1, SourceV1, UploadV1 } from "./fields.ts"
import { routeV1, succeeded, successV1 } from "./pipeline.ts"

/** The input of every send, besides its recipients and its time. */
export const sendFields = {
  whatsapp_client: integer("Id of the sending number; needed when there are several."),
  ...contentFields,
  webhook: string("URL that receives the outcome of each message."),
  ...expiryFields,
}

interface AskedSend {
  readonly caller: Caller
  readonly fields: ReadFieldsV1<typeof sendFields>
  readonly file: UploadV1 | null
}

/** One recipient for a single send, a list for one to many. */
type Recipients = RecipientV1 | ReadonlyArray<RecipientV1>

const isList = (to: Recipients): to is ReadonlyArray<RecipientV1> => Array.isArray(to)

/**
 * A named number that cannot reach these recipients is refused as not found; a send that names none
 * keeps the refusal.
 */
export const ofNumber = (from: number | null, refusal: Refusal): Refusal => {
  const { code, field } = refusal
  const unsuited =
    code === "username_needs_telegram" || (code === "validation_failed" && field === "to.group")
  return unsuited && from !== null ? refuse("number_not_found", { field: "from" }) : refusal
}

const atOnce = Result.succeed(null)

const sendV1 = Effect.gen(function* sendV1() {
  const messages = yield* Messages
  const attachments = yield* Attachments
  const callbackUrls = yield* CallbackUrls
  const rule = yield* OutboundRule
  const textParser = sendRequestParser(rule)
  const captionParser = sendRequestParser(rule, true)

  /** The core's own rules for recipients and text, before anything is fetched. */
  const checkText = (to: Recipients, text: string, kind: MediaType | null) => {
    const parser = kind === null ? textParser : captionParser
    return Effect.fromResult(isList(to) ? parser.batch({ to, text }) : parser.single({ to, text }))
  }

  /** The content of the image or file, downloaded or uploaded. */
  const fetched = (caller: Caller, type: MediaType, source: SourceV1) =>
    source._tag === "Link"
      ? attachments.fromLink(caller, { url: source.url, type, fileName: source.fileName })
      : attachments.fromUpload(caller, {
          fileName: source.fileName,
          content: source.upload.content,
        })

  /**
   * The ids of the accepted messages, in the order of the recipients. `sendAt`: epoch milliseconds,
   * null for at once; it is checked after the content.
   */
  return Effect.fnUntraced(function* (
    { caller, fields, file }: AskedSend,
    recipients: Effect.Effect<Recipients, FailureV1>,
    sendAt: Result.Result<number | null, FailureV1> = atOnce,
  ) {
    const to = yield* recipients
    const kind = yield* Effect.fromResult(kindOf(fields))
    const text = textOfContent(fields)
    yield* checkText(to, text, kind)
    const source = kind === null ? null : yield* Effect.fromResult(toSource(kind, fields, file))
    const due = yield* Effect.fromResult(sendAt)
    if (due !== null && due <= (yield* Clock.currentTimeMillis))
      return yield* refuse("time_in_past")
    const expiry = yield* Effect.fromResult(parseExpiry(fields))
    const from = fields.whatsapp_client
    if (from === unreadable) return yield* failV1("invalid_number")
    const callbackUrl = yield* callbackUrls.check(fields.webhook, caller.workspaceId)
    const found = source === null || kind === null ? null : yield* fetched(caller, kind, source)
    // `msg_type` decides how it is sent, whatever the content is.
    const attachment: Attachment | null =
      found === null || kind === null ? null : { ...found, type: kind }

    const now = yield* Clock.currentTimeMillis
    const command = {
      from,
      text,
      sendAt: due === null ? null : instantText(due),
      expiresAt: expiry === null ? null : instantText((due ?? now) + expiry * 1000),
    }
    const terms = { callbackUrl, attachment }
    const sent = yield* (
      isList(to)
        ? messages.sendBatch(caller, { ...command, to }, null, { ...terms, keepRefused: false })
        : messages.send(caller, { ...command, to }, null, { ...terms, keepRefused: true })
    ).pipe(Effect.catchTag("Refusal", (refusal) => Effect.fail(ofNumber(from, refusal))))
    return sent.messages.map(({ id }) => id)
  })
})

const MessageId = Schema.Int.annotate({ description: "The message's id." })

const SentAnswer = successV1({ message: Schema.String, msg_id: MessageId })

/** The answer to a single send. */
const sent =
  (message: string) =>
  ([id]: ReadonlyArray<number>): typeof SentAnswer.Type => ({
    status: succeeded,
    message,
    // The core answers with one message for each recipient.
    msg_id: id ?? 0,
  })

export const sendRoutes = Effect.gen(function* sendRoutes() {
  const send = yield* sendV1

  return [
    routeV1("POST /api/v1/send_msg", {
      summary: "Send to a phone or a group",
      fields: { ...phoneFields, ...groupFields, ...sendFields },
      example: { country_code: "1", phone: "5550001234", msg: "Your table is ready." },
      answer: SentAnswer,
      handler: (request) =>
        Effect.map(send(request, parseRecipient(request.fields)), sent("Message queued")),
    }),
    routeV1("POST /api/v1/send_msg/group", {
      summary: "Send to a group",
      fields: { ...groupFields, ...sendFields },
      example: { group_name: "Team", msg: "We open at ten today." },
      answer: SentAnswer,
      handler: (request) => {
        const { body, fields } = request
        const mistyped = typeof body.one("group_name") === "number"
        const isNoType = fields.msg_type === unreadable && !isWholeNumber(body.one("msg_type"))
        return mistyped || isNoType
          ? Effect.fail(new ErrorPageV1())
          : Effect.map(send(request, Effect.fromResult(parseGroup(fields))), sent("Message queued"))
      },
    }),
    routeV1("POST /api/v1/send_msg/multi", {
      summary: "Send to many phones, all or nothing",
      fields: { ...phonesFields, ...sendFields },
      example: {
        country_code: "1",
        phones: ["5550001234", "5550001235"],
        msg: "We open at ten today.",
      },
      texts: textsOfLists,
      answer: successV1({
        message: Schema.String,
        msg_ids: described(Schema.Array(MessageId), "In the order of `phones`."),
      }),
      handler: (request) =>
        Effect.map(send(request, parseRecipients(request.fields)), (ids) => ({
          status: succeeded,
          message: "Messages queued",
          msg_ids: ids,
        })),
    }),
    routeV1("POST /api/v1/schedule_msg", {
      summary: "Send to a phone or a group at a given time",
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
      handler: (request) =>
        Effect.map(
          send(request, parseRecipient(request.fields), scheduledAt(request.fields)),
          sent("Message scheduled"),
        ),
    }),
  ]
})
