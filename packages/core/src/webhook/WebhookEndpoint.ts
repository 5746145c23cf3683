/**
 * A webhook endpoint: an address of the customer's that is told of events, and what became of the attempts
 * to tell it (contract: Webhook endpoints, Deliveries). Without schemas, which stores do not need.
 */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { Context, Effect, Layer, Result, Schema } from "effect"
import { outboundUrlMessage, parseOutboundUrl } from "../egress/Egress.ts"
import type { OutboundRule } from "../egress/Egress.ts"
import { problem } from "../error/Refusal.ts"
import type { Problem, Refusal } from "../error/Refusal.ts"
import { Ids } from "../Ids.ts"
import type { EventId, KeyId, WebhookId, WorkspaceId } from "../Ids.ts"
import { memoize } from "../limit/Bulkhead.ts"
import type { MessageEvent, MessageEventType } from "../message/Message.ts"
import { codePointLength, described, inputDecoder, textBetween } from "../request/Input.ts"
import { Secrets } from "../secret/Secrets.ts"
import type { Mode } from "../workspace/Workspace.ts"

/**
 * Running endpoints that a workspace may hold, in both modes together (contract: Webhook
 * endpoints).
 */
export const endpointLimit = 5

/** The events an endpoint can subscribe to, in the order of answers (contract: Webhook endpoints). */
export const webhookEventTypes = [
  "message.sent",
  "message.failed",
  "message.cancelled",
  "message.expired",
] as const satisfies ReadonlyArray<MessageEventType>

/** `ping` reaches the endpoint that was asked to be tested, whatever it subscribed to. */
export type WebhookEventType = MessageEventType | "ping"

export const disabledReasons = ["delivery_failures", "key_revoked"] as const

/** Why an endpoint stopped. */
export type DisabledReason = (typeof disabledReasons)[number]

export const deliveryErrors = [
  "timeout",
  "dns",
  "tls",
  "connection",
  "blocked_address",
  "http_status",
] as const

/** Why an attempt failed (contract: Webhook endpoints). */
export type DeliveryError = (typeof deliveryErrors)[number]

/** One attempt that was made, as the delivery log keeps it. */
export interface DeliveryAttempt<Type extends string = WebhookEventType> {
  readonly id: number
  readonly eventId: EventId
  readonly type: Type
  /** From 1; anew for each redelivery. */
  readonly attempt: number
  readonly attemptedAt: number
  /** Null when there was no answer. */
  readonly responseStatus: number | null
  /** Null when it was delivered. */
  readonly error: DeliveryError | null
  readonly durationMillis: number
  /** When the event is tried again; null when it is not. */
  readonly nextAttemptAt: number | null
}

/**
 * Whether an event is delivered to an endpoint that is not removed: it runs in the event's workspace
 * and mode and subscribed to the event's type (contract: Webhook endpoints).
 */
export const isToldOf = (
  endpoint: Pick<WebhookEndpoint, "workspaceId" | "mode" | "events" | "disabledReason">,
  event: Pick<MessageEvent, "workspaceId" | "mode" | "type">,
): boolean =>
  endpoint.disabledReason === null &&
  endpoint.workspaceId === event.workspaceId &&
  endpoint.mode === event.mode &&
  endpoint.events.includes(event.type)

/** An endpoint, and whether it was removed. */
interface EndpointStanding {
  readonly endpoint: Pick<WebhookEndpoint, "disabledReason">
  readonly removed: boolean
}

/** Whether an endpoint runs: it was neither stopped nor removed. */
export const isRunning = ({ endpoint, removed }: EndpointStanding): boolean =>
  !removed && endpoint.disabledReason === null

/** Whether as many endpoints of a workspace run as may: those that are stopped or removed do not count. */
export const holdsAllEndpoints = (
  endpoints: ReadonlyArray<EndpointStanding>,
  limit: number,
): boolean => endpoints.filter(isRunning).length >= limit

