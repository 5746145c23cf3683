/**
 * One attempt to deliver an event to a webhook endpoint: a signed call, and what its outcome means
 * (contract: Events; decisions: Webhooks).
 */
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { Context, Effect, Layer, Result } from "effect"
import { Egress, OutboundRule } from "../egress/Egress.ts"
import type { EgressError, PostAnswer, PostLimits } from "../egress/Egress.ts"
import { Ids } from "../id/Ids.ts"
import type { ClaimedDelivery, DeliveryResult } from "../queue/DeliveryQueue.ts"
import { nextAttemptAt, parseRetryAfter, silenceMillis } from "./retrySchedule.ts"
import { SigningSecrets } from "./SigningSecrets.ts"
import { signature, webhookUserAgent } from "./signature.ts"
import type { DeliveryError } from "./WebhookEndpoint.ts"

/** Delivered means a 2xx within 15 s, 5 s of them to connect. */
const limits: PostLimits = {
  maximumBytes: 16 * 1024,
  timeoutMillis: 15_000,
  connectTimeoutMillis: 5000,
}

/** What becomes of a call: an answer, or why there was none. */
export type CallOutcome = Result.Result<PostAnswer, EgressError["reason"]>

const isDelivered = (status: number): boolean => status >= 200 && status < 300

/** The names of `last_delivery.error` are fewer than those of an outgoing call. */
const errorOf = (outcome: CallOutcome): DeliveryError | null => {
  if (Result.isSuccess(outcome)) return isDelivered(outcome.success.status) ? null : "http_status"
  const reason = outcome.failure
  return reason === "redirects" || reason === "too_large" ? "connection" : reason
}

/** What a call's outcome means for its delivery. `chance`: in [0, 1). Pure. */
export const judgeCall = (
  claimed: Pick<ClaimedDelivery, "id" | "endpointId" | "lease" | "attempt">,
  outcome: CallOutcome,
  time: { readonly startedAt: number; readonly endedAt: number; readonly chance: number },
): DeliveryResult => {
  const { startedAt, endedAt, chance } = time
  const error = errorOf(outcome)
  const answer = Result.isSuccess(outcome) ? outcome.success : null
  const next =
    error === null
      ? null
      : nextAttemptAt({
          attempt: claimed.attempt,
          failedAt: endedAt,
          retryAfterMillis: parseRetryAfter(answer?.headers["retry-after"], endedAt),
          chance,
        })
  return {
    id: claimed.id,
    endpointId: claimed.endpointId,
    lease: claimed.lease,
    attemptedAt: startedAt,
    durationMillis: endedAt - startedAt,
    responseStatus: answer?.status ?? null,
    error,
    nextAttemptAt: next,
    stopUnlessDeliveredSince: error !== null && next === null ? endedAt - silenceMillis : null,
  }
}

const chanceOf = (ids: typeof Ids.Service): number => Number.parseInt(ids.hex(8), 16) / 2 ** 32

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
      const ids = yield* Ids
      const egress = yield* Egress
      const secrets = yield* SigningSecrets
      const { allowPrivate } = yield* OutboundRule

      const call = (claimed: ClaimedDelivery, startedAt: number): Effect.Effect<CallOutcome> => {
        const body = utf8ToBytes(claimed.body)
        const timestamp = Math.floor(startedAt / 1000)
        return egress
          .post(
            claimed.url,
            {
              headers: {
                "content-type": "application/json",
                "user-agent": webhookUserAgent,
                "service-event-id": claimed.eventId,
                "service-timestamp": String(timestamp),
                "service-signature": signature(secrets.of(claimed.secretSalt), timestamp, body),
              },
              body,
              allowHttp: allowPrivate,
            },
            limits,
          )
          .pipe(
            Effect.mapError(({ reason }) => reason),
            Effect.result,
            // A bug in the adapter: nothing is known but that there was no answer.
            Effect.catchDefect((defect) =>
              Effect.as(
                Effect.logError("a webhook call broke off", defect),
                Result.fail("connection" as const),
              ),
            ),
          )
      }

      return WebhookCall.of({
        make: (claimed) =>
          Effect.clockWith((clock) => {
            const startedAt = clock.currentTimeMillisUnsafe()
            return Effect.map(call(claimed, startedAt), (outcome) =>
              judgeCall(claimed, outcome, {
                startedAt,
                endedAt: clock.currentTimeMillisUnsafe(),
                chance: chanceOf(ids),
              }),
            )
          }),
      })
    }),
  )
}
