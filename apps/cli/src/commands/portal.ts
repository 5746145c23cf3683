/** Links into workspaces' portals, for operators. */
import type { PortalSession } from "@messaging-service/client"
import { between, choice, command, link, maybe, once, workspace } from "../Command.ts"
import { toFields, operatorLists, operatorDetail } from "./rows.ts"

const getState = ({ expires_at, revoked_at, used_at }: PortalSession) => {
  if (revoked_at !== null) return ["revoked", revoked_at]
  return used_at === null ? ["unused"] : ["until", expires_at]
}

const columns = ["id", "role", ["created", "created_at"], ["session", getState]] as const

export const portalCommands = [
  command({
    name: "portal create",
    as: "operator",
    summary: "Creates a portal link; it works once, within 15 minutes.",
    options: {
      workspace,
      role: once(choice(["owner", "administrator", "member"], "What its holder may do.")),
      "return-url": maybe(link("Where the portal leads back to, an https:// address.")),
      "expires-in": maybe(between(60, 86_400, "SECONDS", "How long its session lasts; 3600.")),
    },
    run: async ({ workspace: inside, ...args }, { operator, output }) =>
      output.one(await operator().portalSessions.create(inside, toFields(args))),
  }),
  operatorLists(
    "portal list",
    "portalSessions.list",
    "Lists the links into a workspace's portal, newest first.",
    columns,
  ),
  operatorDetail(
    "portal revoke",
    "link",
    "portalSessions.revoke",
    "Revokes a link and ends its session.",
  ),
]
