/**
 * API keys and who may do what: keys and their store, rate limits, callers, and the gate of
 * operations.
 */
import { Effect } from "effect"
import type { Brand } from "effect"
import { refuse } from "./Refusal.ts"
import type { Refusal, StoreUnavailable } from "./Refusal.ts"
import type { Ids, KeyId, NumberId, WorkspaceId } from "./Ids.ts"
import type { Mode, Workspace } from "./Workspace.ts"

/** In the order of answers (contract: Scopes). */
export const scopes = [
  "messages:send",
  "messages:read",
  "reminders",
  "numbers",
  "media",
  "contacts",
] as const

/** Behind the six, where conversations are on (contract: Scopes of conversations). */
const chatScopes = ["chats:read", "chats:write"] as const

/** All that a key may name. */
export const allScopes = [...scopes, ...chatScopes] as const

export type Scope = (typeof allScopes)[number]

const isChatScope = (scope: Scope): boolean => (chatScopes as ReadonlyArray<Scope>).includes(scope)

/** Whether any of them counts only while conversations are on. */
export const namesChatScope = (granted: ReadonlyArray<Scope>): boolean => granted.some(isChatScope)

/** The key while conversations are off: it shows and allows nothing of them. */
export const withoutChatScopes = (key: ApiKey): ApiKey => ({
  ...key,
  scopes: key.scopes.filter((scope) => !isChatScope(scope)),
})

export interface ApiKey {
  readonly id: KeyId
  readonly workspaceId: WorkspaceId
  readonly version: 1 | 2
  readonly name: string
  readonly mode: Mode
  readonly scopes: ReadonlyArray<Scope>
  /** Null for all numbers, future ones included. */
  readonly numberIds: ReadonlyArray<NumberId> | null
  readonly expiresAt: number | null
  readonly last4: string
  readonly createdAt: number
  readonly lastUsedAt: number | null
  readonly lastUsedIp: string | null
  readonly revokedAt: number | null
}

/** `svc_live_` or `svc_test_` and 38 letters and digits (contract: Authentication). */
export const makeKeyV2 = (ids: typeof Ids.Service, mode: Mode): string =>
  `svc_${mode}_${ids.alphanumeric(38)}`

/** 40 digits and letters a to f. */
export const makeKeyV1 = (ids: typeof Ids.Service): string => ids.hex(40)

export const isKeyV2 = (text: string): boolean => /^svc_(?:live|test)_[0-9A-Za-z]{38}$/.test(text)

export const isKeyV1 = (text: string): boolean => /^[0-9a-f]{40}$/.test(text)

/** The bearer token; undefined when missing, empty or of another scheme. */
export const bearerToken = (authorization: string | undefined): string | undefined => {
  const match = /^bearer +(\S(?:.*\S)?) *$/i.exec(authorization ?? "")
  return match?.[1]
}

/** Non-revoked keys of one version per workspace; expired ones count. */
export const keyLimit = 10

/** Whether a workspace has reached `keyLimit` for that version. */
export const holdsAllKeys = (
  keys: ReadonlyArray<Pick<ApiKey, "version" | "revokedAt">>,
  version: ApiKey["version"],
  limit: number,
): boolean =>
  keys.filter((key) => key.version === version && key.revokedAt === null).length >= limit

/** Why a key is unusable, if it is; revoked precedes expired. */
export const keyRefusal = (
  { expiresAt, revokedAt }: Pick<ApiKey, "expiresAt" | "revokedAt">,
  now: number,
): "api_key_revoked" | "api_key_expired" | undefined => {
  if (revokedAt !== null) return "api_key_revoked"
  return expiresAt !== null && expiresAt <= now ? "api_key_expired" : undefined
}

/**
 * Whether a request counts against its version's rate limit. The workspace admits it, the key is
 * usable, and the workspace that the request names (version 1; null: none) is the key's.
 */
export const isCounted = (
  admits: boolean,
  key: Pick<ApiKey, "expiresAt" | "revokedAt" | "workspaceId">,
  named: WorkspaceId | null,
  now: number,
): boolean =>
  admits && keyRefusal(key, now) === undefined && (named === null || named === key.workspaceId)

export const mayUse = (key: Pick<ApiKey, "numberIds">, number: NumberId): boolean =>
  key.numberIds === null || key.numberIds.includes(number)

