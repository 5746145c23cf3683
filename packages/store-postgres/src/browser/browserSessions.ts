/** Signed-in browsers, and the links that sign one in. */
import { erasedAtOnce } from "@messaging-service/core"
import type {
  BrowserSession,
  BrowserSessionStore,
  Role,
  SignInLink,
  SignInLinkId,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { idOrNull, millis, statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"

type SessionRow = Omit<Row<"browser.use">, "minute_count">

const toSession = (row: SessionRow): BrowserSession => ({
  workspaceId: idOrNull<WorkspaceId>(row.workspace_id),
  role: row.role as Role,
  returnUrl: row.return_url,
  createdAt: row.created_at.getTime(),
  expiresAt: row.expires_at.getTime(),
})

const toLink = (row: Row<"browser.links">): SignInLink => ({
  id: Number(row.id) as SignInLinkId,
  role: row.role as Role,
  returnUrl: row.return_url,
  createdAt: row.created_at.getTime(),
  codeExpiresAt: row.code_expires_at.getTime(),
  usedAt: millis(row.used_at),
  expiresAt: millis(row.expires_at),
  revokedAt: millis(row.revoked_at),
})

const insertSession = statement("insert_browser_session")
const exchangeLink = statement("exchange_sign_in_link")
const useSession = statement("browser.use")
const findSession = statement("browser.isValid")
const endSession = statement("browser.end")
const insertLink = statement("insert_sign_in_link")
const listLinks = statement("browser.links")
const revokeLink = statement("revoke_sign_in_link")
const forgetSessions = statement("browser.forgetSessions")
const forgetLinks = statement("browser.forgetLinks")

export const browserSessionStore = (database: DatabaseService): BrowserSessionStore => ({
  insert(session, most) {
    return insertSession.run(database, { ...session, linkId: null, most })
  },
  exchange(query, most) {
    return exchangeLink.first(database, { ...query, most }, (row) => toSession(row as SessionRow))
  },
  use(query) {
    return useSession.first(database, query, (row) => ({
      session: toSession(row),
      count: row.minute_count,
    }))
  },
  isValid(query) {
    return findSession.any(database, query)
  },
  end(hash) {
    return endSession.run(database, { hash })
  },
  insertLink(link, most) {
    const { codeExpiresAt, createdAt, returnUrl, role } = link
    const linkFields = { role, returnUrl, createdAt, codeExpiresAt }
    const unused = { usedAt: null, expiresAt: null, revokedAt: null }
    return Effect.map(insertLink.value(database, { ...link, most }), (id) =>
      id === null ? null : { id: Number(id) as SignInLinkId, ...linkFields, ...unused },
    )
  },
  links(workspaceId, page) {
    return listLinks.page(database, workspaceId, { ...page, workspaceId }, toLink)
  },
  revokeLink(workspaceId, id, now) {
    return revokeLink.isTrue(database, { workspaceId, id, now })
  },
  forget(now, before) {
    return Effect.andThen(
      forgetSessions.untilDone(database, { now, limit: erasedAtOnce }),
      forgetLinks.untilDone(database, { before, limit: erasedAtOnce }),
    )
  },
})
