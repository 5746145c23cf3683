/**
 * The operations of version 1 except sends and reminders (contract: Version 1): the account,
 * messages, media, numbers, and number checks, which version 1 calls verification campaigns.
 */
import {
  checkResultStatuses,
  Connections,
  described,
  failureText,
  formatInstant,
  instantOrNull,
  isBlank,
  maximumPhones,
  MediaDirectory,
  MediaLinks,
  mediaTypes,
  Messages,
  NumberChecks,
  numberCheckStatuses,
  numberStatuses,
  offsetOfPage,
  parseId,
  refuse,
  statusAt,
  Version1Lists,
} from "@messaging-service/core"
import type {
  Caller,
  ConnectNumber,
  MediaFile,
  MediaId,
  Message,
  MessageId,
  MessageStatus,
  NumberCheckId,
  NumberId,
  Recipient,
  Refusal,
  SendingNumber,
} from "@messaging-service/core"
import { Clock, Effect, Result, Schema } from "effect"
import { failV1, textsOfLists, textsOfMe } from "./failures.ts"
import type { FailureV1 } from "./failures.ts"
import {
  file,
  findId,
  integer,
  limitField,
  parseLimit,
  toMsgType,
  offsetField,
  parseOffset,
  oneOf,
  pageField,
  parsePage,
  toPhone,
  startOfDay,
  string,
  strings,
  unreadable,
} from "./fields.ts"
import { DateTime, done, DoneAnswer, routeV1, succeeded, successV1 } from "./pipeline.ts"
import type { RouteV1 } from "./pipeline.ts"

// Account

/** Checks credentials without sending or using up anything. */
export const meRoute: RouteV1 = routeV1("POST /api/v1/me", {
  summary: "Check credentials",
  fields: { whatsapp_client: integer("A number to check: it must belong to the workspace.") },
  texts: textsOfMe,
  answer: successV1({
    message: Schema.String,
    name: described(Schema.String, "Of the workspace."),
  }),
  handler: Effect.fnUntraced(function* v1Me({ caller, fields: { whatsapp_client } }) {
    if (whatsapp_client !== null) {
      const connections = yield* Connections
      yield* connections.get(caller, findId<NumberId>(whatsapp_client))
    }
    return {
      status: succeeded,
      message: "The credentials are valid",
      name: caller.workspace.name,
    }
  }),
})

// Messages (contract: Version 1: messages)

const StatusV1 = Schema.Literals([0, 1, 2, 3, 4])

type StatusV1 = typeof StatusV1.Type

/** In the order of the numbers. */
const statusTexts = ["Pending", "Sent", "Failed", "Cancelled", "Expired"] as const

const StatusTextV1 = Schema.Literals(statusTexts)

/** Version 1 has fewer states than version 2. */
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

