/**
 * One attempt to deliver: a signed call, and what its outcome means (contract: Events, Deliveries,
 * Version 1: callbacks). Webhook endpoints and callbacks differ in what stands in this file, and in
 * nothing else that a call is made of.
 */
import { Context, Effect, Layer, Result } from "effect"
import { callbackContentType } from "../callback/Callback.ts"
import { callbackSalt } from "../callback/CallbackSecrets.ts"
import { OutboundRule } from "../egress/Egress.ts"
import type { ClaimedDelivery, DeliveryResult, TargetKind } from "../queue/DeliveryQueue.ts"
import { callbackDelaysMillis, retryDelaysMillis, silenceMillis } from "./retrySchedule.ts"
import { errorOf, nextAfter, signedCaller } from "./SignedCall.ts"
import type { MadeCall } from "./SignedCall.ts"
import { SigningSecrets } from "./SigningSecrets.ts"

const delaysMillis: Readonly<Record<TargetKind, ReadonlyArray<number>>> = {
  webhook: retryDelaysMillis,
  callback: callbackDelaysMillis,
}

/** A target of callbacks never stops. */
const stops: Readonly<Record<TargetKind, boolean>> = { webhook: true, callback: false }

/** What a call's outcome means for its delivery. Pure. */
export const judgeCall = (
  claimed: Pick<ClaimedDelivery, "id" | "kind" | "targetId" | "lease" | "attempt">,
  call: MadeCall,
): DeliveryResult => {
  const { endedAt, outcome, startedAt } = call
  const { attempt, id, kind, lease, targetId } = claimed
  const error = errorOf(outcome)
  const next = nextAfter(call, attempt, delaysMillis[kind])
  const isUsedUp = error !== null && next === null
  return {
    id,
    kind,
    targetId,
    lease,
    attemptedAt: startedAt,
    durationMillis: endedAt - startedAt,
    responseStatus: Result.isSuccess(outcome) ? outcome.success.status : null,
    error,
    nextAttemptAt: next,
    stopUnlessDeliveredSince: isUsedUp && stops[kind] ? endedAt - silenceMillis : null,
  }
}

export class DeliveryCall extends Context.Service<
  DeliveryCall,
  {
    /** Makes the attempt; how to settle it. Never fails. */
    make(claimed: ClaimedDelivery): Effect.Effect<DeliveryResult>
  }
>()("core/DeliveryCall") {
  static readonly layer = Layer.effect(
    DeliveryCall,
    Effect.gen(function* () {
      const call = yield* signedCaller
      const secrets = yield* SigningSecrets
      const { allowPrivate } = yield* OutboundRule

      /** What an attempt takes from the kind of its target. */
      const ofKind = ({ kind, secretSalt, workspaceId }: ClaimedDelivery) =>
        kind === "webhook"
          ? {
              contentType: "application/json",
              secret: secrets.webhooks.of(secretSalt ?? ""),
              allowHttp: allowPrivate,
            }
          : {
              contentType: callbackContentType,
              secret: secrets.callbacks.of(callbackSalt(workspaceId, secretSalt)),
              allowHttp: true,
            }

      return DeliveryCall.of({
        make: (claimed) =>
          Effect.map(
            call({
              workspaceId: claimed.workspaceId,
              url: claimed.url,
              eventId: claimed.eventId,
              body: claimed.body,
              ...ofKind(claimed),
            }),
            (made) => judgeCall(claimed, made),
          ),
      })
    }),
  )
}
