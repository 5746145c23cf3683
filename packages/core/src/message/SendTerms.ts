/**
 * What a send of version 1 may ask for and one of version 2 cannot (contract: Version 1: sends).
 * `plainTerms`: a version 2 send, which has none of these.
 */
import { Effect } from "effect"
import type { CallbackUrl } from "../callback/CallbackUrls.ts"
import { detailed } from "../error/Refusal.ts"
import type { Failure, Refusal } from "../error/Refusal.ts"
import { eventId } from "../Ids.ts"
import type { Ids } from "../Ids.ts"
import type { Sender } from "../key/Caller.ts"
import type { Attachment } from "../media/Attachments.ts"
import type { MediaLink } from "../media/MediaLinks.ts"
import type { makeAcceptor } from "./Acceptor.ts"
import type { MessageError } from "./Message.ts"
import { refusedMessage } from "./MessageChange.ts"
import type { AcceptanceFacts, MessageStore } from "./MessageStore.ts"
import type { SendRequest } from "./SendRequest.ts"

export interface SendTerms {
  /**
   * Where the end of each message is reported (contract: Version 1: callbacks). `CallbackUrls` says
   * which address may be.
   */
  readonly callbackUrl: CallbackUrl | null
  /** Goes with every message of the request, in place of its `media`. */
  readonly attachment: Attachment | null
  /**
   * A single message that is refused because its number has no room left is stored as failed; the
   * refusal then tells its id as `message_id`. Refused batches are never stored.
   */
  readonly keepRefused: boolean
}

export const plainTerms: SendTerms = { callbackUrl: null, attachment: null, keepRefused: false }

/** The request under its terms. */
export const underTerms = (request: SendRequest, terms: SendTerms): SendRequest => {
  const { attachment, callbackUrl } = terms
  if (attachment === null) return { ...request, callbackUrl }
  const { fileName, id, type } = attachment
  return {
    ...request,
    callbackUrl,
    media: { mediaId: null, attachmentId: id, url: null, type, fileName },
  }
}

const dailyLimitReached: MessageError = { code: "send_failed", message: "Daily limit reached" }

/** Whether a refusal of this request leaves a failed message behind. */
export const leavesMessage = (refusal: Refusal, request: SendRequest, terms: SendTerms): boolean =>
  terms.keepRefused && !request.batch && refusal.code === "number_daily_cap_reached"

/**
 * Stores the message of a refused request, on the facts of the refusal, as a failed one: its event and
 * its callback tell of it, and it takes nothing. Returns the refusal with the message's id, or null
 * when the number is gone by now: then nothing was stored, and the facts are to be loaded again.
 */
export const keepRefused =
  (
    decideRefused: Effect.Success<typeof makeAcceptor>["decideRefused"],
    store: typeof MessageStore.Service,
    ids: typeof Ids.Service,
    link: MediaLink,
  ) =>
  (
    refusal: Refusal,
    sender: Sender,
    request: SendRequest,
    facts: AcceptanceFacts,
    now: number,
  ): Effect.Effect<Refusal | null, Failure> =>
    Effect.gen(function* () {
      const { messages, numberId, workspaceId } = yield* decideRefused(sender, request, facts, now)
      const [only] = messages
      if (only === undefined) return refusal
      const event = eventId(ids, now)
      const stored = yield* store.insertRefused({
        workspaceId,
        numberId,
        ended: (id) => refusedMessage({ ...only, id }, dailyLimitReached, event, now, link),
      })
      return stored === null ? null : detailed(refusal, { message_id: stored.message.id })
    })