/** The recipient, as one text. */
const shownRecipient = (to: Recipient): string => {
  if (to.kind === "chat") return to.phone ?? to.group ?? to.username ?? ""
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

const getStatus = (message: Message, now: number): typeof StatusAnswer.Type => ({
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
  msg_type: toMsgType(message),
  created_at: formatInstant(message.createdAt),
  sent_at: instantOrNull(message.sentAt),
})

const readStatus = Effect.fnUntraced(function* readStatus(
  caller: Caller,
  id: MessageId | undefined,
) {
  const messages = yield* Messages
  const message = yield* messages.get(caller, id)
  return getStatus(message, yield* Clock.currentTimeMillis)
})

export const messageRoutes: ReadonlyArray<RouteV1> = [
  routeV1("POST /api/v1/cancel_msg", {
    summary: "Cancel a waiting message",
    fields: { msg_id: msgId },
    example: { msg_id: 4711 },
    answer: DoneAnswer,
    handler: Effect.fnUntraced(function* v1CancelMsg({ caller, fields }) {
      const messages = yield* Messages
      yield* messages.cancel(caller, findId<MessageId>(fields.msg_id))
      return done("Message cancelled")
    }),
  }),
  routeV1("POST /api/v1/message/status", {
    summary: "Read the status of a message",
    fields: { msg_id: msgId },
    example: { msg_id: 4711 },
    answer: StatusAnswer,
    handler: Effect.fnUntraced(function* v1MessageStatus({ caller, fields }) {
      return yield* readStatus(caller, findId<MessageId>(fields.msg_id))
    }),
  }),
  routeV1("GET /api/v1/message/status/{msg_id}", {
    summary: "Read the status of a message",
    fields: {},
    answer: StatusAnswer,
    handler: Effect.fnUntraced(function* v1GetMessageStatus({ caller, parameter }) {
      return yield* readStatus(caller, parseId<MessageId>(parameter("msg_id")))
    }),
  }),
  routeV1("POST /api/v1/report", {
    summary: "List messages by day",
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
    handler: Effect.fnUntraced(function* v1Report({ caller, fields }) {
      const lists = yield* Version1Lists
      const first = startOfDay(fields.start_date ?? "")
      const last = startOfDay(fields.end_date ?? "")
      if (first === undefined || last === undefined) return yield* failV1("invalid_date")
      const page = yield* Effect.fromResult(parsePage(fields.page))
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

// Media (contract: Version 1: media)

const FileV1 = Schema.Struct({
  id: described(Schema.Int, "The `media_id` of version 2."),
  file_name: Schema.String,
  file_url: described(
    Schema.String,
    "Valid for 26 hours; two answers within a second may have the same link.",
  ),
  file_type: Schema.Literals(mediaTypes),
  file_size: described(Schema.Int, "Bytes."),
  mime_type: described(Schema.String, "Detected from the content."),
  created_at: DateTime,
}).annotate({ identifier: "MediaFileV1" })

const mediaPageLimits = { otherwise: 20, most: 100 }

/** The files as shown now, with fresh links. */
const jsonNow = Effect.gen(function* jsonNow() {
  const { link } = yield* MediaLinks
  const now = yield* Clock.currentTimeMillis
  return function fileJson(record: MediaFile): typeof FileV1.Type {
    return {
      id: record.id,
      file_name: record.fileName,
      file_url: link(record.id, record.fileName, now),
      file_type: record.type,
      file_size: record.size,
      mime_type: record.mimeType,
      created_at: formatInstant(record.createdAt),
    }
  }
})

export const mediaRoutes: ReadonlyArray<RouteV1> = [
  routeV1("POST /api/v1/media/upload", {
    summary: "Upload a file",
    fields: {
      file: file("The file, in a multipart form; at most 64 MiB."),
      media_file: file("Another name of `file`."),
    },
    answer: successV1({ message: Schema.String, data: FileV1 }),
    handler: Effect.fnUntraced(function* v1MediaUpload({ caller, file: uploaded }) {
      const directory = yield* MediaDirectory
      if (uploaded === null) return yield* failV1("no_upload")
      const { content, fileName } = uploaded
      if (fileName === null) return yield* failV1("invalid_file_name")
      const { answer } = yield* directory.upload(caller, { content, fileName }, null)
      return { status: succeeded, message: "Media uploaded", data: (yield* jsonNow)(answer) }
    }),
  }),
  routeV1("POST /api/v1/media/list", {
    summary: "List files",
    fields: {
      page: pageField,
      limit: limitField(mediaPageLimits),
      file_type: string("`image` or `file`. Default: both."),
    },
    example: { limit: 50, file_type: "image" },
    answer: successV1({
      data: Schema.Struct({
        total_count: described(Schema.Int, "Of all pages."),
        page: Schema.Int,
        limit: Schema.Int,
        media_files: described(Schema.Array(FileV1), "Newest first."),
      }),
    }),
    handler: Effect.fnUntraced(function* v1MediaList({ caller, fields }) {
      const lists = yield* Version1Lists
      const page = yield* Effect.fromResult(parsePage(fields.page))
      const limit = yield* Effect.fromResult(parseLimit(fields.limit, mediaPageLimits))
      const type = yield* Effect.fromResult(
        oneOf(fields.file_type, mediaTypes, "invalid_file_type"),
      )
      const { items, total } = yield* lists.media(caller, type, offsetOfPage(page, limit))
      return {
        status: succeeded,
        data: { total_count: total, page, limit, media_files: items.map(yield* jsonNow) },
      }
    }),
  }),
  routeV1("POST /api/v1/media/delete", {
    summary: "Delete a file",
    fields: { media_id: integer("The file's id.", { required: true }) },
    example: { media_id: 8 },
    answer: DoneAnswer,
    handler: Effect.fnUntraced(function* v1MediaDelete({ caller, fields }) {
      const directory = yield* MediaDirectory
      yield* directory.delete(caller, findId<MediaId>(fields.media_id))
      return done("Media deleted")
    }),
  }),
]

// Verification campaigns (contract: Version 1: verification)

/** A whole check fits on a page. */
const resultPageLimits = { otherwise: 100, most: maximumPhones }

const campaignId = integer("The campaign's id.", { required: true })

const parsePhones = (
  numbers: ReadonlyArray<string | null>,
): Result.Result<ReadonlyArray<string>, FailureV1> => {
  if (numbers.length === 0) return Result.fail(failV1("no_numbers"))
  if (numbers.length > maximumPhones) return Result.fail(failV1("too_many_numbers"))
  return Result.all(numbers.map((number) => toPhone(number ?? "")))
}

const ofName = (refusal: Refusal): Refusal | FailureV1 =>
  refusal.field === "name" ? failV1("campaign_name_too_long") : refusal

export const verificationRoutes: ReadonlyArray<RouteV1> = [
  routeV1("POST /api/v1/verification/create", {
    summary: "Start a verification of phones",
    bearerOnly: true,
    fields: {
      numbers: strings(maximumPhones, "1 to 1,000 phones with their country codes."),
      campaign_name: string("A note, up to 100 characters."),
    },
    example: { numbers: ["+15550001234", "+15550001235"], campaign_name: "January's guests" },
    texts: textsOfLists,
    answer: successV1({
      message: Schema.String,
      campaign_id: described(Schema.Int, "Id of the number check."),
      numbers_count: Schema.Int,
    }),
    handler: Effect.fnUntraced(function* v1VerificationCreate({ caller, fields }) {
      const checks = yield* NumberChecks
      const phones = yield* Effect.fromResult(parsePhones(fields.numbers))
      const { campaign_name: campaign } = fields
      // Version 1 is lenient: a blank note counts as none.
      const name = campaign === null || isBlank(campaign) ? null : campaign
      const command = { phones, name }
      const { answer } = yield* checks
        .create(caller, command, null)
        .pipe(Effect.catchTag("Refusal", (refusal) => Effect.fail(ofName(refusal))))
      return {
        status: succeeded,
        message: "Verification started",
        campaign_id: answer.id,
        numbers_count: answer.total,
      }
    }),
  }),
  routeV1("GET /api/v1/verification/status", {
    summary: "Read the progress of a verification",
    bearerOnly: true,
    fields: { campaign_id: campaignId },
    answer: successV1({
      overall_status: Schema.Literals(numberCheckStatuses),
      total: Schema.Int,
      checked: Schema.Int,
      registered: Schema.Int,
      not_registered: Schema.Int,
    }),
    handler: Effect.fnUntraced(function* v1GetVerificationStatus({ caller, fields }) {
      const checks = yield* NumberChecks
      const check = yield* checks.get(caller, findId<NumberCheckId>(fields.campaign_id))
      return {
        status: succeeded,
        overall_status: check.status,
        total: check.total,
        checked: check.checked,
        registered: check.registered,
        not_registered: check.notRegistered,
      }
    }),
  }),
  routeV1("GET /api/v1/verification/results", {
    summary: "List the results of a verification",
    bearerOnly: true,
    fields: {
      campaign_id: campaignId,
      status: string("`pending`, `registered`, `not_registered` or `failed`. Default: all."),
      limit: limitField(resultPageLimits),
      offset: offsetField,
    },
    answer: successV1({
      total: described(Schema.Int, "Of all pages."),
      results: Schema.Array(
        Schema.Struct({
          phone: Schema.String,
          status: Schema.Literals(checkResultStatuses),
          checked_at: Schema.NullOr(DateTime),
        }),
      ),
    }),
    handler: Effect.fnUntraced(function* v1GetVerificationResults({ caller, fields }) {
      const lists = yield* Version1Lists
      const id = findId<NumberCheckId>(fields.campaign_id)
      const status = yield* Effect.fromResult(
        oneOf(fields.status, checkResultStatuses, "invalid_status"),
      )
      const limit = yield* Effect.fromResult(parseLimit(fields.limit, resultPageLimits))
      const offset = yield* Effect.fromResult(parseOffset(fields.offset))
      const { items, total } = yield* lists.checkResults(caller, id, status, { offset, limit })
      return {
        status: succeeded,
        total,
        results: items.map((result) => ({
          phone: result.phone,
          status: result.status,
          checked_at: instantOrNull(result.checkedAt),
        })),
      }
    }),
  }),
]

// Numbers (contract: Version 1: numbers)

const numberFields = {
  whatsapp_client: described(Schema.Int, "The number's id."),
  whatsapp_number: described(
    Schema.NullOr(Schema.String),
    "Digits with country code; null until the QR code is scanned.",
  ),
  label: Schema.String,
  connection: Schema.Literals(numberStatuses),
}

const toNumberV1 = ({ id, label, phone, status }: SendingNumber) => ({
  whatsapp_client: id,
  whatsapp_number: phone,
  label,
  connection: status,
})

/** Version 1 neither shows nor connects Telegram accounts, which are numbers too. */
const isVisible = ({ platform }: SendingNumber): boolean => platform === "whatsapp"

/** A Telegram account is refused as an unknown number. */
const ofNumber = (refusal: Refusal): Refusal =>
  refusal.code === "validation_failed" && refusal.field === "numberId"
    ? refuse("number_not_found", { field: "numberId" })
    : refusal

export const numberRoutes: ReadonlyArray<RouteV1> = [
  routeV1("POST /api/v1/whatsapp/connect", {
    summary: "Connect or reconnect a WhatsApp number",
    fields: {
      whatsapp_client: integer("Reconnects this number instead of adding one."),
      whatsapp_number: string("Connects by a pairing code to type on this phone."),
      webhook_url: string("URL that receives QR codes, connections and disconnections."),
    },
    example: { webhook_url: "https://shop.example.com/numbers" },
    answer: successV1({
      message: Schema.String,
      whatsapp_client: numberFields.whatsapp_client,
    }),
    handler: Effect.fnUntraced(function* v1WhatsappConnect({ caller, fields }) {
      const connections = yield* Connections
      const { webhook_url, whatsapp_client, whatsapp_number } = fields
      if (whatsapp_client === unreadable) return yield* failV1("invalid_number")
      const phone =
        whatsapp_number === null ? null : yield* Effect.fromResult(toPhone(whatsapp_number))
      const command: ConnectNumber = {
        ...(phone === null ? {} : { loginMethod: "phone_code", phone }),
        ...(whatsapp_client === null ? {} : { numberId: whatsapp_client }),
      }
      const { answer } = yield* connections
        .connect(caller, command, null, webhook_url)
        .pipe(Effect.catchTag("Refusal", (refusal) => Effect.fail(ofNumber(refusal))))
      return { status: succeeded, message: "Connection started", whatsapp_client: answer.id }
    }),
  }),
  routeV1("POST /api/v1/whatsapp/list", {
    summary: "List WhatsApp numbers",
    fields: {},
    answer: successV1({
      data: described(Schema.Array(Schema.Struct(numberFields)), "Oldest first."),
    }),
    handler: Effect.fnUntraced(function* v1WhatsappList({ caller }) {
      const connections = yield* Connections
      const all = yield* connections.list(caller)
      return {
        status: succeeded,
        data: all.filter(isVisible).map(toNumberV1),
      }
    }),
  }),
  routeV1("POST /api/v1/whatsapp/status", {
    summary: "Read a number, with its QR or pairing code",
    fields: { whatsapp_client: integer("The number's id.", { required: true }) },
    example: { whatsapp_client: 12 },
    answer: successV1({
      data: Schema.Struct({
        ...numberFields,
        qr_code_url: described(
          Schema.NullOr(Schema.String),
          "The image to scan while connecting; valid for 10 minutes.",
        ),
        pairing_code: described(
          Schema.NullOr(Schema.String),
          "The code to type on the phone while connecting.",
        ),
      }),
    }),
    handler: Effect.fnUntraced(function* v1WhatsappStatus({ caller, fields: { whatsapp_client } }) {
      const connections = yield* Connections
      if (whatsapp_client === null) return yield* failV1("no_number")
      const number = yield* connections.get(caller, findId<NumberId>(whatsapp_client))
      if (!isVisible(number)) return yield* failV1("invalid_number")
      return {
        status: succeeded,
        data: {
          ...toNumberV1(number),
          qr_code_url: number.connect?.qrCodeUrl ?? null,
          pairing_code: number.connect?.pairingCode?.code ?? null,
        },
      }
    }),
  }),
]
