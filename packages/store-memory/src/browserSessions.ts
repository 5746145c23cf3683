/** `BrowserSessionStore` in memory. */
import {
  countRequest,
  hasSessionEnded,
  linkWorks,
  minuteMillis,
  isSessionValid,
} from "@messaging-service/core"
import type {
  BrowserSession,
  BrowserSessionStore,
  NewBrowserSession,
  SessionQuery,
  SignInLink,
  SignInLinkId,
  WorkspaceId,
} from "@messaging-service/core"
import { findWorkspace } from "./tables.ts"
import type { BrowserSessionRow, SignInLinkRow, Tables } from "./tables.ts"
import { newestFirst } from "./collections.ts"
import type { Steps } from "./collections.ts"

const validRow = (tables: Tables, query: SessionQuery): BrowserSessionRow | undefined => {
  const row = tables.browserSessions.get(query.hash)
  return row !== undefined && isSessionValid(row.session, row.lastUsedAt, query) ? row : undefined
}

const insert = (
  tables: Tables,
  session: NewBrowserSession,
  max: number,
  link: SignInLinkRow | null,
): void => {
  const others = [...tables.browserSessions.values()].filter(
    ({ session: other }) => other.workspaceId === session.workspaceId,
  )
  const ended = others.filter((row) =>
    hasSessionEnded(row.session, row.lastUsedAt, session.createdAt),
  )
  const left = others.filter((row) => !ended.includes(row))
  for (const row of [...ended, ...left.slice(0, Math.max(0, left.length - max + 1))]) {
    tables.browserSessions.delete(row.session.hash)
  }
  tables.browserSessions.set(session.hash, {
    session,
    link,
    lastUsedAt: session.createdAt,
    minute: { start: Number.NaN, count: 0 },
  })
}

const toBrowserSession = ({
  createdAt,
  expiresAt,
  returnUrl,
  role,
  workspaceId,
}: BrowserSession): BrowserSession => ({ workspaceId, role, returnUrl, createdAt, expiresAt })

/** Ends the sessions of a workspace's portal, and revokes its links. */
export const endPortal = (tables: Tables, id: WorkspaceId, now: number): void => {
  for (const row of tables.signInLinks.values()) {
    if (row.link.workspaceId === id && row.usedAt === null) row.revokedAt ??= now
  }
  for (const [hash, { link, session }] of tables.browserSessions) {
    if (session.workspaceId !== id) continue
    if (link !== null) link.revokedAt ??= now
    tables.browserSessions.delete(hash)
  }
}

/** Removes the portal of a deleted workspace, its links included. */
export const removePortal = (tables: Tables, id: WorkspaceId, now: number): void => {
  endPortal(tables, id, now)
  for (const [hash, { link }] of tables.signInLinks) {
    if (link.workspaceId === id) tables.signInLinks.delete(hash)
  }
}

/** Oldest first. */
const listLinks = (tables: Tables, id: WorkspaceId): ReadonlyArray<SignInLinkRow> =>
  [...tables.signInLinks.values()].filter(({ link }) => link.workspaceId === id)

const shownLink = ({ expiresAt, id, link, revokedAt, usedAt }: SignInLinkRow): SignInLink => ({
  id,
  role: link.role,
  returnUrl: link.returnUrl,
  createdAt: link.createdAt,
  codeExpiresAt: link.codeExpiresAt,
  usedAt,
  expiresAt,
  revokedAt,
})

const admitsPortal = (tables: Tables, id: WorkspaceId): boolean =>
  findWorkspace(tables, id)?.workspace.accountDisabled === false

export const browserSessionStore = (tables: Tables): Steps<BrowserSessionStore> => ({
  insert: (session, max) => insert(tables, session, max, null),

  exchange: ({ codeHash, hash, now, tokenMark }, max) => {
    const row = tables.signInLinks.get(codeHash)
    if (row === undefined || !linkWorks({ ...row.link, ...row }, { now, tokenMark })) return null
    const { link } = row
    if (link.workspaceId !== null && !admitsPortal(tables, link.workspaceId)) return null
    const expiresAt = now + link.sessionMillis
    Object.assign(row, { usedAt: now, expiresAt })
    const { returnUrl, role, workspaceId } = link
    const session = { workspaceId, role, returnUrl, createdAt: now, expiresAt }
    insert(tables, { ...session, hash, tokenMark: link.tokenMark }, max, row)
    return session
  },

  use: (query) => {
    const row = validRow(tables, query)
    if (row === undefined) return null
    row.lastUsedAt = query.now
    row.minute = countRequest(row.minute, query.minuteStart, minuteMillis)
    return { session: toBrowserSession(row.session), count: row.minute.count }
  },

  isValid: (query) => validRow(tables, query) !== undefined,

  end: (hash) => {
    tables.browserSessions.delete(hash)
  },

  insertLink: (link, max) => {
    const { workspaceId } = link
    if (workspaceId !== null) {
      const query = { now: link.createdAt, tokenMark: null }
      const working = listLinks(tables, workspaceId).filter((row) =>
        linkWorks({ ...row.link, ...row }, query),
      )
      if (!admitsPortal(tables, workspaceId) || working.length >= max) return null
    }
    tables.lastLinkId++
    const id = tables.lastLinkId as SignInLinkId
    const row = { id, link, usedAt: null, expiresAt: null, revokedAt: null }
    tables.signInLinks.set(link.codeHash, row)
    return shownLink(row)
  },

  links: (workspaceId, page) => newestFirst(listLinks(tables, workspaceId), page, shownLink),

  revokeLink: (workspaceId, id, now) => {
    const row = listLinks(tables, workspaceId).find((one) => one.id === id)
    if (row === undefined) return false
    row.revokedAt ??= now
    for (const [hash, { link }] of tables.browserSessions) {
      if (link === row) tables.browserSessions.delete(hash)
    }
    return true
  },

  forget: (now, linksBefore) => {
    for (const [hash, { lastUsedAt, session }] of tables.browserSessions) {
      if (hasSessionEnded(session, lastUsedAt, now)) tables.browserSessions.delete(hash)
    }
    for (const [hash, { expiresAt, link }] of tables.signInLinks) {
      const endedAt = expiresAt ?? link.codeExpiresAt
      if (endedAt < linksBefore) tables.signInLinks.delete(hash)
    }
  },
})
