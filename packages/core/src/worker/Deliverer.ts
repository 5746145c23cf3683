/**
 * The delivery loop: makes the due calls to webhook endpoints and callback receivers. At least
 * once: a call with no recorded outcome is repeated when its lease ends.
 */
import { Effect, Result } from "effect"
import type { Cause } from "effect"
import { callbackSalt } from "../service/CallbackSettings.ts"
import { Egress, OutboundRule } from "../model/Egress.ts"
import type { EgressError, PostAnswer, PostLimits } from "../model/Egress.ts"
import { callbackContentType } from "../model/MessageChange.ts"
import { Ids } from "../model/Ids.ts"
import type { EventId, WebhookId, WorkspaceId } from "../model/Ids.ts"
import { sharedLimits } from "../model/Bulkhead.ts"
import type { Capacity } from "../model/Bulkhead.ts"
import { logThrottled } from "../service/logThrottled.ts"
import {
  endpointLimit,
  HmacSha256,
  signature,
  SigningSecrets,
  silenceMillis,
  webhookUserAgent,
} from "../model/WebhookEndpoint.ts"
import type { DeliveryError } from "../model/WebhookEndpoint.ts"
import type {
  ClaimedDelivery,
  DeliveryQuery,
  DeliveryResult,
  TargetKind,
} from "../store/WebhookStore.ts"
import { makeLeasedLoop } from "./LeaseLoop.ts"
import type { LeaseQuery } from "./LeaseLoop.ts"
import { Store } from "../store/Store.ts"

// One delivery attempt: a signed call, its meaning and the next attempt (contract: Signatures,
// Events, Deliveries, Version 1: callbacks).

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** Delays after each failed webhook attempt: nine attempts in 23 hours (contract: Deliveries). */
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

/**
 * Delays after each failed callback: four attempts in five minutes (contract: Version 1:
 * callbacks).
 */
const callbackDelaysMillis: ReadonlyArray<number> = [10 * second, minute, 4 * minute]

/** The largest random extension of a delay, so that calls that failed together spread out. */
const jitterShare = 0.05

interface FailedAttempt {
  /** From 1. */
  readonly attempt: number
  readonly failedAt: number
  /** The receiver's `Retry-After`, in milliseconds. */
  readonly retryAfterMillis: number | null
  /** Random, in [0, 1). */
  readonly chance: number
}

/**
 * When the next attempt is due; null when all are used up. `Retry-After` can only lengthen a delay,
 * at most to twice its length.
 */
export const nextAttemptAt = (
  { attempt, failedAt, retryAfterMillis, chance }: FailedAttempt,
  delaysMillis: ReadonlyArray<number>,
): number | null => {
  const delay = delaysMillis[attempt - 1]
  if (delay === undefined) return null
  const usual = Math.round(delay * (1 + jitterShare * chance))
  const requestedDelay = Math.min(retryAfterMillis ?? 0, 2 * delay)
  return failedAt + Math.max(usual, requestedDelay)
}

/**
 * The wait of a `Retry-After` at `now`, in milliseconds: seconds or an HTTP date. Null for anything
 * else and for past dates.
 */
export const parseRetryAfter = (value: string | undefined, now: number): number | null => {
  const text = value?.trim() ?? ""
  if (/^\d{1,12}$/.test(text)) return Number(text) * second
  const date = httpDate.test(text) ? Date.parse(text) : Number.NaN
  return date > now ? date - now : null
}

/** HTTP dates (RFC 9110); `Date.parse` alone accepts far more. */
const httpDate = /^[A-Z][a-z]+, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/

/** Delivered means a 2xx within 15 s, 5 s of them to connect. */
const callbackLimits: PostLimits = {
  maximumBytes: 16 * 1024,
  timeoutMillis: 15_000,
  connectTimeoutMillis: 5000,
}

/** How much of an endpoint's answer the log keeps, in bytes. */
const loggedBytes = 1024

const webhookLimits: PostLimits = { ...callbackLimits, storedBytes: loggedBytes }

