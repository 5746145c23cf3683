/**
 * What a send may bring with it for which a body of version 2 has no field (contract: Version 1:
 * sends). The plain terms are version 2's own ways.
 */
import type { CallbackUrl } from "../callback/CallbackUrls.ts"
import type { Attachment } from "../media/Attachments.ts"
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