/**
 * Whether an event can be delivered to an endpoint once more: it is of its workspace and mode and of a
 * type that the endpoint has now, and happened since the endpoint was made, the time that it was
 * stopped included (contract: Deliveries). A ping goes to its own endpoint alone, without this rule.
 */
export const canBeRedelivered = (
  event: Pick<MessageEvent, "workspaceId" | "mode" | "type" | "createdAt">,
  endpoint: Pick<WebhookEndpoint, "workspaceId" | "mode" | "events" | "createdAt">,
): boolean =>
  event.workspaceId === endpoint.workspaceId &&
  event.mode === endpoint.mode &&
  endpoint.events.includes(event.type) &&
  event.createdAt >= endpoint.createdAt

/** An endpoint to which nothing was delivered for this long stops. */
export const silenceMillis = 120 * 60 * 60 * 1000

/**
 * When something was last delivered to an endpoint, by these attempts too; `deliveredSince` is that
 * moment before them, or when the endpoint was made or resumed if that was later.
 */
export const deliveredSinceAfter = (
  deliveredSince: number,
  attempts: ReadonlyArray<Pick<DeliveryAttempt, "attemptedAt" | "error">>,
): number =>
  attempts.reduce(
    (latest, { attemptedAt, error }) => (error === null ? Math.max(latest, attemptedAt) : latest),
    deliveredSince,
  )

/** Whether an endpoint stops: since the moment that a used-up delivery names nothing was delivered to it. */
export const isSilent = (deliveredSince: number, stopUnlessDeliveredSince: number): boolean =>
  deliveredSince <= stopUnlessDeliveredSince

export interface WebhookEndpoint {
  readonly id: WebhookId
  readonly workspaceId: WorkspaceId
  /** It hears of events of this mode alone, and only keys of this mode see it. */
  readonly mode: Mode
  /** The key that made it, whose revocation stops it; null when a caller without one did. */
  readonly keyId: KeyId | null
  readonly url: string
  readonly description: string
  readonly events: ReadonlyArray<MessageEventType>
  /** What its secret is made from (`SigningSecrets`). */
  readonly secretSalt: string
  readonly secretLast4: string
  /** Of the secret it was made with: the answer that a repeated creation gets again. */
  readonly firstSecretLast4: string
  /** Null while it runs. */
  readonly disabledReason: DisabledReason | null
  readonly createdAt: number
  readonly lastAttempt: DeliveryAttempt | null
}

/** The endpoint as it was when it was made, whatever became of it since. */
export const endpointAsMade = (endpoint: WebhookEndpoint): WebhookEndpoint => ({
  ...endpoint,
  secretLast4: endpoint.firstSecretLast4,
  disabledReason: null,
  lastAttempt: null,
})

// What may be asked of a webhook endpoint: the body that makes one (contract: Webhook endpoints).

/** Code points. */
export const maximumWebhookUrlLength = 500

/** Members of `events`, doubles included. */
const maximumEvents = 100

/** The body of POST /webhooks. */
export const EndpointBody = Schema.Struct({
  url: described(textBetween(0, maximumWebhookUrlLength), "Public `https://` address."),
  events: described(
    Schema.optionalKey(
      Schema.Array(Schema.Literals(webhookEventTypes)).check(
        Schema.makeFilter((events) => (events.length > 0 ? undefined : "must name an event"), {
          toJsonSchema: () => ({ minItems: 1, maxItems: maximumEvents }),
        }),
      ),
    ),
    "All of them when left out.",
  ),
  description: described(Schema.optionalKey(textBetween(0, 100)), "A note."),
}).annotate({ identifier: "CreateWebhook" })

/** An endpoint to make: in the words of its body. */
export type CreateWebhook = typeof EndpointBody.Encoded

export interface EndpointRequest {
  readonly url: string
  /** As they were given, each once. */
  readonly events: ReadonlyArray<MessageEventType>
  readonly description: string
}

