/**
 * What every acceptance does before its commit: load the facts and decide on them. Sends commit what
 * comes of it as it is; a reminder's run commits it together with its own advance.
 */
import { Effect, Result } from "effect"
import { Egress } from "../egress/Egress.ts"
import { Ids } from "../Ids.ts"
import type { ContactId } from "../Ids.ts"
import type { Sender } from "../key/Caller.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import type { Phone } from "../recipient/Phone.ts"
import type { IdempotencyClaim } from "../request/Idempotency.ts"
import { decideAcceptance, decideRefused, plannedQuota, resolveNumber } from "./accept.ts"
import type { AcceptContext } from "./accept.ts"
import { MessageStore } from "./MessageStore.ts"
import type { Acceptance, AcceptanceFacts, AcceptanceQuery } from "./MessageStore.ts"
import { DailyQuota, needsCount } from "./Quota.ts"
import type { SendRequest } from "./SendRequest.ts"

/** Makes what sends and reminders accept with. */
export const makeAcceptor = Effect.gen(function* () {
  const store = yield* MessageStore
  const ids = yield* Ids
  const egress = yield* Egress
  const wakeUp = yield* WakeUp
  const quotaLimit = yield* DailyQuota

  const contextOf = (
    sender: Sender,
    { media }: SendRequest,
    now: number,
    idempotency: IdempotencyClaim | null,
  ) =>
    Effect.map(
      media?.url == null ? Effect.succeed(true) : egress.allows(media.url, sender.workspaceId),
      (linkAllowed): AcceptContext => ({
        sender,
        now,
        ids,
        idempotency,
        linkAllowed,
        quotaLimit,
      }),
    )

  return {
    /**
     * Claims when there is something to claim, and loads the facts; the exact count of the quota too
     * when only that tells whether or when there is room, or when `recount` asks for it. `now` in
     * epoch milliseconds.
     */
    load: Effect.fnUntraced(function* (
      sender: Sender,
      request: SendRequest,
      now: number,
      claim: IdempotencyClaim | null,
      recount: boolean,
    ) {
      const query = acceptanceQuery(sender, request, now, claim)
      const facts = yield* store.loadAcceptance(query)
      if (facts.claim !== null && facts.claim._tag !== "Claimed") return facts
      const number = resolveNumber(request, facts, sender)
      if (Result.isFailure(number)) return facts
      const planned = plannedQuota(request, now, quotaLimit)
      const { number: from, quota } = number.success
      if (!recount && !needsCount(quota, planned)) return facts
      const exactQuota = { numberId: from.id, planned }
      return yield* store.loadAcceptance({ ...query, idempotency: null, exactQuota })
    }),
    /** Loads the facts with all connected numbers, each one's quota counted exactly. */
    loadConnected: (sender: Sender, request: SendRequest, now: number) =>
      store.loadAcceptance({
        ...acceptanceQuery(sender, request, now, null),
        exactQuota: { numberId: null, planned: plannedQuota(request, now, quotaLimit) },
      }),
    /**
     * Decides on the facts, after asking where a media link leads. Fails with the refusals of
     * POST /messages.
     */
    decide: Effect.fnUntraced(function* (
      sender: Sender,
      request: SendRequest,
      facts: AcceptanceFacts,
      now: number,
      idempotency: IdempotencyClaim | null,
    ) {
      const context = yield* contextOf(sender, request, now, idempotency)
      return yield* Effect.fromResult(decideAcceptance(request, facts, context))
    }),
    /**
     * As `decide`, of a request that was refused because its number has no room: what it would have
     * come to, taking nothing.
     */
    decideRefused: Effect.fnUntraced(function* (
      sender: Sender,
      request: SendRequest,
      facts: AcceptanceFacts,
      now: number,
    ) {
      const context = yield* contextOf(sender, request, now, null)
      return yield* Effect.fromResult(decideRefused(request, facts, context))
    }),
    /** Wakes the loops that have work from a committed acceptance. */
    wake: Effect.fnUntraced(function* ({ messages, mode }: Acceptance) {
      yield* wakeUp.wake(mode === "test" ? "test_messages" : "lanes")
      if (messages[0]?.expiresAt != null) yield* wakeUp.wake("expiry")
    }),
  }
})

const acceptanceQuery = (
  { mode, workspaceId }: Sender,
  request: SendRequest,
  now: number,
  idempotency: IdempotencyClaim | null,
): AcceptanceQuery => {
  const phones = new Set<Phone>()
  const contactIds = new Set<ContactId>()
  for (const to of request.recipients) {
    if (to.kind === "phone") phones.add(to.phone)
    if (to.kind === "contact") contactIds.add(to.contactId)
  }
  return {
    workspaceId,
    mode,
    now,
    from: request.from,
    phones: [...phones],
    contactIds: [...contactIds],
    mediaId: request.media?.mediaId ?? null,
    exactQuota: null,
    idempotency,
  }
}
