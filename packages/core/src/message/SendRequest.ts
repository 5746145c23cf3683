/**
 * Parses POST /messages and POST /messages/batch: from unknown input to a request, or to problems
 * with their fields (contract: Sending a message, Sending a batch). `accept.ts` decides what
 * depends on the clock or on stored state.
 */
import { Result, Schema } from "effect"
import { problem } from "../error/Refusal.ts"
import type { Problem } from "../error/Refusal.ts"
import type { OutboundRule } from "../egress/Egress.ts"
import type { MediaId, NumberId } from "../Ids.ts"
import { MediaInput, mediaTypeOfLink, mediaUrlProblems } from "../media/Media.ts"
import type { MediaReference } from "../media/Media.ts"
import { RecipientInput } from "../recipient/Recipient.ts"
import type { RequestedRecipient } from "../recipient/Recipient.ts"
import {
  codePointLength,
  described,
  inputDecoder,
  InstantInput,
  isBlank,
} from "../request/Input.ts"
import { compareInstants, momentText, parseInstant } from "../time/Time.ts"
import type { Instant, Moment } from "../time/Time.ts"

/** In code points. */
const maximumTextLength = 3000
export const maximumRecipients = 1000

export interface SendRequest {
  /** One for a single send. */
  readonly recipients: ReadonlyArray<RequestedRecipient>
  /** Whether `to` was a list: refusals then name fields like `to[3].phone`. */
  readonly batch: boolean
  readonly from: NumberId | null
  readonly text: string
  readonly media: MediaReference | null
  readonly sendAt: Instant | null
  readonly expiresAt: Instant | null
  /** Receives the outcome of each message (contract: Version 1: callbacks). */
  readonly callbackUrl: string | null
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
  send_at: described(
    Schema.optionalKey(Schema.NullOr(InstantInput)),
    "When to send, in the future; at once when left out.",
  ),
  expires_at: described(
    Schema.optionalKey(Schema.NullOr(InstantInput)),
    "In the future and after `send_at`: what was not sent by then becomes `expired`.",
  ),
}

export const SendBody = Schema.Struct({ to: RecipientInput, ...shared }).annotate({
  identifier: "SendMessage",
})

export const BatchBody = Schema.Struct({
  to: Schema.Array(RecipientInput).check(
    Schema.makeFilter(
      (to) => (to.length > 0 ? undefined : "must name at least one recipient"),
      // `ListBounds` reports too many before the schema runs.
      { toJsonSchema: () => ({ minItems: 1, maxItems: maximumRecipients }) },
    ),
  ),
  ...shared,
}).annotate({ identifier: "SendBatch" })

interface Moments {
  readonly send_at?: Moment | null
  readonly expires_at?: Moment | null
}

/** One message to send, named as in the body; times may be dates. */
export type SendMessage = Omit<typeof SendBody.Encoded, keyof Moments> & Moments

/** The same message to many recipients. */
export type SendBatch = Omit<typeof BatchBody.Encoded, keyof Moments> & Moments

type Raw = Readonly<Record<string, unknown>>

/** Replaces dates by the text that a body has in their place. */
const withMomentsAsText = (command: unknown): unknown => {
  if (typeof command !== "object" || command === null) return command
  const { expires_at, send_at }: Raw = command as Raw
  return send_at instanceof Date || expires_at instanceof Date
    ? {
        ...command,
        ...(send_at === undefined ? {} : { send_at: momentText(send_at) }),
        ...(expires_at === undefined ? {} : { expires_at: momentText(expires_at) }),
      }
    : command
}

const textProblems = ({ text, media }: Raw, attached: boolean): ReadonlyArray<Problem> => {
  const missing = text === undefined || (typeof text === "string" && isBlank(text))
  return missing && !attached && (media === undefined || media === null)
    ? [problem("text_required", "text")]
    : []
}

const orderProblems = ({ send_at, expires_at }: Raw): ReadonlyArray<Problem> => {
  const sendAt = typeof send_at === "string" ? parseInstant(send_at) : undefined
  const expiresAt = typeof expires_at === "string" ? parseInstant(expires_at) : undefined
  return sendAt !== undefined && expiresAt !== undefined && compareInstants(expiresAt, sendAt) <= 0
    ? [problem("validation_failed", "expires_at", "must be after send_at")]
    : []
}

const acrossFields = (rule: OutboundRule, attached: boolean) => (raw: Raw) => [
  ...textProblems(raw, attached),
  ...mediaUrlProblems(raw["media"], rule),
  ...orderProblems(raw),
]

export const toMediaReference = (media: typeof MediaInput.Type): MediaReference => ({
  mediaId: (media.media_id as MediaId | undefined) ?? null,
  attachmentId: null,
  url: media.url ?? null,
  type: media.type ?? (media.url === undefined ? undefined : mediaTypeOfLink(media.url)) ?? null,
  fileName: media.file_name ?? null,
})

const toRequest = (
  body: Omit<typeof SendBody.Type, "to">,
  recipients: ReadonlyArray<RequestedRecipient>,
  batch: boolean,
): SendRequest => ({
  recipients,
  batch,
  from: (body.from as NumberId | null | undefined) ?? null,
  text: body.text ?? "",
  media: body.media == null ? null : toMediaReference(body.media),
  sendAt: body.send_at ?? null,
  expiresAt: body.expires_at ?? null,
  callbackUrl: null,
})

/**
 * The parsers of both operations under a rule for outgoing links. With `attached`, text is optional
 * as it is with media. Input is checked whatever its static type: it may be raw JSON. Build once,
 * reuse.
 */
export const sendRequestParser = (rule: OutboundRule, attached = false) => {
  const across = acrossFields(rule, attached)
  const single = inputDecoder(SendBody, { across })
  const batch = inputDecoder(BatchBody, {
    across,
    lists: { to: { most: maximumRecipients, code: "too_many_recipients" } },
  })
  return {
    single: (command: unknown) =>
      Result.map(single(withMomentsAsText(command)), (ok) => toRequest(ok, [ok.to], false)),
    batch: (command: unknown) =>
      Result.map(batch(withMomentsAsText(command)), (ok) => toRequest(ok, ok.to, true)),
  }
}