const urlProblems =
  ({ allowPrivate }: OutboundRule) =>
  ({ url }: Readonly<Record<string, unknown>>): ReadonlyArray<Problem> => {
    // Another type and too much of it are the schema's to report.
    if (typeof url !== "string" || codePointLength(url) > maximumWebhookUrlLength) return []
    const parsed = parseOutboundUrl(url, { allowHttp: false, allowPrivate })
    return Result.isSuccess(parsed)
      ? []
      : [problem("invalid_webhook_url", "url", outboundUrlMessage(url, parsed.failure))]
  }

/**
 * The parser under a rule for outgoing links. What is given is looked at whatever its type says.
 * Build once, use often.
 */
export const endpointRequestParser = (
  rule: OutboundRule,
): ((command: unknown) => Result.Result<EndpointRequest, Refusal>) => {
  const decode = inputDecoder(EndpointBody, {
    across: urlProblems(rule),
    lists: { events: { most: maximumEvents } },
  })
  return (command) =>
    Result.map(decode(command), ({ url, events, description }) => ({
      url,
      events: [...new Set(events ?? webhookEventTypes)],
      description: description ?? "",
    }))
}

// How a delivery proves where it comes from (contract: Signatures), and the secrets that it is signed
// with: each is made from the service's key and a salt of its own, and the salt alone is kept.

/** `User-Agent` of every delivery. */
export const webhookUserAgent = "Service-Webhooks/2"

/**
 * HMAC-SHA256 in hexadecimal; key and text count as UTF-8. There is one for each delivery, the only
 * place where the speed of a hash matters: a platform that has a faster one puts it here.
 */
export type HmacSha256 = (key: string, text: string) => string

/** A third of the work of a signature depends on the key alone. */
const keyed = /*#__PURE__*/ memoize((key) => hmac.create(sha256, utf8ToBytes(key)))

/** Runs everywhere. */
const portableHmac: HmacSha256 = (key, text) =>
  bytesToHex(keyed(key).clone().update(utf8ToBytes(text)).digest())

export const HmacSha256 = /*#__PURE__*/ Context.Reference<HmacSha256>("core/HmacSha256", {
  defaultValue: () => portableHmac,
})

/**
 * `v1=` and the hexadecimal HMAC-SHA256 of `<timestamp>.<raw body>`; the key is the secret's
 * characters as they stand. `timestamp`: Unix seconds.
 */
export const signature = (
  hmacSha256: HmacSha256,
  secret: string,
  timestamp: number,
  body: string,
): string => `v1=${hmacSha256(secret, `${timestamp}.${body}`)}`

interface SigningSecret {
  /** 64 hexadecimal characters (contract: Signatures). */
  readonly secret: string
  /** What is kept in its place. */
  readonly salt: string
}

/** The secret that a salt stands for, under the service's key. */
export const secretOfSalt = (key: string, salt: string): string =>
  bytesToHex(hmac(sha256, utf8ToBytes(key), utf8ToBytes(`signing-secret ${salt}`)))

/** The secrets of one purpose. */
export interface SaltedSecrets {
  /** A new one. */
  readonly make: Effect.Effect<SigningSecret>
  /** The secret of that salt. */
  of(salt: string): string
}

export class SigningSecrets
  extends /*#__PURE__*/ Context.Service<
    SigningSecrets,
    {
      /** Of webhook endpoints. */
      readonly webhooks: SaltedSecrets
      /** Of workspaces, for their callbacks. */
      readonly callbacks: SaltedSecrets
    }
  >()("core/SigningSecrets")
{
  static readonly layer = /*#__PURE__*/ Layer.effect(
    SigningSecrets,
    /*#__PURE__*/ Effect.gen(function* () {
      const ids = yield* Ids
      const { keys } = yield* Secrets
      const salted = (key: string): SaltedSecrets => ({
        make: Effect.sync(() => {
          const salt = ids.hex(32)
          return { salt, secret: secretOfSalt(key, salt) }
        }),
        of: memoize((salt) => secretOfSalt(key, salt)),
      })
      return SigningSecrets.of({
        webhooks: salted(keys.webhooks),
        callbacks: salted(keys.callbacks),
      })
    }),
  )
}