/** The beginning of an answer as the log keeps it; null when it is not text. */
const loggedText = (beginning: Uint8Array | undefined): string | null => {
  if (beginning === undefined) return null
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
  // The cut may divide a character; a stream waits for its other bytes.
  const stream = beginning.length >= loggedBytes
  const decoded = Result.try(() => decoder.decode(beginning, { stream }))
  // PostgreSQL stores no U+0000.
  return Result.isSuccess(decoded) ? decoded.success.replaceAll("\0", "\uFFFD") : null
}

interface SignedRequest {
  readonly workspaceId: WorkspaceId
  readonly url: string
  readonly eventId: EventId
  readonly contentType: string
  /** Identical in every attempt. */
  readonly body: string
  /** 64 hexadecimal characters. */
  readonly secret: string
  readonly allowHttp: boolean
  readonly limits: PostLimits
}

/** The answer, or why there was none. */
export type CallOutcome = Result.Result<PostAnswer, EgressError["reason"]>

/** Times in epoch milliseconds. */
interface MadeCall {
  readonly outcome: CallOutcome
  readonly startedAt: number
  readonly endedAt: number
  /** Jitter of the next attempt, in [0, 1); 0 when delivered. */
  readonly chance: number
}

const isDelivered = (status: number): boolean => status >= 200 && status < 300

/** Null when delivered. `last_delivery.error` has fewer names than an outgoing call. */
const findError = (outcome: CallOutcome): DeliveryError | null => {
  if (Result.isSuccess(outcome)) return isDelivered(outcome.success.status) ? null : "http_status"
  const reason = outcome.failure
  return reason === "redirects" || reason === "too_large" || reason === "coding"
    ? "connection"
    : reason
}

const drawChance = (ids: typeof Ids.Service): number => Number.parseInt(ids.hex(8), 16) / 2 ** 32

const failedOutcome = (cause: Cause.Cause<EgressError>): Effect.Effect<CallOutcome> =>
  Effect.failCause(cause).pipe(
    Effect.mapError(({ reason }) => reason),
    Effect.result,
    // An adapter's bug: only the missing answer is known.
    Effect.catchDefect((defect) =>
      Effect.as(
        Effect.logError("a signed call broke off", defect),
        Result.fail("connection" as const),
      ),
    ),
  )

/** Makes calls that never fail. Few steps each: there are thousands a second. */
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
      request.limits,
    )
  }

  return (request: SignedRequest): Effect.Effect<MadeCall> =>
    Effect.clockWith((clock) => {
      const startedAt = clock.currentTimeMillisUnsafe()
      const toCall = (outcome: CallOutcome): MadeCall => ({
        outcome,
        startedAt,
        endedAt: clock.currentTimeMillisUnsafe(),
        chance: findError(outcome) === null ? 0 : drawChance(ids),
      })
      return Effect.matchCauseEffect(post(request, startedAt), {
        onSuccess: (answer) => Effect.succeed(toCall(Result.succeed(answer))),
        onFailure: (cause) => Effect.map(failedOutcome(cause), toCall),
      })
    })
})

const delaysMillis: Readonly<Record<TargetKind, ReadonlyArray<number>>> = {
  webhook: retryDelaysMillis,
  callback: callbackDelaysMillis,
}

/** Callback targets are never stopped. */
const stops: Readonly<Record<TargetKind, boolean>> = { webhook: true, callback: false }

/** What a call's outcome means for its delivery. Pure. */
export const judgeCall = (
  claimed: Pick<ClaimedDelivery, "id" | "kind" | "targetId" | "lease" | "attempt">,
  call: MadeCall,
): DeliveryResult => {
  const { endedAt, outcome, startedAt } = call
  const { attempt, id, kind, lease, targetId } = claimed
  const error = findError(outcome)
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
    responseBody: loggedText(answer?.beginning),
    error,
    nextAttemptAt: next,
    stopUnlessDeliveredSince: isUsedUp && stops[kind] ? endedAt - silenceMillis : null,
  }
}