/** The numbers that a limited key sees; null for all. */
type Restriction = ReadonlyArray<NumberId> | null

export type NewKey = Omit<ApiKey, "id" | "lastUsedAt" | "lastUsedIp" | "revokedAt"> & {
  /** SHA-256 of the full key, hexadecimal; the key itself is never stored. */
  readonly hash: string
}

/** Requests in the current windows, this one included; see `countedInDay`. */
export interface RequestCount {
  readonly minute: number
  readonly day: number
}

export interface AdmitQuery {
  readonly hash: string
  readonly version: 1 | 2
  readonly now: number
  /** Start of the clock minute and of the UTC day of `now`. */
  readonly minuteStart: number
  readonly dayStart: number
  readonly clientAddress: string | null
}

export interface Admitted {
  readonly key: ApiKey
  readonly workspace: Workspace
  /** Null when not counted: the workspace or key is not admitted. */
  readonly count: RequestCount | null
}

export interface AdmitV1Query extends Omit<AdmitQuery, "version" | "dayStart"> {
  /** The workspace that the request names; null when it need not name one. */
  readonly workspaceId: WorkspaceId | null
}

export interface AdmittedV1 extends Pick<Admitted, "key" | "workspace"> {
  /**
   * The workspace's version 1 requests in the clock minute, this one included. Null when not
   * counted: workspace or key not admitted, or another workspace named.
   */
  readonly count: number | null
}

export interface KeyStore {
  /**
   * One round trip: finds key and workspace. If both are admitted (version 2), counts the
   * request in both windows and records time and address of use. A window restarts when its
   * stored start differs. Null when no such key was issued.
   */
  admit(query: AdmitQuery): Effect.Effect<Admitted | null, StoreUnavailable>
  /**
   * As `admit`, for a version 1 key. The workspace must admit version 1 and be the one that the
   * request names. The count is per minute and shared by all its version 1 keys.
   */
  admitV1(query: AdmitV1Query): Effect.Effect<AdmittedV1 | null, StoreUnavailable>
  /**
   * Guards: fewer than `limit` non-revoked keys of that version, and no version 1 key of that name in the workspace
   * for another one; null when one fails.
   */
  insertKey(key: NewKey, limit: number): Effect.Effect<ApiKey | null, StoreUnavailable>
  /** Oldest first, revoked ones included. */
  listKeys(workspaceId: WorkspaceId): Effect.Effect<ReadonlyArray<ApiKey>, StoreUnavailable>
  /** Sets `revokedAt` once; returns the key, null when unknown. */
  revokeKey(
    workspaceId: WorkspaceId,
    id: KeyId,
    now: number,
  ): Effect.Effect<ApiKey | null, StoreUnavailable>
}

// Fixed rate-limit windows (contract: Rate limits, Version 1: requests). A version 2 key: 60 per
// clock minute, 10,000 per UTC day. All version 1 keys of a workspace: 60 per clock minute.

export const requestsPerMinute = 60
export const requestsPerDay = 10_000
/** Per workspace and clock minute (contract: Version 1: requests). */
const requestsPerMinuteV1 = 60
/** Requests with a wrong key that one address may make in a clock minute. */
export const wrongKeysPerMinute = 30

export const minuteMillis = 60_000
export const dayMillis = 86_400_000

/** `RateLimit-Policy`. */
export const ratePolicy = `${requestsPerMinute};w=60, ${requestsPerDay};w=86400`

export const minuteStart = (now: number): number =>
  now - (((now % minuteMillis) + minuteMillis) % minuteMillis)
export const dayStart = (now: number): number => now - (((now % dayMillis) + dayMillis) % dayMillis)

/** Requests counted since `start`; NaN before the first. */
export interface RequestWindow {
  readonly start: number
  readonly count: number
}

/**
 * Counts requests in the window that begins at `start`; windows last `length` milliseconds.
 * A late request from the previous window (concurrent, or from a server with a slow clock) counts
 * in the current one. Restarting for it would let alternating requests evade the limit. Anything
 * older means that the clock was set back.
 */
