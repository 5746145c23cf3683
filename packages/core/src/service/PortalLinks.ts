/** Links that open a workspace's portal once (contract: Portal links). */
import { Context, Effect, Layer, Schema } from "effect"
import { refuse } from "../model/Refusal.ts"
import type { Failure } from "../model/Refusal.ts"
import { isLoopback } from "../model/Egress.ts"
import { Ids } from "../model/Ids.ts"
import type { SignInLinkId, WorkspaceId } from "../model/Ids.ts"
import { described, inputDecoder, integerBetween, PublicUrl } from "../model/Input.ts"
import type { CommandOf } from "../model/Input.ts"
import { makeCursors, parsePageRequest } from "../model/Page.ts"
import type { CursorPage, ListPage } from "../model/Page.ts"
import { ConnectedFromTheStart } from "./Numbers.ts"
import { hashSecret } from "../model/Secrets.ts"
import { Store } from "../store/Store.ts"
import { RealTime } from "../model/Time.ts"
import { roles } from "../model/Workspace.ts"
import type { Role } from "../model/Workspace.ts"
import { Workspaces } from "./Workspaces.ts"
import type { WorkspaceCode } from "./Workspaces.ts"
import { linkMillis, secretDigits, unusedLinks } from "./BrowserSessions.ts"
import type { SignInLink } from "../store/BrowserSessionStore.ts"

/** Seconds that a session lasts unless the link says otherwise. */
const defaultSeconds = 3600

/**
 * Whether a page can link to it as it stands: `https:host` is relative in a page, and blanks hide a host. A
 * program under development, with simulated phones, has an `http` address of its own machine.
 */
const isReturnUrl = (text: string, simulated: boolean): boolean => {
  if (text.length > 2048 || !/^https?:\/\/[^\s/\\]/i.test(text) || /\s$/.test(text)) return false
  if (!URL.canParse(text)) return false
  const { hostname, password, protocol, username } = new URL(text)
  const isAllowed = protocol === "https:" || (simulated && isLoopback(hostname))
  return isAllowed && username === "" && password === ""
}

const returnUrlRule = (simulated: boolean): string =>
  simulated
    ? "must be an https:// address, or an http:// one of this machine, without credentials, of up to 2,048 characters"
    : "must be an https:// address without credentials, of up to 2,048 characters"

const bodyFor = (simulated: boolean) =>
  Schema.Struct({
    role: described(Schema.Literals(roles), "What the session may do."),
    expiresIn: described(
      Schema.optionalKey(integerBetween(60, 86_400)),
      "Seconds that the session lasts from its first use.",
      { default: defaultSeconds },
    ),
    returnUrl: described(
      Schema.optionalKey(
        Schema.NullOr(
          Schema.String.check(
            Schema.makeFilter((url) =>
              isReturnUrl(url, simulated) ? undefined : returnUrlRule(simulated),
            ),
          ),
        ),
      ),
      "Where the portal leads back to: an `https://` address, or with simulated phones an `http://` one of this machine; null for nowhere.",
      { default: null },
    ),
  }).annotate({ identifier: "CreatePortalSession" })

export const PortalLinkBody = bodyFor(true)

export type CreatePortalLink = CommandOf<typeof PortalLinkBody.Encoded>

export class PortalLinks extends Context.Service<
  PortalLinks,
  {
    /**
     * POST …/portal-sessions. Only this answer has the `url`. Its code is behind `#`, so that no
     * server, log or referrer sees it.
     */
    create(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      command: CreatePortalLink,
    ): Effect.Effect<
      { readonly link: SignInLink; readonly url: string },
      Failure<
        WorkspaceCode | "validation_failed" | "account_disabled" | "portal_link_limit_reached"
      >
    >
    /** GET …/portal-sessions: newest first. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      query: ListPage,
    ): Effect.Effect<
      CursorPage<SignInLink>,
      Failure<WorkspaceCode | "validation_failed" | "invalid_cursor">
    >
    /** DELETE: link and session stop at once. */
    revoke(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: SignInLinkId | undefined,
    ): Effect.Effect<SignInLinkId, Failure<WorkspaceCode | "portal_session_not_found">>
  }
>()("core/PortalLinks") {
  static readonly layer = Layer.effect(
    PortalLinks,
    Effect.gen(function* make() {
      const store = (yield* Store).browserSessions
      const workspaces = yield* Workspaces
      const cursors = yield* makeCursors
      const ids = yield* Ids
      const publicUrl = yield* PublicUrl
      const { systemMillis } = yield* RealTime
      const decodeBody = inputDecoder(bodyFor(yield* ConnectedFromTheStart))

      return PortalLinks.of({
        create: Effect.fn("PortalLinks.create")(function* create(role, workspaceId, command) {
          const workspace = yield* workspaces.within(role, workspaceId, "portal_links")
          const input = yield* Effect.fromResult(decodeBody(command))
          if (workspace.accountDisabled) return yield* refuse("account_disabled")
          const code = ids.hex(secretDigits)
          const createdAt = yield* systemMillis
          const link = {
            workspaceId: workspace.id,
            role: input.role,
            returnUrl: input.returnUrl ?? null,
            codeHash: hashSecret(code),
            tokenMark: null,
            createdAt,
            codeExpiresAt: createdAt + linkMillis,
            sessionMillis: (input.expiresIn ?? defaultSeconds) * 1000,
          }
          const signInLink = yield* store.insertLink(link, unusedLinks)
          if (signInLink === null) return yield* refuse("portal_link_limit_reached")
          return { link: signInLink, url: `${publicUrl}/portal#code=${code}` }
        }),
        list: Effect.fn("PortalLinks.list")(function* list(role, workspaceId, query) {
          const request = yield* Effect.fromResult(parsePageRequest(query))
          const { id } = yield* workspaces.within(role, workspaceId, "portal_links")
          return yield* cursors.page(request, ["portal-sessions", id], (page) =>
            store.links(id, page),
          )
        }),
        revoke: Effect.fn("PortalLinks.revoke")(function* revoke(role, workspaceId, id) {
          const workspace = yield* workspaces.within(role, workspaceId, "portal_links")
          const now = yield* systemMillis
          if (id === undefined || !(yield* store.revokeLink(workspace.id, id, now))) {
            return yield* refuse("portal_session_not_found")
          }
          return id
        }),
      })
    }),
  )
}