/** Performs claimed attempts and returns their settlements. Never fails. */
export const makeDeliveryCall = Effect.gen(function* makeDeliveryCall() {
  const call = yield* signedCaller
  const secrets = yield* SigningSecrets
  const { allowPrivate } = yield* OutboundRule

  /** Settings by the kind of target. */
  const ofKind = ({ kind, secretSalt, workspaceId }: ClaimedDelivery) =>
    kind === "webhook"
      ? {
          contentType: "application/json",
          secret: secrets.webhooks.of(secretSalt ?? ""),
          allowHttp: allowPrivate,
          limits: webhookLimits,
        }
      : {
          contentType: callbackContentType,
          secret: secrets.callbacks.of(callbackSalt(workspaceId, secretSalt)),
          allowHttp: true,
          limits: callbackLimits,
        }

  return (claimed: ClaimedDelivery): Effect.Effect<DeliveryResult> => {
    const { body, eventId, url, workspaceId } = claimed
    return Effect.map(call({ workspaceId, url, eventId, body, ...ofKind(claimed) }), (finished) =>
      judgeCall(claimed, finished),
    )
  }
})

// The operator's log of webhook endpoints: first failure, recovery, stop. Each process logs the
// attempts it made.

/** Failing endpoints to remember; beyond that, failures are logged again. */
const maxFailing = 10_000

interface EndpointWatch {
  /** Remembers the workspace of a failed attempt's endpoint. */
  performed(claimed: ClaimedDelivery, result: DeliveryResult): void
  /** Logs what these attempts changed, once recorded. */
  recorded(results: ReadonlyArray<DeliveryResult>): Effect.Effect<void>
}

const makeEndpointWatch: Effect.Effect<EndpointWatch, never, Store> = Effect.gen(
  function* makeEndpointWatch() {
    const store = (yield* Store).webhooks
    /** Endpoints with a failed latest attempt, and whether it was logged. */
    const failing = new Map<number, { readonly workspaceId: WorkspaceId; isSaid: boolean }>()

    /** An event has used up its attempts; the store knows whether the endpoint stopped. */
    const logIfStopped = Effect.fnUntraced(
      function* logIfStopped(endpoint: number, workspaceId: WorkspaceId) {
        const found = yield* store.get({ workspaceId, mode: null }, endpoint as WebhookId)
        if (found === null || found.disabledReason !== "delivery_failures") return
        failing.delete(endpoint)
        const stopped = { endpoint, reason: found.disabledReason }
        yield* logThrottled("webhook endpoint stopped", stopped, "Warn")
      },
      // A log line is not worth a retry.
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
        if (failing.size >= maxFailing) failing.clear()
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

/** How long a call stays claimed, in service time: its time limit and some to record it. */
export const deliveryLeaseMillis = 20_000

/** Deliveries of one claim: enough for a hundred receivers, at little more than the cost of one. */
const batch = 512

/** Concurrent calls to one target (contract: Deliveries). */
export const callsPerTarget = 5

const { callbackCalls, receiverCalls } = sharedLimits

/** Concurrent calls to webhook endpoints. A workspace has few, so claims need no share. */
const endpointCalls: Capacity = {
  whole: receiverCalls.whole,
  share: { most: endpointLimit * callsPerTarget },
}

/** Callbacks may go anywhere, so claims keep to the workspace's share. */
const toQuery = ({ held, limitShared, perWorkspace, ...query }: LeaseQuery): DeliveryQuery => ({
  ...query,
  perTarget: callsPerTarget,
  callbacks: { limit: limitShared, perWorkspace, held },
})

export const makeDeliverer = Effect.gen(function* makeDeliverer() {
  const queue = (yield* Store).webhooks
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
    toCapacity: ({ kind }) => (kind === "callback" ? callbackCalls : endpointCalls),
    whole: receiverCalls.whole,
    batch,
    leaseMillis: deliveryLeaseMillis,
    toWorkspaceId: ({ workspaceId }) => workspaceId,
    claim: (query) => queue.claimDeliveries(toQuery(query)),
    perform,
    settle: (results) => Effect.tap(queue.settleDeliveries(results), watch.recorded(results)),
    refill: {
      settleAndClaim: (results, query) =>
        Effect.tap(
          queue.settleAndClaimDeliveries(results, toQuery(query)),
          watch.recorded(results),
        ),
      isPutOff: (result) => result.nextAttemptAt !== null,
    },
  })
})