export const countRequest = (
  window: RequestWindow,
  start: number,
  length: number,
  requests = 1,
): RequestWindow => {
  const ahead = window.start - start
  return ahead >= 0 && ahead <= length
    ? { start: window.start, count: window.count + requests }
    : { start, count: requests }
}

/**
 * How many of the last `requests` count in the day, when the minute then counts `inMinute`: those
 * that the minute's limit refuses leave the day's allowance alone.
 */
export const countedInDay = (inMinute: number, requests: number): number =>
  Math.min(inMinute, requestsPerMinute) - Math.min(inMinute - requests, requestsPerMinute)

/** The `RateLimit-*` headers. */
export interface RateState {
  /** 60, or 10,000 once the daily limit refuses. */
  readonly limit: number
  readonly remaining: number
  /** Seconds until the window restarts, rounded up. */
  readonly reset: number
  readonly exceeded: boolean
}

/** The state after a counted request; `count` includes it. */
export const rateState = (count: RequestCount, now: number): RateState => {
  const dayOver = count.day > requestsPerDay
  const [limit, used, end] = dayOver
    ? [requestsPerDay, count.day, dayStart(now) + dayMillis]
    : [requestsPerMinute, count.minute, minuteStart(now) + minuteMillis]
  return {
    limit,
    remaining: Math.max(0, limit - used),
    reset: Math.ceil((end - now) / 1000),
    exceeded: used > limit,
  }
}

/** The refusal over either limit, if any. */
export const rateRefusal = (state: RateState): Refusal<"rate_limited"> | undefined =>
  state.exceeded
    ? refuse("rate_limited", {
        message: `The key's limit of ${state.limit} requests is used up until the window restarts. POST /messages/batch sends to up to 1,000 recipients in one request.`,
        retryAfter: state.reset,
      })
    : undefined

/** The refusal over the workspace's version 1 limit, if any; `count` includes the request. */
export const rateRefusalV1 = (count: number, now: number): Refusal<"rate_limited"> | undefined =>
  count > requestsPerMinuteV1
    ? refuse("rate_limited", {
        message: `The workspace's limit of ${requestsPerMinuteV1} requests is used up until the window restarts.`,
        retryAfter: Math.ceil((minuteStart(now) + minuteMillis - now) / 1000),
      })
    : undefined

// Callers, as plain data for every service: admission makes them from keys, embedders vouch for
// them. Every operation begins at one gate and its table of required rights.

/** For whom a message is accepted: a caller, or a reminder. */
export interface Sender {
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  /** Null for all numbers, future ones included. */
  readonly numberIds: Restriction
}

/** Lasts for one request: its workspace is a snapshot. */
export interface Caller extends Sender {
  readonly workspace: Workspace
  readonly scopes: ReadonlyArray<Scope>
  /** Null for a caller that the embedding program vouches for. */
  readonly key: ApiKey | null
}

/** A caller admitted with a key. */
export interface KeyCaller extends Caller {
  readonly key: ApiKey
}

/** What an embedder specifies of a caller. Default: everything is allowed. */
export interface Trust {
  readonly mode?: Mode
  readonly scopes?: ReadonlyArray<Scope>
  readonly numberIds?: Restriction
}

export const Caller = {
  /** The caller with this key, which `Admission` has checked. */
  ofKey: (key: ApiKey, workspace: Workspace): KeyCaller => ({
    workspaceId: key.workspaceId,
    mode: key.mode,
    numberIds: key.numberIds,
    workspace,
    scopes: key.scopes,
    key,
  }),

  /**
   * A caller without a key, for whom the embedding program vouches. Default: live and unlimited. It
   * has no rate limit, and reads and cancels in a disabled workspace.
   */
  trusted: (workspace: Workspace, trust: Trust = {}): Caller => ({
    workspaceId: workspace.id,
    mode: trust.mode ?? "live",
    numberIds: trust.numberIds ?? null,
    workspace,
    scopes: trust.scopes ?? allScopes,
    key: null,
  }),
} as const

/**
 * Owner of a caller's idempotency keys: the id of its key. Without a key it is a negative number
 * for workspace and mode, which no key has.
 */
export const toClaimant = ({ key, mode, workspaceId }: Caller): number =>
  key?.id ?? claimantWithoutKey(workspaceId, mode)

