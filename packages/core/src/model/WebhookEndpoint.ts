/**
 * Webhook endpoints: customers' URLs that receive events, their delivery attempts, the body that
 * creates one, and signatures (contract: Webhook endpoints, Deliveries).
 */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { Context, Effect, Layer, Result, Schema } from "effect"
import { outboundUrlMessage, parseOutboundUrl } from "./Egress.ts"
import type { OutboundRule } from "./Egress.ts"
import { problem, refuse } from "./Refusal.ts"
import type { Problem, Refusal } from "./Refusal.ts"
import { eventTypes, isMessageEvent, isReceivedEvent, webhookEventTypes } from "./Event.ts"
import type { EventType, ServiceEvent } from "./Event.ts"
import { Ids } from "./Ids.ts"
import type { EventId, KeyId, WebhookId, WorkspaceId } from "./Ids.ts"
import { memoize } from "./Bulkhead.ts"
import { codePointLength, described, inputDecoder, textBetween } from "./Input.ts"
import type { CommandOf } from "./Input.ts"
import { Secrets } from "./Secrets.ts"
import type { Mode, Role } from "./Workspace.ts"

/** Running endpoints per workspace, both modes together (contract: Webhook endpoints). */
export const endpointLimit = 5

/** A test's `ping` reaches its endpoint whatever it subscribed to. */
export type WebhookEventType = EventType | "ping"

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

/** One attempt in the delivery log. */
export interface DeliveryAttempt<Type extends string = WebhookEventType> {
  readonly id: number
  readonly eventId: EventId
  readonly type: Type
  /** From 1; each redelivery starts over. */
  readonly attempt: number
  readonly attemptedAt: number
  /** Null without an answer. */
  readonly responseStatus: number | null
  /** Null when delivered. */
  readonly error: DeliveryError | null
  readonly durationMillis: number
  /** When the next attempt is due; null for none. */
  readonly nextAttemptAt: number | null
}

/**
 * Whether a present endpoint receives an event: it runs, in the event's workspace and mode, and
 * subscribed to the type (contract: Webhook endpoints).
 */
