/**
 * Parses POST /messages and POST /messages/batch: from unknown input to a request, or to problems
 * with their fields (contract: Sending a message, Sending a batch). `accept.ts` decides what
 * depends on the clock or on stored state.
 */
import { Result, Schema } from "effect"
import { problem } from "./Refusal.ts"
import type { Problem, Refusal } from "./Refusal.ts"
import type { OutboundRule } from "./Egress.ts"
import type { ReplyTo } from "./Message.ts"
import type { MediaId, MessageId, NumberId, ReceivedMessageId } from "./Ids.ts"
import { givenFileName, MediaInput, mediaTypeOfLink, mediaUrlProblems } from "./Media.ts"
import type { MediaReference } from "./Media.ts"
import { RecipientInput, SendRecipientInput } from "./Recipient.ts"
import type { SendRecipient } from "./Recipient.ts"
import { codePointLength, described, inputDecoder, InstantInput, isBlank } from "./Input.ts"
import type { CommandOf } from "./Input.ts"
import { compareInstants, parseInstant } from "./Time.ts"
import type { Instant } from "./Time.ts"

/** In code points. */
export const maximumTextLength = 3000
const maximumReferenceLength = 200
export const maximumRecipients = 1000

export interface SendRequest {
  /** One for a single send. */
  readonly recipients: ReadonlyArray<SendRecipient>
  /** Whether `to` was a list: refusals then name fields like `to[3].phone`. */
  readonly batch: boolean
  readonly from: NumberId | null
  readonly text: string
  readonly media: MediaReference | null
  readonly sendAt: Instant | null
  readonly expiresAt: Instant | null
  /** Receives the outcome of each message (contract: Version 1: callbacks). */
  readonly callbackUrl: string | null
  /** What the program or the operator calls it; null from callers with a key. */
  readonly reference: string | null
  /** What a single send quotes. */
  readonly replyTo: ReplyTo | null
}

export const TextInput = Schema.String.check(
  Schema.makeFilter(
    (text) => (codePointLength(text) <= maximumTextLength ? undefined : "text_too_long"),
    { toJsonSchema: () => ({ maxLength: maximumTextLength }) },
  ),
)

const shared = {
  from: described(
    Schema.optionalKey(Schema.NullOr(Schema.Int)),
    "Id of the sending number. Without it the only connected number sends: a WhatsApp number, and a Telegram account when no WhatsApp number is connected.",
  ),
  text: described(
    Schema.optionalKey(TextInput),
    "The message, or the caption of its media; required without media. `*bold*`, `_italic_` and `~strike~` work.",
  ),
  media: Schema.optionalKey(Schema.NullOr(MediaInput)),
  sendAt: described(
    Schema.optionalKey(Schema.NullOr(InstantInput)),
    "When to send, in the future. Default: at once.",
  ),
  expiresAt: described(
    Schema.optionalKey(Schema.NullOr(InstantInput)),
    "In the future and after the time to send: what was not sent by then becomes `expired`.",
  ),
}

const toList = <S extends typeof RecipientInput | typeof SendRecipientInput>(recipient: S) =>
  Schema.Array(recipient).check(
    Schema.makeFilter(
      (to) => (to.length > 0 ? undefined : "must name at least one recipient"),
      // `ListBounds` reports too many before the schema runs.
      { toJsonSchema: () => ({ minItems: 1, maxItems: maximumRecipients }) },
    ),
  )

const ReplyInput = Schema.Struct({
  receivedMessageId: described(Schema.optionalKey(Schema.Int), "Id of a received message."),
  messageId: described(Schema.optionalKey(Schema.Int), "Id of a message that was sent."),
})
  .check(
    Schema.makeFilter(
      (reply: object) =>
        Object.keys(reply).length === 1
          ? undefined
          : "must name exactly one of a received message and a message",
      { toJsonSchema: () => ({ minProperties: 1, maxProperties: 1 }) },
    ),
  )
  .annotate({ identifier: "ReplyTo", description: "Exactly one of the keys." })

export const SendBody = Schema.Struct({
  to: SendRecipientInput,
  ...shared,
  replyTo: described(
    Schema.optionalKey(Schema.NullOr(ReplyInput)),
    "The message of the same chat that it quotes. Unknown while conversations are off.",
  ),
}).annotate({ identifier: "SendMessage" })

export const BatchBody = Schema.Struct({
  to: toList(SendRecipientInput),
  ...shared,
}).annotate({ identifier: "SendBatch" })

// What sends take while conversations are off.

const PlainSendBody = Schema.Struct({ to: RecipientInput, ...shared })

const PlainBatchBody = Schema.Struct({ to: toList(RecipientInput), ...shared })

/** In code points, like all lengths. */
const isReference = (text: string): boolean =>
  !isBlank(text) && codePointLength(text) <= maximumReferenceLength

const referenceRule = `must be 1 to ${maximumReferenceLength} characters, not all of them blank`

export const ReferenceInput = Schema.String.check(
  Schema.makeFilter((text) => (isReference(text) ? undefined : referenceRule), {
    toJsonSchema: () => ({ minLength: 1, maxLength: maximumReferenceLength }),
  }),
)

const referenced = {
  reference: described(
    Schema.optionalKey(Schema.NullOr(ReferenceInput)),
    "What you call it, such as the id of an order. No recipient, key or webhook sees it.",
  ),
}

/** What the program itself and the operator may send: a reference too. */
export const ReferencedSendBody = Schema.Struct({ ...SendBody.fields, ...referenced }).annotate({
  identifier: "SendWorkspaceMessage",
})

export const ReferencedBatchBody = Schema.Struct({ ...BatchBody.fields, ...referenced }).annotate({
  identifier: "SendWorkspaceBatch",
})

