/**
 * Browser sessions, which the dashboard's cookie names, and the links that sign a browser in once
 * (contract: Browser sessions). An operator's session replaces the operator token, a portal's session
 * acts in one workspace with one role.
 *
 * All times are the system's: moving an adjustable clock ends no session.
 */
import type { Effect } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import type { SignInLinkId, WorkspaceId } from "../model/Ids.ts"
import type { PageOf, PageQuery } from "../model/Page.ts"
import type { Role } from "../model/Workspace.ts"

/** An operator's session ends this long after its last request, in milliseconds. */
export const operatorIdleMillis = 2 * 3_600_000

/** For whom a browser acts. */
export interface BrowserSession {
  /** Null: the operator. */
  readonly workspaceId: WorkspaceId | null
  /** The operator's is `owner`. */
  readonly role: Role
  /** Where a portal leads back to. */
  readonly returnUrl: string | null
  readonly createdAt: number
  readonly expiresAt: number
}

export interface NewBrowserSession extends BrowserSession {
  /** SHA-256 of the id that the cookie holds; the id itself is never stored. */
  readonly hash: string
  /** What the store knows the operator token by, for an operator's session. */
  readonly tokenMark: string | null
}

/** A link that signs a browser in once. */
export interface NewSignInLink extends Pick<BrowserSession, "workspaceId" | "role" | "returnUrl"> {
  /** SHA-256 of the code in the link. */
  readonly codeHash: string
  readonly tokenMark: string | null
  readonly createdAt: number
  readonly codeExpiresAt: number
  /** How long its session lasts, in milliseconds. */
  readonly sessionMillis: number
}

/** A link as it is kept. */
export interface SignInLink extends Pick<
  NewSignInLink,
  "role" | "returnUrl" | "createdAt" | "codeExpiresAt"
> {
  readonly id: SignInLinkId
  /** When it signed a browser in. */
  readonly usedAt: number | null
  /** The end of its session; null until it was used. */
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

/** Which session, and what it must match to be valid. */
export interface SessionQuery {
  readonly hash: string
  readonly now: number
  /** Operator sessions of another mark have ended; null: all of them have. */
  readonly tokenMark: string | null
}

/** Whether a session's time is over. */
export const hasSessionEnded = (
  { expiresAt, workspaceId }: Pick<BrowserSession, "expiresAt" | "workspaceId">,
  lastUsedAt: number,
  now: number,
): boolean => expiresAt <= now || (workspaceId === null && lastUsedAt <= now - operatorIdleMillis)

/** Whether the operator token is still the one that a session or a link was made with. */
const hasToken = (
  { tokenMark, workspaceId }: Pick<NewBrowserSession, "tokenMark" | "workspaceId">,
  mark: string | null,
): boolean => workspaceId !== null || (mark !== null && mark === tokenMark)

/** Whether requests with a session are admitted. */
export const isSessionValid = (
  session: Pick<NewBrowserSession, "expiresAt" | "tokenMark" | "workspaceId">,
  lastUsedAt: number,
  { now, tokenMark }: Pick<SessionQuery, "now" | "tokenMark">,
): boolean => hasToken(session, tokenMark) && !hasSessionEnded(session, lastUsedAt, now)

/** Whether a link signs in, as far as it tells by itself. */
export const linkWorks = (
  link: Pick<NewSignInLink, "codeExpiresAt" | "tokenMark" | "workspaceId"> & {
    readonly usedAt: number | null
    readonly revokedAt: number | null
  },
  { now, tokenMark }: Pick<SessionQuery, "now" | "tokenMark">,
): boolean =>
  link.usedAt === null &&
  link.revokedAt === null &&
  link.codeExpiresAt > now &&
  hasToken(link, tokenMark)

export interface BrowserSessionStore {
  /** Stores a session. At most `max` of its holder are then valid: the oldest others end. */
  insert(session: NewBrowserSession, max: number): Effect.Effect<void, StoreUnavailable>
  /**
   * Begins the session of a link, as `insert` does, and uses the link up, in one atomic step. Null
   * when the code is unknown, used, revoked or late, when an operator's link has another token
   * mark, or when the workspace is deleted or disabled.
   */
  exchange(
    query: Pick<SessionQuery, "hash" | "now" | "tokenMark"> & { readonly codeHash: string },
    max: number,
  ): Effect.Effect<BrowserSession | null, StoreUnavailable>
  /**
   * A valid session, with its requests in the clock minute, this one included. Null
   * otherwise. Windows restart as those of keys do.
   */
  use(
    query: SessionQuery & { readonly minuteStart: number },
  ): Effect.Effect<
    { readonly session: BrowserSession; readonly count: number } | null,
    StoreUnavailable
  >
  /** Whether the session is valid; counts nothing. */
  isValid(query: SessionQuery): Effect.Effect<boolean, StoreUnavailable>
  end(hash: string): Effect.Effect<void, StoreUnavailable>
  /**
   * Guard: the workspace is neither deleted nor disabled, and has fewer than `limit` links that work;
   * null when it fails. The operator's have no limit.
   */
  insertLink(link: NewSignInLink, max: number): Effect.Effect<SignInLink | null, StoreUnavailable>
  /** Links of a workspace, newest first. */
  links(
    workspaceId: WorkspaceId,
    page: PageQuery,
  ): Effect.Effect<PageOf<SignInLink>, StoreUnavailable>
  /** Sets `revokedAt` once, and ends its session; false when the workspace has no such link. */
  revokeLink(
    workspaceId: WorkspaceId,
    id: SignInLinkId,
    now: number,
  ): Effect.Effect<boolean, StoreUnavailable>
  /** Deletes sessions that have ended by `now`, and links that ended before `linksBefore`. */
  forget(now: number, linksBefore: number): Effect.Effect<void, StoreUnavailable>
}
