/** The pages of a workspace: who may open them, and which operation each needs. */
import type { BrowserSession } from "@messaging-service/client"
import type { OperationName } from "../api/operations.ts"
import type { IconName } from "./Icon.tsx"
import { buttonNames, pageNames } from "./words.ts"

interface PageOf<Path extends string> {
  readonly name: string
  readonly to: Path
  readonly icon: IconName
  /** The names of its buttons, which find it too. */
  readonly buttons?: ReadonlyArray<string>
  /** Pressed after `g`. */
  readonly key: string
  readonly needs: OperationName
  /** The roles that may open it; every role when left out. */
  readonly roles?: ReadonlyArray<BrowserSession["role"]>
  /** Only for operators of a service with simulated phones. */
  readonly simulated?: true
  /** Only where the workspace has conversations. */
  readonly ofConversations?: true
}

const page = <Path extends string>(about: PageOf<Path>): PageOf<Path> => about

const pages = [
  page({
    name: pageNames.overview,
    to: "/w/$workspaceId/overview",
    icon: "overview",
    key: "o",
    needs: "GET /admin/v1/workspaces/{id}/figures",
  }),
  page({
    name: pageNames.messages,
    to: "/w/$workspaceId/messages",
    icon: "message",
    key: "m",
    needs: "GET /admin/v1/workspaces/{id}/messages",
  }),
  page({
    name: pageNames.chats,
    to: "/w/$workspaceId/chats",
    icon: "chat",
    key: "h",
    needs: "GET /admin/v1/workspaces/{id}/chats",
    ofConversations: true,
  }),
  page({
    name: pageNames.campaigns,
    to: "/w/$workspaceId/campaigns",
    icon: "campaign",
    buttons: [buttonNames.newCampaign],
    key: "a",
    needs: "GET /admin/v1/workspaces/{id}/campaigns",
  }),
  page({
    name: pageNames.numbers,
    to: "/w/$workspaceId/numbers",
    icon: "phone",
    buttons: [buttonNames.linkPhone],
    key: "n",
    needs: "GET /admin/v1/workspaces/{id}/numbers",
  }),
  page({
    name: pageNames.reminders,
    to: "/w/$workspaceId/reminders",
    icon: "bell",
    key: "r",
    needs: "GET /admin/v1/workspaces/{id}/reminders",
  }),
  page({
    name: pageNames.webhooks,
    to: "/w/$workspaceId/webhooks",
    icon: "hook",
    buttons: [buttonNames.addWebhook],
    key: "w",
    needs: "GET /admin/v1/workspaces/{id}/webhooks",
    roles: ["owner", "administrator"],
  }),
  page({
    name: pageNames.media,
    to: "/w/$workspaceId/media",
    icon: "image",
    buttons: [buttonNames.uploadFile],
    key: "f",
    needs: "GET /admin/v1/workspaces/{id}/media",
  }),
  page({
    name: pageNames.numberChecks,
    to: "/w/$workspaceId/number-checks",
    icon: "check",
    buttons: [buttonNames.checkPhones],
    key: "k",
    needs: "GET /admin/v1/workspaces/{id}/number-checks",
  }),
  page({
    name: pageNames.contacts,
    to: "/w/$workspaceId/contacts",
    icon: "people",
    buttons: [buttonNames.addContact],
    key: "c",
    needs: "GET /admin/v1/workspaces/{id}/contacts",
  }),
  page({
    name: pageNames.settings,
    to: "/w/$workspaceId/settings",
    icon: "key",
    buttons: [buttonNames.makeKey],
    key: "s",
    needs: "GET /admin/v1/workspaces/{id}/keys",
    roles: ["owner", "administrator"],
  }),
  page({
    name: pageNames.emulator,
    to: "/w/$workspaceId/emulator",
    icon: "flask",
    key: "e",
    needs: "GET /admin/v1/simulator/sent",
    simulated: true,
  }),
]

/** The pages of operators that belong to no workspace. */
export const consolePages = [
  {
    name: pageNames.workspaces,
    to: "/workspaces",
    icon: "grid",
    buttons: [buttonNames.makeWorkspace],
  },
  { name: pageNames.service, to: "/service", icon: "overview", buttons: [] },
  { name: pageNames.held, to: "/service/held", icon: "pause", buttons: [] },
] as const

export type WorkspacePage = (typeof pages)[number]

export const pagesFor = (
  { kind, role, simulated }: Pick<BrowserSession, "kind" | "role" | "simulated">,
  hasConversations = false,
): ReadonlyArray<WorkspacePage> =>
  pages.filter(
    (each) =>
      (each.roles ?? [role]).includes(role) &&
      (each.simulated === undefined || (kind === "operator" && simulated)) &&
      (each.ofConversations === undefined || hasConversations),
  )
