/**
 * Decides acceptance: from request, facts and time to messages and their cost, or a refusal. Checks
 * in order: past times, number, contact or chat, quoted message, media, allowance, daily quota
 * (contract: Order of checks).
 * `makeAcceptor` in `Messages.ts` loads these facts, and commits the decision.
 */
import { Result } from "effect"
import { mayUse } from "./Auth.ts"
import type { Sender } from "./Auth.ts"
import { chatRecipient, isQuotable } from "./Answer.ts"
import type { AnsweredChat, QuotedMessage } from "./Answer.ts"
import type { ReplyTo } from "./Message.ts"
import type { IdempotencyClaim, ClaimOutcome } from "./Idempotency.ts"
import { transportId } from "./Ids.ts"
import type { ChatId, Ids, ContactId, MediaId, MessageId, NumberId, WorkspaceId } from "./Ids.ts"
import type { MediaFile } from "./Media.ts"
import { quotaVerdict } from "./Message.ts"
import type { PlannedQuota, QuotaLimit, Message, QuotaFacts } from "./Message.ts"
import { recipientKey } from "./Recipient.ts"
import type { Contact, Phone, Recipient, SendRecipient } from "./Recipient.ts"
import { refuse } from "./Refusal.ts"
import type { Refusal } from "./Refusal.ts"
import type { SendingNumber } from "./SendingNumber.ts"
import type { SendRequest } from "./SendRequest.ts"
import { formatInstant, isPast, wholeSecond } from "./Time.ts"
import { coversMessages } from "./Workspace.ts"
import type { Mode, Plan } from "./Workspace.ts"

export interface AcceptanceQuery {
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly now: number
  /**
   * The number that the request names; null loads that of the first known chat of `chatIds`, and without
   * one the connected ones.
   */
  readonly from: NumberId | null
  /** Loads the saved contacts of these phones. */
  readonly phones: ReadonlyArray<Phone>
  readonly contactIds: ReadonlyArray<ContactId>
  /** Chats to load, of the mode. */
  readonly chatIds: ReadonlyArray<ChatId>
  /** The message to load that the request quotes, of the mode. */
  readonly replyTo: ReplyTo | null
  readonly mediaId: MediaId | null
  /**
   * Counts planned messages exactly around this time; null uses the bound. A null `numberId` counts
   * every connected number and returns them all.
   */
  readonly exactQuota: {
    readonly numberId: NumberId | null
    readonly planned: PlannedQuota
  } | null
  readonly idempotency: IdempotencyClaim | null
}

export interface NumberFacts {
  readonly number: SendingNumber
  readonly quota: QuotaFacts
}

/** Connected numbers to load of each platform: two prove that a request must name one. */
export const connectedShown = 2

export interface AcceptanceFacts {
  /** Null without an `Idempotency-Key`. A refused claim leaves the other facts unread. */
  readonly claim: ClaimOutcome | null
  readonly plan: Plan | null
  /** The number of `from`, or of a chat; null if there is none. */
  readonly named: NumberFacts | null
  /**
   * Oldest first, at most `connectedShown` of each platform unless all are counted. Empty with a
   * `from` or a known chat.
   */
  readonly connected: ReadonlyArray<NumberFacts>
  /** The contact with each phone. */
  readonly contactIdByPhone: ReadonlyMap<Phone, ContactId>
  readonly contacts: ReadonlyMap<ContactId, Contact>
  readonly chats: ReadonlyMap<ChatId, AnsweredChat>
  /** Null without `replyTo`, and where its message is not stored. */
  readonly quoted: QuotedMessage | null
  readonly media: MediaFile | null
}

/** A message before the store assigns its id. */
export type NewMessage = Omit<Message, "id" | "state" | "sentAt" | "error">

export interface Acceptance {
  readonly now: number
  /** All of one workspace, number and planned time. Never empty. */
  readonly messages: ReadonlyArray<NewMessage>
  readonly workspaceId: WorkspaceId
  readonly numberId: NumberId
  readonly mode: Mode
  /** Allowance to take; 0 for test messages. */
  readonly allowance: number
  /** Quota to take; null for test messages. */
  readonly quota: PlannedQuota | null
  readonly idempotency: IdempotencyClaim | null
}

/** The precondition that failed; nothing was written. */
export type FailedGuard = "contact" | "allowance" | "quota" | "number" | "idempotency"

