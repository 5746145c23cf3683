/**
 * The delivery loop: the calls that are due of webhook endpoints and of the receivers of callbacks. One
 * whose outcome was not recorded is made again when its lease runs out: at least once.
 */
import { Effect, Result } from "effect"
import type { Cause } from "effect"
import { callbackSalt } from "../callback/CallbackSettings.ts"
import { Egress, OutboundRule } from "../egress/Egress.ts"
import type { EgressError, PostAnswer, PostLimits } from "../egress/Egress.ts"
import { callbackContentType } from "../event/MessageChange.ts"
import { Ids } from "../Ids.ts"
import type { EventId, WebhookId, WorkspaceId } from "../Ids.ts"
import { sharedLimits } from "../limit/Bulkhead.ts"
import type { Capacity } from "../limit/Bulkhead.ts"
import { logThrottled } from "../monitoring/logThrottled.ts"
import {
  endpointLimit,
  HmacSha256,
  signature,
  SigningSecrets,
  silenceMillis,
  webhookUserAgent,
} from "../webhook/WebhookEndpoint.ts"
import type { DeliveryError } from "../webhook/WebhookEndpoint.ts"
import { DeliveryQueue, WebhookStore } from "../webhook/WebhookStore.ts"
import type {
  ClaimedDelivery,
  DeliveryQuery,
  DeliveryResult,
  TargetKind,
} from "../webhook/WebhookStore.ts"
import { makeLeasedLoop } from "./LeaseLoop.ts"
import type { LeaseQuery } from "./LeaseLoop.ts"

// One attempt to deliver: a signed call, what its outcome means, and when it is tried again (contract:
// Signatures, Events, Deliveries, Version 1: callbacks). Webhook endpoints and callbacks are called alike; they differ in
// what stands at the end of this file, and in nothing else that a call is made of.

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/**
 * The delays after each failed attempt to deliver to a webhook endpoint: nine attempts in 23 hours
 * (contract: Deliveries).
 */
export const retryDelaysMillis: ReadonlyArray<number> = [
  5 * second,
  55 * second,
  4 * minute,
  25 * minute,
  90 * minute,
  4 * hour,
  7 * hour,
  10 * hour,
]

/** The delays after each failed callback: four attempts in five minutes (contract: Version 1: callbacks). */
const callbackDelaysMillis: ReadonlyArray<number> = [10 * second, minute, 4 * minute]

/**
 * By what part of it chance may lengthen a delay, so that calls that failed together are not repeated
 * together.
 */
const jitterShare = 0.05

interface FailedAttempt {
  /** From 1. */
  readonly attempt: number
  readonly failedAt: number
  /** The wait that the receiver asked for, in milliseconds. */
  readonly retryAfterMillis: number | null
  /** Chance, in [0, 1). */
  readonly chance: number
}

/**
 * When the next attempt is due, by the delays after each failed one; null when all are used up. What
 * the receiver asks for can only lengthen a delay, at most to twice its length.
 */
export const nextAttemptAt = (
  { attempt, failedAt, retryAfterMillis, chance }: FailedAttempt,
  delaysMillis: ReadonlyArray<number>,
): number | null => {
  const delay = delaysMillis[attempt - 1]
  if (delay === undefined) return null
  const usual = Math.round(delay * (1 + jitterShare * chance))
  const asked = Math.min(retryAfterMillis ?? 0, 2 * delay)
  return failedAt + Math.max(usual, asked)
}

/**
 * The wait in milliseconds that a `Retry-After` asks for at `now`: seconds or an HTTP date; null for
 * anything else, and for a date that is past.
 */
export const parseRetryAfter = (value: string | undefined, now: number): number | null => {
  const text = value?.trim() ?? ""
  if (/^\d{1,12}$/.test(text)) return Number(text) * second
  const date = httpDate.test(text) ? Date.parse(text) : Number.NaN
  return date > now ? date - now : null
}

/** The forms of a date with a named zone (RFC 9110); `Date.parse` alone would read far more. */
const httpDate = /^[A-Z][a-z]+, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/

/** Delivered means a 2xx within 15 s, 5 s of them to connect. */
const limits: PostLimits = {
  maximumBytes: 16 * 1024,
  timeoutMillis: 15_000,
  connectTimeoutMillis: 5000,
}

