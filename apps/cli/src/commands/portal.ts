/** Links into workspaces' portals, for operators. */
import type { PortalSession } from "@messaging-service/client"
import { between, choice, command, id, link, maybe, once, workspace } from "../Command.ts"
import { limit, listed } from "./lists.ts"

const stateOf = ({ expires_at, revoked_at, used_at }: PortalSession): string => {
  if (revoked_at !== null) return `revoked ${revoked_at}`
  return used_at === null ? "unused" : `until ${expires_at}`
}

const columns = [
  ["id", ({ id: number }: PortalSession) => number],
  ["role", ({ role }: PortalSession) => role],
  ["created", ({ created_at }: PortalSession) => created_at],
  ["session", stateOf],
] as const

export const portalCommands = [
  command({
    words: "portal create",
    as: "operator",
    summary: "Makes a link into a workspace's portal, which signs in once within 15 minutes.",
    options: {
      workspace,
      role: once(choice(["owner", "administrator", "member"], "What its holder may do.")),
      "return-url": maybe(link("Where the portal leads back to, an https:// address.")),
      "expires-in": maybe(between(60, 86_400, "SECONDS", "How long its session lasts; 3600.")),
    },
    run: async (given, { operator, output }) => {
      const { "expires-in": expires, "return-url": back, role } = given
      const made = await operator().portalSessions.create(given.workspace, {
        role,
        ...(back === undefined ? {} : { return_url: back }),
        ...(expires === undefined ? {} : { expires_in: expires }),
      })
      output.one(made)
    },
  }),
  command({
    words: "portal list",
    as: "operator",
    summary: "Lists the links into a workspace's portal, newest first.",
    options: { workspace, ...limit },
    run: ({ workspace: inside, ...given }, { operator, output }) =>
      listed(given, output, columns, (page) => operator().portalSessions.list(inside, page)),
  }),
  command({
    words: "portal revoke",
    as: "operator",
    summary: "Stops a link and its session at once.",
    arguments: { id: once(id("link")) },
    options: { workspace },
    run: async (given, { operator, output }) =>
      output.one(await operator().portalSessions.revoke(given.workspace, given.id)),
  }),
]