export type AcceptanceOutcome =
  | { readonly _tag: "Accepted"; readonly ids: ReadonlyArray<MessageId> }
  | { readonly _tag: "Conflict"; readonly guard: FailedGuard }

type NumberChoiceCode =
  | "validation_failed"
  | "number_not_found"
  | "number_not_allowed"
  | "from_required"
  | "username_needs_telegram"
  | "chat_not_found"

/** Refusals of a request without regard to allowance and quota. */
type ValidationCode =
  | NumberChoiceCode
  | "time_in_past"
  | "contact_not_found"
  | "reply_not_possible"
  | "media_not_found"
  | "invalid_media_url"
  | "message_rejected"

/** The longest text with a file that Telegram takes, in UTF-16 code units, as it counts. */
const longestTelegramCaption = 1024

/** What an acceptance can be refused with. */
export type AcceptCode = ValidationCode | "no_credits" | "number_daily_cap_reached"

/** What an acceptance adds to a number's 24-hour window. */
export const plannedQuota = (
  request: SendRequest,
  now: number,
  limit: QuotaLimit,
): PlannedQuota => ({
  plannedAt: request.sendAt?.millis ?? now,
  count: request.recipients.length,
  limit,
})

const getField = (request: SendRequest, index: number, recipient: SendRecipient): string =>
  request.batch ? `to[${index}].${recipientKey(recipient)}` : `to.${recipientKey(recipient)}`

/** The field of the first recipient that satisfies the condition. */
const firstField = (
  request: SendRequest,
  condition: (recipient: SendRecipient) => boolean,
): string | undefined => {
  const index = request.recipients.findIndex(condition)
  const recipient = request.recipients[index]
  return recipient === undefined ? undefined : getField(request, index, recipient)
}

export const pastTime = (
  request: Pick<SendRequest, "sendAt" | "expiresAt">,
  now: number,
): Refusal<"time_in_past"> | undefined => {
  for (const field of ["sendAt", "expiresAt"] as const) {
    const time = request[field]
    if (time !== null && isPast(time, now)) return refuse("time_in_past", { field })
  }
  return undefined
}

/** Whether only a Telegram account can reach the recipient. */
export const isTelegramOnly = (
  recipient: SendRecipient,
  facts: Pick<AcceptanceFacts, "contacts">,
): boolean => {
  if (recipient.kind === "username") return true
  if (recipient.kind !== "contact") return false
  const contact = facts.contacts.get(recipient.contactId)
  return contact !== undefined && contact.phone === null
}

/**
 * Chooses the sending number (contract: The sending number). A chat's number is its own; usernames need a Telegram account,
 * groups a WhatsApp number. So Telegram takes a mixed batch only when no WhatsApp number is
 * connected.
 */
export const resolveNumber = (
  request: SendRequest,
  facts: AcceptanceFacts,
  sender: Sender,
): Result.Result<NumberFacts, Refusal<NumberChoiceCode>> => {
  const telegramField = firstField(request, (to) => isTelegramOnly(to, facts))
  const groupField = firstField(request, (to) => to.kind === "group")
  const suited = (found: NumberFacts): Result.Result<NumberFacts, Refusal<NumberChoiceCode>> => {
    const { platform } = found.number
    if (platform === "telegram" && groupField !== undefined) {
      const message = "A group needs a WhatsApp number."
      return Result.fail(refuse("validation_failed", { field: groupField, message }))
    }
    if (platform === "whatsapp" && telegramField !== undefined) {
      return Result.fail(refuse("username_needs_telegram", { field: telegramField }))
    }
    return Result.succeed(found)
  }

  if (request.from !== null) {
    if (facts.named === null) return Result.fail(refuse("number_not_found", { field: "from" }))
    if (!mayUse(sender, facts.named.number.id)) {
      return Result.fail(refuse("number_not_allowed", { field: "from" }))
    }
    return suited(facts.named)
  }

  const chatAt = request.recipients.findIndex((to) => to.kind === "chat")
  const named = request.recipients[chatAt]
  if (named?.kind === "chat") {
    const chat = facts.chats.get(named.chatId)
    return chat === undefined || facts.named === null || !mayUse(sender, chat.numberId)
      ? Result.fail(refuse("chat_not_found", { field: getField(request, chatAt, named) }))
      : suited(facts.named)
  }

  const connected = (platform: SendingNumber["platform"]) =>
    facts.connected.filter(({ number }) => number.platform === platform)
  const whatsapp = connected("whatsapp")
  const mixed =
    telegramField !== undefined && request.recipients.some((to) => !isTelegramOnly(to, facts))
  if (mixed && (whatsapp.length > 0 || groupField !== undefined)) {
    return Result.fail(refuse("from_required", { field: "from" }))
  }
  // A connected WhatsApp number wins; Telegram serves only without one.
  const candidates =
    telegramField !== undefined || (whatsapp.length === 0 && groupField === undefined)
      ? connected("telegram")
      : whatsapp
  const [only, another] = candidates
  if (only === undefined || another !== undefined) {
    return Result.fail(
      telegramField === undefined
        ? refuse("from_required", { field: "from" })
        : refuse("username_needs_telegram", { field: telegramField }),
    )
  }
  if (!mayUse(sender, only.number.id))
    return Result.fail(refuse("from_required", { field: "from" }))
  return suited(only)
}

