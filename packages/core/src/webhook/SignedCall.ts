/**
 * One signed call to a receiver of events, whatever kind they are of: webhook endpoints and version
 * 1 callbacks are called alike (contract: Signatures, Deliveries, Version 1: callbacks).
 */
import { Effect, Result } from "effect"
import type { Cause } from "effect"
import { Egress } from "../egress/Egress.ts"
import type { EgressError, PostAnswer, PostLimits } from "../egress/Egress.ts"
import { Ids } from "../id/Ids.ts"
import type { EventId, WorkspaceId } from "../id/Ids.ts"
import { nextAttemptAt, parseRetryAfter } from "./retrySchedule.ts"
import { HmacSha256, signature, webhookUserAgent } from "./signature.ts"
import type { DeliveryError } from "./WebhookEndpoint.ts"

/** Delivered means a 2xx within 15 s, 5 s of them to connect. */
const limits: PostLimits = {
  maximumBytes: 16 * 1024,
  timeoutMillis: 15_000,
  connectTimeoutMillis: 5000,
}

export interface SignedRequest {
  readonly workspaceId: WorkspaceId
  readonly url: string
  readonly eventId: EventId
  readonly contentType: string
  /** As every attempt sends it. */
  readonly body: string
  /** 64 hexadecimal characters. */
  readonly secret: string
  /** Whether plain `http` will do. */
  readonly allowHttp: boolean
}

/** What becomes of a call: an answer, or why there was none. */
export type CallOutcome = Result.Result<PostAnswer, EgressError["reason"]>

/** A call that was made; times in epoch milliseconds. */
export interface MadeCall {
  readonly outcome: CallOutcome
  readonly startedAt: number
  readonly endedAt: number
  /** Drawn for its next attempt, in [0, 1); 0 when it was delivered. */
  readonly chance: number
}

const isDelivered = (status: number): boolean => status >= 200 && status < 300

/**
 * Null when it was delivered. The names of `last_delivery.error` are fewer than those of an outgoing
 * call.
 */
export const errorOf = (outcome: CallOutcome): DeliveryError | null => {
  if (Result.isSuccess(outcome)) return isDelivered(outcome.success.status) ? null : "http_status"
  const reason = outcome.failure
  return reason === "redirects" || reason === "too_large" ? "connection" : reason
}

/**
 * When the attempt (from 1) after which the call failed is followed by another one; null when it was
 * delivered, and when all are used up. Pure.
 */
export const nextAfter = (
  { chance, endedAt, outcome }: Pick<MadeCall, "chance" | "endedAt" | "outcome">,
  attempt: number,
  delaysMillis: ReadonlyArray<number>,
): number | null => {
  if (errorOf(outcome) === null) return null
  const answer = Result.isSuccess(outcome) ? outcome.success : null
  const retryAfterMillis = parseRetryAfter(answer?.headers["retry-after"], endedAt)
  return nextAttemptAt({ attempt, failedAt: endedAt, retryAfterMillis, chance }, delaysMillis)
}

const chanceOf = (ids: typeof Ids.Service): number => Number.parseInt(ids.hex(8), 16) / 2 ** 32

const failedOutcome = (cause: Cause.Cause<EgressError>): Effect.Effect<CallOutcome> =>
  Effect.failCause(cause).pipe(
    Effect.mapError(({ reason }) => reason),
    Effect.result,
    // A bug in the adapter: nothing is known but that there was no answer.
    Effect.catchDefect((defect) =>
      Effect.as(
        Effect.logError("a signed call broke off", defect),
        Result.fail("connection" as const),
      ),
    ),
  )

/** Makes calls, which never fail. One that is answered takes few steps: there are thousands a second. */
export const signedCaller = Effect.gen(function* () {
  const ids = yield* Ids
  const egress = yield* Egress
  const hmacSha256 = yield* HmacSha256

  const post = (request: SignedRequest, startedAt: number) => {
    const timestamp = Math.floor(startedAt / 1000)
    return egress.post(
      request.url,
      {
        headers: {
          "content-type": request.contentType,
          "user-agent": webhookUserAgent,
          "service-event-id": request.eventId,
          "service-timestamp": String(timestamp),
          "service-signature": signature(hmacSha256, request.secret, timestamp, request.body),
        },
        body: request.body,
        allowHttp: request.allowHttp,
        workspaceId: request.workspaceId,
      },
      limits,
    )
  }

  return (request: SignedRequest): Effect.Effect<MadeCall> =>
    Effect.clockWith((clock) => {
      const startedAt = clock.currentTimeMillisUnsafe()
      const made = (outcome: CallOutcome): MadeCall => ({
        outcome,
        startedAt,
        endedAt: clock.currentTimeMillisUnsafe(),
        // What was delivered has no next attempt.
        chance: errorOf(outcome) === null ? 0 : chanceOf(ids),
      })
      return Effect.matchCauseEffect(post(request, startedAt), {
        onSuccess: (answer) => Effect.succeed(made(Result.succeed(answer))),
        onFailure: (cause) => Effect.map(failedOutcome(cause), made),
      })
    })
})
