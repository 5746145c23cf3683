/** Links into a workspace's portal (contract: Portal links). */
import { described, PageInput, PortalLinkBody, PortalLinks, roles } from "@messaging-service/core"
import type { CreatePortalLink, ListPage } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { jsonBody, IdJson, json, page, pageBody, query, Time } from "../Entry.ts"
import { operatorRoute, workspacePath } from "./pipeline.ts"
import type { OperatorRoute } from "./pipeline.ts"

const PortalSessionJson = Schema.Struct({
  id: IdJson,
  role: Schema.Literals(roles),
  returnUrl: Schema.NullOr(Schema.String),
  createdAt: Time,
  codeExpiresAt: described(Time, "The link signs in until then, 15 minutes from its creation."),
  usedAt: Schema.NullOr(Time),
  expiresAt: described(Schema.NullOr(Time), "The end of the session; null until used."),
  revokedAt: Schema.NullOr(Time),
}).annotate({ identifier: "PortalSession" })

const NewPortalSessionJson = Schema.Struct({
  ...PortalSessionJson.fields,
  url: described(Schema.String, "The link, shown only here. It works once."),
}).annotate({ identifier: "NewPortalSession" })

const RevokedJson = Schema.Struct({ id: IdJson, revoked: Schema.Literal(true) }).annotate({
  identifier: "RevokedPortalSession",
})

const example = {
  id: 5,
  role: "owner",
  return_url: "https://shop.example.com/settings",
  created_at: "2030-01-31T07:00:00Z",
  code_expires_at: "2030-01-31T07:15:00Z",
  used_at: null,
  expires_at: null,
  revoked_at: null,
} as const

const route = operatorRoute("Portal links")

const linksPath = `${workspacePath}/portal-sessions` as const

export const portalLinkRoutes: ReadonlyArray<OperatorRoute> = [
  route(`POST ${linksPath}`, {
    id: "createPortalSession",
    right: "own",
    summary: "Create a link into the portal",
    about: "The link signs in once, within 15 minutes.",
    request: json<CreatePortalLink>()(PortalLinkBody, { role: "owner", expires_in: 3600 }),
    status: 201,
    success: "The link.",
    answer: jsonBody(NewPortalSessionJson, {
      ...example,
      url: `https://messages.example.com/portal#code=${"0".repeat(64)}`,
    }),
    refused: ["account_disabled", "portal_link_limit_reached"],
    handler: Effect.fnUntraced(function* createPortalSession({ id, request, role }) {
      const links = yield* PortalLinks
      const { link, url } = yield* links.create(role, id("id"), request)
      return { ...link, url }
    }),
  }),
  route(`GET ${linksPath}`, {
    id: "listPortalSessions",
    right: "own",
    summary: "List links into the portal",
    about: "Newest first; ended ones for 30 days.",
    request: query<ListPage>()(PageInput),
    success: "A page of links.",
    answer: pageBody(PortalSessionJson, example),
    handler: Effect.fnUntraced(function* listPortalSessions({ id, request, role }) {
      const links = yield* PortalLinks
      return page(yield* links.list(role, id("id"), request))
    }),
  }),
  route(`DELETE ${linksPath}/{session_id}`, {
    id: "revokePortalSession",
    right: "own",
    summary: "Revoke a link into the portal",
    about: "The link and its session stop at once.",
    success: "Revoked.",
    answer: jsonBody(RevokedJson, { id: 5, revoked: true }),
    refused: ["portal_session_not_found"],
    handler: Effect.fnUntraced(function* revokePortalSession({ id, role }) {
      const links = yield* PortalLinks
      const revoked = yield* links.revoke(role, id("id"), id("session_id"))
      return { id: revoked, revoked: true as const }
    }),
  }),
]