const fromContact = (contact: Contact): Recipient =>
  contact.phone === null
    ? { kind: "contact_username", contactId: contact.id, username: contact.username ?? "" }
    : { kind: "contact_phone", contactId: contact.id, phone: contact.phone }

const resolveRecipients = (
  request: SendRequest,
  facts: AcceptanceFacts,
  from: SendingNumber,
): Result.Result<ReadonlyArray<Recipient>, Refusal<"contact_not_found" | "chat_not_found">> => {
  const resolved: Array<Recipient> = []
  for (const [index, to] of request.recipients.entries()) {
    switch (to.kind) {
      case "phone":
        resolved.push({
          kind: "phone",
          phone: to.phone,
          contactId: facts.contactIdByPhone.get(to.phone) ?? null,
        })
        break
      case "group":
        resolved.push(to)
        break
      case "username":
        resolved.push({ kind: "username", username: to.username.text })
        break
      case "contact": {
        const contact = facts.contacts.get(to.contactId)
        if (contact === undefined) {
          return Result.fail(refuse("contact_not_found", { field: getField(request, index, to) }))
        }
        resolved.push(fromContact(contact))
        break
      }
      case "chat": {
        const chat = facts.chats.get(to.chatId)
        const recipient = chat?.numberId === from.id ? chatRecipient(chat) : null
        if (recipient === null) {
          return Result.fail(refuse("chat_not_found", { field: getField(request, index, to) }))
        }
        resolved.push(recipient)
      }
    }
  }
  return Result.succeed(resolved)
}

const refusedReply = (
  { replyTo }: SendRequest,
  { chats, quoted }: AcceptanceFacts,
  from: SendingNumber,
  [to]: ReadonlyArray<Recipient>,
): Refusal<"reply_not_possible"> | undefined => {
  if (replyTo === null || to === undefined) return undefined
  return quoted !== null && quoted.numberId === from.id && isQuotable(quoted, to, chats)
    ? undefined
    : refuse("reply_not_possible", { field: `replyTo.${Object.keys(replyTo)[0]}` })
}

const overQuota = (
  found: NumberFacts,
  request: SendRequest,
  { now, dailyLimit }: AcceptContext,
): Refusal<"number_daily_cap_reached"> | undefined => {
  const planned = plannedQuota(request, now, dailyLimit)
  const verdict = quotaVerdict(found.quota, planned)
  if (verdict._tag === "Fits") return undefined
  const { room, roomAt } = verdict
  const around = formatInstant(planned.plannedAt)
  const left = `The number has room for ${room} more in the 24 hours around ${around}`
  if (roomAt === null) {
    const never = `${left}, and never for so many recipients: 24 hours hold ${dailyLimit.messages.toLocaleString("en")}.`
    return refuse("number_daily_cap_reached", { message: never, details: { room, roomAt: null } })
  }
  const fitsFrom = wholeSecond(roomAt)
  const formatted = formatInstant(fitsFrom)
  const when =
    request.sendAt === null
      ? "send it then, or schedule it for then"
      : "schedule it for then or later"
  const expires =
    request.expiresAt !== null && request.expiresAt.millis <= fitsFrom
      ? ", and let it expire after that"
      : ""
  const next = `All of this request fits from ${formatted} on: ${when}${expires}.`
  return refuse("number_daily_cap_reached", {
    message: `${left}. ${next}`,
    details: { room, roomAt: formatted },
    retryAfter: Math.max(1, Math.ceil((roomAt - now) / 1000)),
  })
}

export interface AcceptContext {
  readonly sender: Sender
  readonly now: number
  readonly ids: typeof Ids.Service
  readonly idempotency: IdempotencyClaim | null
  /** Whether egress allows the addresses of the media link's host. */
  readonly linkAllowed: boolean
  readonly dailyLimit: QuotaLimit
}