export const isSubscribedTo = (
  endpoint: Pick<WebhookEndpoint, "workspaceId" | "mode" | "events" | "disabledReason">,
  event: Pick<ServiceEvent, "workspaceId" | "mode" | "type">,
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

/** Whether an endpoint runs: neither stopped nor removed. */
export const isRunning = ({ endpoint, removed }: EndpointStanding): boolean =>
  !removed && endpoint.disabledReason === null

/** Whether a workspace runs as many endpoints as allowed; stopped and removed ones do not count. */
export const holdsAllEndpoints = (
  endpoints: ReadonlyArray<EndpointStanding>,
  limit: number,
): boolean => endpoints.filter(isRunning).length >= limit

/**
 * Whether an event may be redelivered to an endpoint (contract: Deliveries). Workspace, mode and
 * current types must match, and the event must not precede the endpoint; stopped times count. A
 * ping is exempt, but only for its own endpoint.
 */
export const canBeRedelivered = (
  event: Pick<ServiceEvent, "workspaceId" | "mode" | "type" | "createdAt">,
  endpoint: Pick<WebhookEndpoint, "workspaceId" | "mode" | "events" | "createdAt">,
): boolean =>
  event.workspaceId === endpoint.workspaceId &&
  event.mode === endpoint.mode &&
  endpoint.events.includes(event.type) &&
  event.createdAt >= endpoint.createdAt

/** Whether an endpoint gets what people write, so that other events share its calls with that. */
export const namesReceived = ({ events }: Pick<WebhookEndpoint, "events">): boolean =>
  events.some(isReceivedEvent)

/** Whether an event shares an endpoint's calls with what people write. */
export const isBesideReceived = (
  endpoint: Pick<WebhookEndpoint, "events">,
  type: string,
): boolean => namesReceived(endpoint) && !isReceivedEvent(type)

/**
 * Calls under way to an endpoint that may tell what people write while other events wait (contract:
 * Events of conversations).
 */
export const receivedCallsShare = 3

/**
 * The order in which a claim takes an endpoint's due calls, which come the longest due first. What people
 * write waits for other events above its share, and takes what they leave.
 */
export const inSharedOrder = <Call>(
  due: ReadonlyArray<Call>,
  underWay: ReadonlyArray<Call>,
  toType: (call: Call) => string,
): ReadonlyArray<Call> => {
  const isReceived = (call: Call) => isReceivedEvent(toType(call))
  const room = Math.max(0, receivedCallsShare - underWay.filter(isReceived).length)
  const above = new Set(due.filter(isReceived).slice(room))
  return [...due.filter((call) => !above.has(call)), ...above]
}

/** An endpoint without a delivery for this long stops. */
export const silenceMillis = 120 * 60 * 60 * 1000

/**
 * When the endpoint last received something, these attempts included. `deliveredSince` is that time
 * before them, or its creation or resumption if later.
 */
export const deliveredSinceAfter = (
  deliveredSince: number,
  attempts: ReadonlyArray<Pick<DeliveryAttempt, "attemptedAt" | "error">>,
): number =>
  attempts.reduce(
    (latest, { attemptedAt, error }) => (error === null ? Math.max(latest, attemptedAt) : latest),
    deliveredSince,
  )

/**
 * Whether an endpoint stops: nothing was delivered since the time that an exhausted delivery names.
 */
export const isSilent = (deliveredSince: number, stopUnlessDeliveredSince: number): boolean =>
  deliveredSince <= stopUnlessDeliveredSince

/** After a success of its receiver, the next attempt of a failed delivery comes within this. */
const forwardMillis = 60_000

/** A delivery that failed and waits for its next attempt. */
export interface PutOff {
  /** When that is due, in epoch milliseconds. */
  readonly dueAt: number
  /** Whether it was brought forward; null when it may not be. */
  readonly isForward: boolean | null
}

/** Whether that is too late after a success at that time. */
export const isFarAhead = ({ dueAt }: Pick<PutOff, "dueAt">, deliveredAt: number): boolean =>
  dueAt > deliveredAt + forwardMillis

/**
 * Whether a success of its receiver at that time brings the next attempt of a delivery forward, so that it
 * is due at once (contract: Deliveries).
 */
export const comesForward = (delivery: PutOff, deliveredAt: number): boolean =>
  delivery.isForward === false && isFarAhead(delivery, deliveredAt)

/**
 * `isForward` after one more failure. An attempt that was brought forward in vain is followed by the usual
 * delay, so that what its receiver alone refuses is still tried for hours.
 */
export const forwardAfterFailure = (isForward: boolean | null): boolean | null =>
  isForward === true ? null : false

export interface WebhookEndpoint {
  readonly id: WebhookId
  readonly workspaceId: WorkspaceId
  /** It receives events of this mode alone, and only keys of this mode see it. */
  readonly mode: Mode
  /** The key that made it; its revocation stops the endpoint. Null for a caller without a key. */
  readonly keyId: KeyId | null
  readonly url: string
  readonly description: string
  readonly events: ReadonlyArray<EventType>
  /** Derives its secret (`SigningSecrets`). */
  readonly secretSalt: string
  readonly secretLast4: string
  /** Of its first secret: repeats of its creation answer it again. */
  readonly firstSecretLast4: string
  /** Null while it runs. */
  readonly disabledReason: DisabledReason | null
  readonly createdAt: number
  readonly lastAttempt: DeliveryAttempt | null
}

/** The endpoint as created, whatever happened since. */
export const endpointAsCreated = (endpoint: WebhookEndpoint): WebhookEndpoint => ({
  ...endpoint,
  secretLast4: endpoint.firstSecretLast4,
  disabledReason: null,
  lastAttempt: null,
})

/** What a role sees of a receiver's URL: members no query and fragment, which may hold a secret. */
export const receiverUrlFor = (role: Role, url: string): string =>
  role === "member" ? url.replace(/[?#].*$/s, "") : url

// The body that creates an endpoint (contract: Webhook endpoints).

/** In code points. */
export const maximumWebhookUrlLength = 500

/** Members of `events`, duplicates included. */
const maximumEvents = 100

const bodyNaming = <const Types extends ReadonlyArray<EventType>>(types: Types) =>
  Schema.Struct({
    url: described(textBetween(0, maximumWebhookUrlLength), "Public `https://` address."),
    events: described(
      Schema.optionalKey(
        Schema.Array(Schema.Literals(types)).check(
          Schema.makeFilter((events) => (events.length > 0 ? undefined : "must name an event"), {
            toJsonSchema: () => ({ minItems: 1, maxItems: maximumEvents }),
          }),
        ),
      ),
      "Event types to deliver. Default: the four of messages. The others need conversations.",
    ),
    description: described(Schema.optionalKey(textBetween(0, 100)), "A note."),
  })

/** The body of POST /webhooks. */
export const EndpointBody = bodyNaming(eventTypes).annotate({ identifier: "CreateWebhook" })

/** An endpoint to create. */
export type CreateWebhook = CommandOf<typeof EndpointBody.Encoded>

export interface EndpointRequest {
  readonly url: string
  /** In the given order, without duplicates. */
  readonly events: ReadonlyArray<EventType>
  readonly description: string
}

const changeNaming = <const Types extends ReadonlyArray<EventType>>(types: Types) => {
  const { fields } = bodyNaming(types)
  return Schema.Struct({ ...fields, url: Schema.optionalKey(fields.url) })
}

/** The body of PATCH /workspaces/{id}/webhooks/{webhook_id}. */
export const EndpointChangeBody = changeNaming(eventTypes).annotate({
  identifier: "ChangeWebhook",
  description: "Only the fields to change.",
})

/** Whether input names anything but the four event types of messages, which the parser then has to judge. */
export const namesMoreEvents = (command: unknown): boolean => {
  const events = (command as { readonly events?: unknown } | null | undefined)?.events
  return Array.isArray(events) && events.some((type) => !isMessageEvent(type))
}

/** As a workspace without conversations sees it. */
export const withoutConversationEvents = <One extends Pick<WebhookEndpoint, "events">>(
  endpoint: One,
): One => ({ ...endpoint, events: endpoint.events.filter(isMessageEvent) })

/** Changes to an endpoint. */
export type ChangeWebhook = CommandOf<typeof EndpointChangeBody.Encoded>

export type EndpointChange = Partial<EndpointRequest>

const urlProblems =
  ({ allowPrivate }: OutboundRule) =>
  ({ url }: Readonly<Record<string, unknown>>): ReadonlyArray<Problem<"invalid_webhook_url">> => {
    // The schema reports wrong types and excess length.
    if (typeof url !== "string" || codePointLength(url) > maximumWebhookUrlLength) return []
    const parsed = parseOutboundUrl(url, { allowHttp: false, allowPrivate })
    return Result.isSuccess(parsed)
      ? []
      : [problem("invalid_webhook_url", "url", outboundUrlMessage(url, parsed.failure))]
  }

/**
 * The refusal of an address that the operator's own setting would allow names that setting. For
 * operators alone: a customer cannot change it.
 */
export const namesPrivateTargets = (refusal: Refusal, url: unknown): Refusal =>
  refusal.code === "invalid_webhook_url" &&
  typeof url === "string" &&
  Result.isSuccess(parseOutboundUrl(url, { allowHttp: true, allowPrivate: true }))
    ? refuse("invalid_webhook_url", {
        field: "url",
        message: `${refusal.message} ALLOW_PRIVATE_TARGETS=true allows http:// and private addresses, for development.`,
        errors: refusal.errors,
      })
    : refusal

/**
 * The parser under a rule for outgoing links. Input is checked whatever its static type. Build
 * once, reuse. `hasConversations`: whether the workspace has them.
 */
export const endpointRequestParser = (
  rule: OutboundRule,
): ((
  command: unknown,
  hasConversations: boolean,
) => Result.Result<EndpointRequest, Refusal<"validation_failed" | "invalid_webhook_url">>) => {
  const options = {
    codes: ["invalid_webhook_url"],
    across: urlProblems(rule),
    lists: { events: { most: maximumEvents } },
  } as const
  const decodeFour = inputDecoder(bodyNaming(webhookEventTypes), options)
  const decodeAll = inputDecoder(EndpointBody, options)
  return (command, hasConversations) =>
    Result.map(
      (hasConversations ? decodeAll : decodeFour)(command),
      ({ url, events, description }) => ({
        url,
        events: [...new Set(events ?? webhookEventTypes)],
        description: description ?? "",
      }),
    )
}

/** As `endpointRequestParser`, of the given fields alone. */
export const endpointChangeParser = (
  rule: OutboundRule,
): ((
  command: unknown,
  hasConversations: boolean,
) => Result.Result<EndpointChange, Refusal<"validation_failed" | "invalid_webhook_url">>) => {
  const options = {
    codes: ["invalid_webhook_url"],
    across: urlProblems(rule),
    lists: { events: { most: maximumEvents } },
  } as const
  const decodeFour = inputDecoder(changeNaming(webhookEventTypes), options)
  const decodeAll = inputDecoder(EndpointChangeBody, options)
  return (command, hasConversations) =>
    Result.map((hasConversations ? decodeAll : decodeFour)(command), ({ events, ...change }) => ({
      ...change,
      ...(events === undefined ? {} : { events: [...new Set(events)] }),
    }))
}

// Signatures prove a delivery's origin (contract: Signatures). The service's key and a stored salt
// derive each secret; only the salt is stored.

/** `User-Agent` of every delivery. */
export const webhookUserAgent = "Service-Webhooks/2"

/**
 * HMAC-SHA256, hexadecimal; key and text count as UTF-8. Each delivery needs one, the only
 * speed-critical hash here; platforms can supply a faster one.
 */
export type HmacSha256 = (key: string, text: string) => string

/** A third of a signature's work depends on the key alone. */
const keyed = /*#__PURE__*/ memoize((key) => hmac.create(sha256, utf8ToBytes(key)))

/** Runs everywhere. */
const portableHmac: HmacSha256 = (key, text) =>
  bytesToHex(keyed(key).clone().update(utf8ToBytes(text)).digest())

export const HmacSha256 = /*#__PURE__*/ Context.Reference<HmacSha256>("core/HmacSha256", {
  defaultValue: () => portableHmac,
})

/**
 * `v1=` and the hexadecimal HMAC-SHA256 of `<timestamp>.<raw body>`; the key is the secret's text.
 * `timestamp`: Unix seconds.
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
  /** Stored instead of the secret. */
  readonly salt: string
}

/** The secret of a salt, under the service's key. */
export const secretOfSalt = (key: string, salt: string): string =>
  bytesToHex(hmac(sha256, utf8ToBytes(key), utf8ToBytes(`signing-secret ${salt}`)))

/** The secrets of one purpose. */
export interface SaltedSecrets {
  readonly make: Effect.Effect<SigningSecret>
  /** The secret of that salt. */
  of(salt: string): string
}

export class SigningSecrets
  extends /*#__PURE__*/ Context.Service<
    SigningSecrets,
    {
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