interface SignedRequest {
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
interface MadeCall {
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
const errorOf = (outcome: CallOutcome): DeliveryError | null => {
  if (Result.isSuccess(outcome)) return isDelivered(outcome.success.status) ? null : "http_status"
  const reason = outcome.failure
  return reason === "redirects" || reason === "too_large" ? "connection" : reason
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
const signedCaller = Effect.gen(function* signedCaller() {
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
  const answer = Result.isSuccess(outcome) ? outcome.success : null
  const retryAfterMillis = parseRetryAfter(answer?.headers["retry-after"], endedAt)
  const failed = { attempt, failedAt: endedAt, retryAfterMillis, chance: call.chance }
  const next = error === null ? null : nextAttemptAt(failed, delaysMillis[kind])
  const isUsedUp = error !== null && next === null
  return {
    id,
    kind,
    targetId,
    lease,
    attemptedAt: startedAt,
    durationMillis: endedAt - startedAt,
    responseStatus: answer?.status ?? null,
    error,
    nextAttemptAt: next,
    stopUnlessDeliveredSince: isUsedUp && stops[kind] ? endedAt - silenceMillis : null,
  }
}

/** Makes the attempts that are claimed; how to settle each. Never fails. */
export const makeDeliveryCall = Effect.gen(function* makeDeliveryCall() {
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

  return (claimed: ClaimedDelivery): Effect.Effect<DeliveryResult> => {
    const { body, eventId, url, workspaceId } = claimed
    return Effect.map(call({ workspaceId, url, eventId, body, ...ofKind(claimed) }), (made) =>
      judgeCall(claimed, made),
    )
  }
})

// What an operator reads in the log of webhook endpoints: one that begins to fail, one that recovers, and
// one that the service has stopped. As this process sees it: each worker knows its own attempts.

/** Failing endpoints that are known at a time. With more, all are said to fail once more. */
const mostFailing = 10_000

interface EndpointWatch {
  /** Remembers whose endpoint it is where an attempt has failed. */
  performed(claimed: ClaimedDelivery, result: DeliveryResult): void
  /** Says what these attempts changed, once they are recorded. */
  recorded(results: ReadonlyArray<DeliveryResult>): Effect.Effect<void>
}

const makeEndpointWatch: Effect.Effect<EndpointWatch, never, WebhookStore> = Effect.gen(
  function* makeEndpointWatch() {
    const store = yield* WebhookStore
    /** Endpoints whose latest attempt failed, and whether that was said. */
    const failing = new Map<number, { readonly workspaceId: WorkspaceId; isSaid: boolean }>()

    /** An event is out of attempts; whether the endpoint stopped for it is the store's to say. */
    const logIfStopped = Effect.fnUntraced(
      function* logIfStopped(endpoint: number, workspaceId: WorkspaceId) {
        const found = yield* store.get({ workspaceId, mode: null }, endpoint as WebhookId)
        if (found === null || found.disabledReason !== "delivery_failures") return
        failing.delete(endpoint)
        yield* logThrottled("webhook endpoint stopped", {
          endpoint,
          reason: found.disabledReason,
        })
      },
      // What is asked for the log alone is not asked again.
      (logged) => Effect.ignore(logged),
    )

    const logResult = (result: DeliveryResult): Effect.Effect<void> => {
      const { error, kind, responseStatus, stopUnlessDeliveredSince, targetId } = result
      if (kind !== "webhook") return Effect.void
      const known = failing.get(targetId)
      if (known === undefined) return Effect.void
      if (error === null) {
        failing.delete(targetId)
        return known.isSaid
          ? logThrottled("webhook endpoint recovered", { endpoint: targetId })
          : Effect.void
      }
      const isNew = !known.isSaid
      known.isSaid = true
      const fails = isNew
        ? logThrottled("webhook endpoint fails", {
            endpoint: targetId,
            error,
            status: responseStatus,
          })
        : Effect.void
      return stopUnlessDeliveredSince === null
        ? fails
        : Effect.andThen(fails, logIfStopped(targetId, known.workspaceId))
    }

    return {
      performed: ({ workspaceId }, { error, kind, targetId }) => {
        if (kind !== "webhook" || error === null || failing.has(targetId)) return
        if (failing.size >= mostFailing) failing.clear()
        failing.set(targetId, { workspaceId, isSaid: false })
      },
      recorded: (results) =>
        Effect.suspend(() => {
          let logs: Effect.Effect<void> = Effect.void
          if (failing.size === 0) return logs
          for (const result of results) {
            const log = logResult(result)
            if (log !== Effect.void) logs = Effect.andThen(logs, log)
          }
          return logs
        }),
    }
  },
)

/** How long a call stays claimed, in service time: what it may take, and some to record it. */
export const deliveryLeaseMillis = 20_000

/**
 * Deliveries that one claim takes: all that a hundred receivers may get at once. That many cost little
 * more than one.
 */
const batch = 512

/** Calls at once to one target (contract: Deliveries). */
export const callsPerTarget = 5

const { callbackCalls, receiverCalls } = sharedLimits

/** Calls at once of webhook endpoints: a workspace has few of them, and claims need not count. */
const endpointCalls: Capacity = {
  whole: receiverCalls.whole,
  share: { most: endpointLimit * callsPerTarget },
}

/** A workspace's callbacks may lead anywhere, so that claims keep to its share of them. */
const queryOf = ({ held, limitShared, perWorkspace, ...query }: LeaseQuery): DeliveryQuery => ({
  ...query,
  perTarget: callsPerTarget,
  callbacks: { limit: limitShared, perWorkspace, held },
})

/** Makes the loop. */
export const makeDeliverer = Effect.gen(function* makeDeliverer() {
  const queue = yield* DeliveryQueue
  const call = yield* makeDeliveryCall
  const watch = yield* makeEndpointWatch
  const perform = (claimed: ClaimedDelivery): Effect.Effect<DeliveryResult> =>
    Effect.map(call(claimed), (result) => {
      watch.performed(claimed, result)
      return result
    })
  return yield* makeLeasedLoop<ClaimedDelivery, DeliveryResult>({
    work: "deliveries",
    capacity: callbackCalls,
    capacityOf: ({ kind }) => (kind === "callback" ? callbackCalls : endpointCalls),
    whole: receiverCalls.whole,
    batch,
    leaseMillis: deliveryLeaseMillis,
    workspaceOf: ({ workspaceId }) => workspaceId,
    claim: (query) => queue.claim(queryOf(query)),
    perform,
    settle: (results) => Effect.tap(queue.settle(results), watch.recorded(results)),
    refill: {
      settleAndClaim: (results, query) =>
        Effect.tap(queue.settleAndClaim(results, queryOf(query)), watch.recorded(results)),
      isPutOff: (result) => result.nextAttemptAt !== null,
    },
  })
})
