/**
 * An API key: who may ask, for which workspace, in which mode, for what and from which numbers. Its
 * text, and how that is made and given. And the port that keeps keys and counts what is asked with them.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { Ids, KeyId, NumberId, WorkspaceId } from "../Ids.ts"
import type { Mode, Workspace } from "../workspace/Workspace.ts"

/** In the order of every answer (contract: Scopes). */
export const scopes = [
  "messages:send",
  "messages:read",
  "reminders",
  "numbers",
  "media",
  "contacts",
] as const

export type Scope = (typeof scopes)[number]

export interface ApiKey {
  readonly id: KeyId
  readonly workspaceId: WorkspaceId
  readonly version: 1 | 2
  readonly name: string
  readonly mode: Mode
  readonly scopes: ReadonlyArray<Scope>
  /** The numbers it is limited to; null for all, later ones included. */
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

/** The token of a bearer header; undefined when there is none, it is empty or of another scheme. */
export const bearerToken = (authorization: string | undefined): string | undefined => {
  const match = /^bearer +(\S(?:.*\S)?) *$/i.exec(authorization ?? "")
  return match?.[1]
}

/** Non-revoked keys of one version that a workspace may hold; expired ones count. */
export const keyLimit = 10

/** Whether a workspace with these keys holds as many of that version as it may. */
export const holdsAllKeys = (
  keys: ReadonlyArray<Pick<ApiKey, "version" | "revokedAt">>,
  version: ApiKey["version"],
  limit: number,
): boolean =>
  keys.filter((key) => key.version === version && key.revokedAt === null).length >= limit

/** Why a key can no longer be used, if so; one that is both is said to be revoked. */
export const keyRefusal = (
  { expiresAt, revokedAt }: Pick<ApiKey, "expiresAt" | "revokedAt">,
  now: number,
): "api_key_revoked" | "api_key_expired" | undefined => {
  if (revokedAt !== null) return "api_key_revoked"
  return expiresAt !== null && expiresAt <= now ? "api_key_expired" : undefined
}

/**
 * Whether a request counts against the limits of its key's version: its workspace `admits` it, the key
 * can be used, and a workspace that the request names (version 1; null: none) is the key's own.
 */
export const isCounted = (
  admits: boolean,
  key: Pick<ApiKey, "expiresAt" | "revokedAt" | "workspaceId">,
  named: WorkspaceId | null,
  now: number,
): boolean =>
  admits && keyRefusal(key, now) === undefined && (named === null || named === key.workspaceId)

/** Whether the key may use the number. */
export const mayUse = (key: Pick<ApiKey, "numberIds">, number: NumberId): boolean =>
  key.numberIds === null || key.numberIds.includes(number)

/** What a limited key's reads are narrowed to; null for everything. */
export type Restriction = ReadonlyArray<NumberId> | null

export type NewKey = Omit<ApiKey, "id" | "lastUsedAt" | "lastUsedIp" | "revokedAt"> & {
  /** SHA-256 of the full key, hexadecimal; the key itself is never stored. */
  readonly hash: string
}

/** Requests in the current windows, this one included. */
export interface RequestCount {
  readonly minute: number
  readonly day: number
}

export interface AdmitQuery {
  readonly hash: string
  readonly version: 1 | 2
  readonly now: number
  /** Start of the clock minute and of the UTC day that `now` lies in. */
  readonly minuteStart: number
  readonly dayStart: number
  readonly clientAddress: string | null
}

export interface Admitted {
  readonly key: ApiKey
  readonly workspace: Workspace
  /** Null when the request was not counted because the workspace or the key does not admit. */
  readonly count: RequestCount | null
}

export interface AdmitV1Query extends Omit<AdmitQuery, "version" | "dayStart"> {
  /** The workspace that the request names as its own; null where it need not name one. */
  readonly workspaceId: WorkspaceId | null
}

export interface AdmittedV1 extends Pick<Admitted, "key" | "workspace"> {
  /**
   * The workspace's version 1 requests in the clock minute, this one included. Null when it was not
   * counted because the workspace or the key does not admit, or another workspace was named.
   */
  readonly count: number | null
}

export class KeyStore
  extends /*#__PURE__*/ Context.Service<
    KeyStore,
    {
      /**
       * One round trip: finds the key and its workspace and, when the workspace's `admits` says so
       * for version 2 and the key is neither revoked nor past `expiresAt`, counts the request in both
       * windows and notes time and address of use. Null when no such key was ever issued. Windows
       * restart when their start differs from the stored one.
       */
      admit(query: AdmitQuery): Effect.Effect<Admitted | null, StoreUnavailable>
      /**
       * One round trip for a version 1 key: as `admit`, but by the workspace's `admits` for version 1,
       * only when it is the workspace that the request names, and counted in the minute of the
       * workspace, which all its version 1 keys share.
       */
      admitV1(query: AdmitV1Query): Effect.Effect<AdmittedV1 | null, StoreUnavailable>
      /** Guard: fewer than `limit` non-revoked keys of that version; null when it does not hold. */
      insert(key: NewKey, limit: number): Effect.Effect<ApiKey | null, StoreUnavailable>
      /** Oldest first, revoked ones included. */
      list(workspaceId: WorkspaceId): Effect.Effect<ReadonlyArray<ApiKey>, StoreUnavailable>
      /** Sets `revokedAt` once; returns the key, null when unknown. */
      revoke(
        workspaceId: WorkspaceId,
        id: KeyId,
        now: number,
      ): Effect.Effect<ApiKey | null, StoreUnavailable>
    }
  >()("core/KeyStore") {}
