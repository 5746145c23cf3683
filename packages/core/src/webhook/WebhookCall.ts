/**
 * One attempt to deliver an event to a webhook endpoint: a signed call, and what its outcome means
 * (contract: Events, Deliveries).
 */
import { Context, Effect, Layer, Result } from "effect"
import { OutboundRule } from "../egress/Egress.ts"
import type { ClaimedDelivery, DeliveryResult } from "../queue/DeliveryQueue.ts"
import { retryDelaysMillis, silenceMillis } from "./retrySchedule.ts"
import { errorOf, nextAfter, signedCaller } from "./SignedCall.ts"
import type { MadeCall } from "./SignedCall.ts"
import { SigningSecrets } from "./SigningSecrets.ts"

/** What a call's outcome means for its delivery. Pure. */
export const judgeCall = (
  claimed: Pick<ClaimedDelivery, "id" | "endpointId" | "lease" | "attempt">,
  call: MadeCall,
): DeliveryResult => {
  const { endedAt, outcome, startedAt } = call
  const error = errorOf(outcome)
  const next = nextAfter(call, claimed.attempt, retryDelaysMillis)
  return {
    id: claimed.id,
    endpointId: claimed.endpointId,
    lease: claimed.lease,
    attemptedAt: startedAt,
    durationMillis: endedAt - startedAt,
    responseStatus: Result.isSuccess(outcome) ? outcome.success.status : null,
    error,
    nextAttemptAt: next,
    stopUnlessDeliveredSince: error !== null && next === null ? endedAt - silenceMillis : null,
  }
}

export class WebhookCall extends Context.Service<
  WebhookCall,
  {
    /** Makes the attempt; how to settle it. Never fails. */
    make(claimed: ClaimedDelivery): Effect.Effect<DeliveryResult>
  }
>()("core/WebhookCall") {
  static readonly layer = Layer.effect(
    WebhookCall,
    Effect.gen(function* () {
      const call = yield* signedCaller
      const secrets = (yield* SigningSecrets).webhooks
      const { allowPrivate } = yield* OutboundRule

      return WebhookCall.of({
        make: (claimed) =>
          Effect.map(
            call({
              workspaceId: claimed.workspaceId,
              url: claimed.url,
              eventId: claimed.eventId,
              contentType: "application/json",
              body: claimed.body,
              secret: secrets.of(claimed.secretSalt),
              allowHttp: allowPrivate,
            }),
            (made) => judgeCall(claimed, made),
          ),
      })
    }),
  )
}