const claimantWithoutKey = (workspaceId: WorkspaceId, mode: Mode): number =>
  -(2 * workspaceId + (mode === "test" ? 1 : 0))

/** All keyless owners of a workspace. */
export const claimantsWithoutKey = (workspaceId: WorkspaceId): ReadonlyArray<number> => [
  claimantWithoutKey(workspaceId, "live"),
  claimantWithoutKey(workspaceId, "test"),
]

/** What an operation requires of its caller. */
export interface OperationRule {
  /** The required scope; null for none. */
  readonly scope: Scope | null
  /** Another one that it requires too. */
  readonly scopeBesides?: Scope
  /** Whether it refuses callers limited to some numbers. */
  readonly unlimitedOnly: boolean
}

const needs = (scope: Scope): OperationRule => ({ scope, unlimitedOnly: false })
const ofWebhooks: OperationRule = { ...needs("messages:read"), unlimitedOnly: true }

/** Every operation of callers (contract: Operations of version 2). */
export const operations = {
  getKeyInfo: { scope: null, unlimitedOnly: false },
  sendMessage: needs("messages:send"),
  sendBatch: needs("messages:send"),
  listMessages: needs("messages:read"),
  getMessage: needs("messages:read"),
  cancelMessage: needs("messages:send"),
  createReminder: needs("reminders"),
  listReminders: needs("reminders"),
  getReminder: needs("reminders"),
  updateReminder: needs("reminders"),
  deleteReminder: needs("reminders"),
  listNumbers: needs("numbers"),
  getNumber: needs("numbers"),
  getNumberRestrictions: needs("numbers"),
  connectNumber: needs("numbers"),
  createWebhook: ofWebhooks,
  listWebhooks: ofWebhooks,
  getWebhook: ofWebhooks,
  deleteWebhook: ofWebhooks,
  rotateWebhookSecret: ofWebhooks,
  testWebhook: ofWebhooks,
  uploadMedia: needs("media"),
  listMedia: needs("media"),
  getMedia: needs("media"),
  deleteMedia: needs("media"),
  createNumberCheck: needs("contacts"),
  listNumberChecks: needs("contacts"),
  getNumberCheck: needs("contacts"),
  listNumberCheckResults: needs("contacts"),
  listReceivedMessages: needs("chats:read"),
  getReceivedMessage: needs("chats:read"),
  deleteReceivedMessage: needs("chats:write"),
  listChats: needs("chats:read"),
  getChat: needs("chats:read"),
  deleteChat: needs("chats:write"),
  markChatRead: needs("chats:write"),
  listChatMessages: { ...needs("chats:read"), scopeBesides: "messages:read" },
} as const satisfies Readonly<Record<string, OperationRule>>

export type OperationName = keyof typeof operations

/** A caller that passed the gate. Whatever reads or writes for a caller takes one. */
export type Authorized = Caller & Brand.Brand<"Authorized">

/** What every operation of a caller can be refused with. */
export type AuthorizationCode = "missing_scope" | "number_not_allowed"

/**
 * The gate. Fails with `missing_scope`, and with `number_not_allowed` when a limited caller asks
 * for an operation on the whole workspace.
 */
export const authorize = (
  caller: Caller,
  operation: OperationName,
): Effect.Effect<Authorized, Refusal<AuthorizationCode>> => {
  const { scope, scopeBesides, unlimitedOnly }: OperationRule = operations[operation]
  const missing = [scope, scopeBesides].find((one) => one != null && !caller.scopes.includes(one))
  if (missing != null) {
    return Effect.fail(
      refuse("missing_scope", {
        message: `The key lacks the scope ${missing}.`,
        details: { requiredScope: missing },
      }),
    )
  }
  if (unlimitedOnly && caller.numberIds !== null) {
    return Effect.fail(
      refuse("number_not_allowed", {
        message: "A key that is limited to some numbers cannot use webhook endpoints.",
      }),
    )
  }
  return Effect.succeed(caller as Authorized)
}

/** The records that a caller sees; null numbers: those of all. */
export interface CallerScope {
  readonly workspaceId: WorkspaceId
  readonly mode: Mode
  readonly restriction: Restriction
}

export const toScope = ({ mode, numberIds, workspaceId }: Authorized): CallerScope => ({
  workspaceId,
  mode,
  restriction: numberIds,
})
