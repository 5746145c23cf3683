/**
 * Storing a message although it was refused: a single one that its number had no room for becomes a
 * failed message, of which its event and its callback tell (contract: Version 1: sends). It takes
 * nothing.
 */
import { Effect } from "effect"
import { detailed } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { eventId } from "../id/Ids.ts"
import type { Ids } from "../id/Ids.ts"
import type { Sender } from "../key/Caller.ts"
import type { MediaLink } from "../media/MediaLinks.ts"
import type { Acceptor } from "./Acceptor.ts"
import type { MessageError } from "./Message.ts"
import { refusedMessage } from "./MessageChange.ts"
import type { AcceptanceFacts, MessageStore } from "./MessageStore.ts"
import type { SendRequest } from "./SendRequest.ts"
import type { SendTerms } from "./SendTerms.ts"

const dailyLimitReached: MessageError = { code: "send_failed", message: "Daily limit reached" }

/** Whether a refusal of this request leaves a failed message behind. */
export const leavesMessage = (refusal: Refusal, request: SendRequest, terms: SendTerms): boolean =>
  terms.keepRefused && !request.batch && refusal.code === "number_daily_cap_reached"

/**
 * Stores the message of a refused request, on the facts of the refusal. Returns the refusal with the
 * message's id, or null when the number is gone by now: then nothing was stored, and the facts are
 * to be loaded again.
 */
export const keepRefused =
  (
    acceptor: typeof Acceptor.Service,
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
  ): Effect.Effect<Refusal | null, Refusal | StoreUnavailable> =>
    Effect.gen(function* () {
      const { messages, numberId, workspaceId } = yield* acceptor.decideRefused(
        sender,
        request,
        facts,
        now,
      )
      const [only] = messages
      if (only === undefined) return refusal
      const event = eventId(ids)
      const stored = yield* store.insertRefused({
        workspaceId,
        numberId,
        ended: (id) => refusedMessage({ ...only, id }, dailyLimitReached, event, now, link),
      })
      return stored === null ? null : detailed(refusal, { message_id: stored.message.id })
    })