/** One message to send. */
export type SendMessage = CommandOf<typeof SendBody.Encoded>

/** The same message to many recipients. */
export type SendBatch = CommandOf<typeof BatchBody.Encoded>

/** One message to send; callers with a key give no reference. */
export type ReferencedSend = CommandOf<typeof ReferencedSendBody.Encoded>

/** The same message to many recipients; callers with a key give no reference. */
export type ReferencedBatch = CommandOf<typeof ReferencedBatchBody.Encoded>

/** What a message's fields are refused with, apart from `validation_failed`. */
const contentCodes = [
  "text_required",
  "text_too_long",
  "invalid_phone",
  "invalid_username",
  "invalid_datetime",
  "invalid_media_url",
] as const

export type ContentCode = (typeof contentCodes)[number] | "validation_failed"

type ContentProblem = Problem<ContentCode>

type Raw = Readonly<Record<string, unknown>>

const textProblems = ({ text, media }: Raw, attached: boolean): ReadonlyArray<ContentProblem> => {
  const missing = text === undefined || (typeof text === "string" && isBlank(text))
  return missing && !attached && (media === undefined || media === null)
    ? [problem("text_required", "text")]
    : []
}

const orderProblems = ({ sendAt, expiresAt }: Raw): ReadonlyArray<ContentProblem> => {
  const sent = typeof sendAt === "string" ? parseInstant(sendAt) : undefined
  const expired = typeof expiresAt === "string" ? parseInstant(expiresAt) : undefined
  return sent !== undefined && expired !== undefined && compareInstants(expired, sent) <= 0
    ? [problem("validation_failed", "expiresAt", "must be after the time to send")]
    : []
}

const acrossFields = (rule: OutboundRule, attached: boolean) => (raw: Raw) => [
  ...textProblems(raw, attached),
  ...mediaUrlProblems(raw["media"], rule),
  ...orderProblems(raw),
]

export const toMediaReference = (media: typeof MediaInput.Type): MediaReference => ({
  mediaId: (media.mediaId as MediaId | undefined) ?? null,
  attachmentId: null,
  url: media.url ?? null,
  type: media.type ?? (media.url === undefined ? undefined : mediaTypeOfLink(media.url)) ?? null,
  fileName: media.fileName === undefined ? null : givenFileName(media.fileName),
})

const toReplyTo = ({ messageId, receivedMessageId }: typeof ReplyInput.Type): ReplyTo =>
  receivedMessageId === undefined
    ? { messageId: messageId as MessageId }
    : { receivedMessageId: receivedMessageId as ReceivedMessageId }

const toRequest = (
  body: Omit<SingleBody, "to">,
  recipients: ReadonlyArray<SendRecipient>,
  batch: boolean,
): SendRequest => ({
  recipients,
  batch,
  from: (body.from as NumberId | null | undefined) ?? null,
  text: body.text ?? "",
  media: body.media == null ? null : toMediaReference(body.media),
  sendAt: body.sendAt ?? null,
  expiresAt: body.expiresAt ?? null,
  callbackUrl: null,
  reference: body.reference ?? null,
  replyTo: body.replyTo == null ? null : toReplyTo(body.replyTo),
})

/**
 * The parsers of both operations under a rule for outgoing links. With `attached`, text is optional
 * as it is with media. `answers`: conversations are on. Input is checked whatever its static type: it
 * may be raw JSON. Build once, reuse.
 */
export const sendRequestParser = (rule: OutboundRule, attached = false, answers = false) => {
  const across = acrossFields(rule, attached)
  return makeParser(
    inputDecoder(answers ? SendBody : PlainSendBody, { codes: contentCodes, across }),
    inputDecoder(answers ? BatchBody : PlainBatchBody, batchRules(across)),
  )
}

/** The same, for callers who may give a reference. */
export const referencedSendParser = (rule: OutboundRule, answers = false) => {
  const across = acrossFields(rule, false)
  const [single, batch] = answers
    ? [ReferencedSendBody, ReferencedBatchBody]
    : [
        Schema.Struct({ ...PlainSendBody.fields, ...referenced }),
        Schema.Struct({ ...PlainBatchBody.fields, ...referenced }),
      ]
  return makeParser(
    inputDecoder(single, { codes: contentCodes, across }),
    inputDecoder(batch, batchRules(across)),
  )
}

const isObject = (value: unknown): value is Raw => typeof value === "object" && value !== null

/** Whether a command has a field that is unknown while conversations are off. */
export const asksForAnswers = (command: unknown): boolean => {
  if (!isObject(command)) return false
  const { to } = command
  if ("replyTo" in command) return true
  return (Array.isArray(to) ? to : [to]).some((one) => isObject(one) && "chatId" in one)
}

const batchRules = (across: ReturnType<typeof acrossFields>) => ({
  codes: [...contentCodes, "too_many_recipients"] as const,
  across,
  lists: { to: { most: maximumRecipients, code: "too_many_recipients" } } as const,
})

/** With conversations or without. */
type SingleBody = Omit<typeof ReferencedSendBody.Type, "replyTo"> &
  Partial<Pick<typeof ReferencedSendBody.Type, "replyTo">>

type Decode<Body, C extends ContentCode | "too_many_recipients"> = (
  command: unknown,
) => Result.Result<Body, Refusal<C>>

const makeParser = (
  single: Decode<SingleBody, ContentCode>,
  batch: Decode<typeof ReferencedBatchBody.Type, ContentCode | "too_many_recipients">,
) => {
  return {
    single: (command: unknown) =>
      Result.map(single(command), (ok) => toRequest(ok, [ok.to], false)),
    batch: (command: unknown) => Result.map(batch(command), (ok) => toRequest(ok, ok.to, true)),
  }
}