/** A valid request with its number and recipients; only allowance and quota are left to check. */
interface ResolvedRequest {
  readonly number: NumberFacts
  readonly recipients: ReadonlyArray<Recipient>
}

const validateRequest = (
  request: SendRequest,
  facts: AcceptanceFacts,
  context: AcceptContext,
): Result.Result<ResolvedRequest, Refusal<ValidationCode>> => {
  const { now, sender } = context
  const past = pastTime(request, now)
  if (past !== undefined) return Result.fail(past)

  const number = resolveNumber(request, facts, sender)
  if (Result.isFailure(number)) return Result.fail(number.failure)
  const recipients = resolveRecipients(request, facts, number.success.number)
  if (Result.isFailure(recipients)) return Result.fail(recipients.failure)
  const reply = refusedReply(request, facts, number.success.number, recipients.success)
  if (reply !== undefined) return Result.fail(reply)
  if (request.media !== null && request.media.mediaId !== null && facts.media === null) {
    return Result.fail(refuse("media_not_found", { field: "media.mediaId" }))
  }
  if (!context.linkAllowed) {
    return Result.fail(refuse("invalid_media_url", { field: "media.url" }))
  }
  const { platform } = number.success.number
  if (
    platform === "telegram" &&
    request.media !== null &&
    request.text.length > longestTelegramCaption
  ) {
    const message = `Telegram takes at most ${longestTelegramCaption.toLocaleString("en")} characters beside a file.`
    return Result.fail(refuse("message_rejected", { field: "text", message }))
  }

  return Result.succeed({ number: number.success, recipients: recipients.success })
}

const toAcceptance = (
  request: SendRequest,
  facts: AcceptanceFacts,
  context: AcceptContext,
  { number: { number: from }, recipients }: ResolvedRequest,
): Acceptance => {
  const { ids, now, dailyLimit, sender } = context
  const { mode, workspaceId } = sender
  const planned = plannedQuota(request, now, dailyLimit)
  const media =
    request.media === null || facts.media === null
      ? request.media
      : {
          ...request.media,
          type: request.media.type ?? facts.media.type,
          fileName: request.media.fileName ?? facts.media.fileName,
        }
  return {
    now,
    workspaceId,
    numberId: from.id,
    mode,
    allowance: mode === "test" ? 0 : planned.count,
    quota: mode === "test" ? null : planned,
    idempotency: context.idempotency,
    messages: recipients.map((to) => ({
      workspaceId,
      mode,
      from: { id: from.id, phone: from.phone, platform: from.platform },
      phoneAtAcceptance: from.phone,
      to,
      text: request.text,
      media,
      foundMediaType: null,
      sendAt: request.sendAt?.millis ?? null,
      expiresAt: request.expiresAt?.millis ?? null,
      createdAt: now,
      dueAt: planned.plannedAt,
      transportId: transportId(ids),
      callbackUrl: request.callbackUrl,
      reference: request.reference,
      campaign: null,
      replyTo: request.replyTo,
    })),
  }
}

/**
 * Decides a send or a batch, all or nothing (contract: Sending a message, Sending a batch). Test
 * keys pass every check but use neither allowance nor quota (contract: Test mode).
 */
export const decideAcceptance = (
  request: SendRequest,
  facts: AcceptanceFacts,
  context: AcceptContext,
): Result.Result<Acceptance, Refusal<AcceptCode>> =>
  Result.flatMap(
    validateRequest(request, facts, context),
    (resolved): Result.Result<Acceptance, Refusal<AcceptCode>> => {
      if (!coversMessages(facts.plan, request.recipients.length)) {
        return Result.fail(refuse("no_credits"))
      }
      const over = overQuota(resolved.number, request, context)
      return over === undefined
        ? Result.succeed(toAcceptance(request, facts, context, resolved))
        : Result.fail(over)
    },
  )

/**
 * The acceptance that a request without quota would have had. The store keeps it as a failed
 * message (contract: Version 1: sends).
 */
export const decideRefused = (
  request: SendRequest,
  facts: AcceptanceFacts,
  context: AcceptContext,
): Result.Result<Acceptance, Refusal<ValidationCode>> =>
  Result.map(validateRequest(request, facts, context), (resolved) => ({
    ...toAcceptance(request, facts, context, resolved),
    allowance: 0,
    quota: null,
  }))
