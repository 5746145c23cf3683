/** Every page with its address. A page is loaded when a user first goes to it. */
import type { QueryClient } from "@tanstack/react-query"
import {
  Outlet,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  useRouter,
} from "@tanstack/react-router"
import type { ErrorComponentProps } from "@tanstack/react-router"
import type { BrowserSession } from "@messaging-service/client"
import { base } from "./api/base.ts"
import { call } from "./api/call.ts"
import { loadSession } from "./api/session.ts"
import {
  parseCampaignsSearch,
  parseEditSearch,
  parseMode,
  parseRowsSearch,
} from "./campaigns/campaignSearch.ts"
import { parseChatSearch } from "./chats/chatSearch.ts"
import { isResultStatus } from "./checks/resultStatus.ts"
import type { ResultStatus } from "./checks/resultStatus.ts"
import { NowherePage } from "./entrance/NowherePage.tsx"
import { PortalPage } from "./entrance/PortalPage.tsx"
import { SignInPage } from "./entrance/SignInPage.tsx"
import { parseMessageSearch } from "./messages/messageSearch.ts"
import { ranges } from "./overview/range.ts"
import type { Range } from "./overview/range.ts"
import { parseTrail } from "./ui/list.ts"
import type { TrailSearch } from "./ui/list.ts"
import { pagesFor } from "./ui/pages.ts"
import { Failure } from "./ui/parts.tsx"
import { Shell } from "./ui/Shell.tsx"
import { WorkspacesPage } from "./workspaces/WorkspacesPage.tsx"

interface Context {
  readonly client: QueryClient
}

/**
 * The page that the import exports by that name. A file that a newer server no longer has makes the document load
 * again; without a connection the document stays, since the browser would replace it by an error of its own.
 */
const lazyPage = <Module extends object, Name extends keyof Module & string>(
  load: () => Promise<Module>,
  name: Name,
) =>
  lazyRouteComponent(
    () =>
      load().catch(async (notFound: unknown) => {
        await call("GET /admin/v1/session", {})
        throw notFound
      }),
    name,
  )

const PageFailure = ({ error, reset }: ErrorComponentProps) => {
  const router = useRouter()
  const again = () => void router.invalidate().finally(reset)
  return (
    <main className="page">
      <Failure error={error instanceof Error ? error : new Error(String(error))} again={again} />
    </main>
  )
}

const root = createRootRouteWithContext<Context>()({
  component: Outlet,
  notFoundComponent: NowherePage,
})

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  // The page judges it: what a component reads is the address as it came.
  validateSearch: (raw: Record<string, unknown>): { to?: string } =>
    typeof raw["to"] === "string" ? { to: raw["to"] } : {},
  beforeLoad: async ({ context }) => {
    if ((await loadSession(context.client)) !== null) throw redirect({ to: "/" })
  },
  component: SignInPage,
})

const portal = createRoute({
  getParentRoute: () => root,
  path: "/portal",
  // Every page asks: the document itself began to, before its script was loaded.
  beforeLoad: ({ context }) => loadSession(context.client).then(() => undefined),
  component: PortalPage,
})

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: async ({ context }) => {
    const session = await loadSession(context.client)
    if (session === null) throw redirect({ to: "/sign-in" })
    if (session.workspace_id === null) throw redirect({ to: "/workspaces" })
    throw redirect({
      to: "/w/$workspaceId",
      params: { workspaceId: String(session.workspace_id) },
    })
  },
})

/** Everything behind the door. */
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  beforeLoad: async ({ context, location }) => {
    const session = await loadSession(context.client)
    if (session === null) throw redirect({ to: "/sign-in", search: { to: location.href } })
    return { session }
  },
  component: Shell,
})

/** Before a page of the console: leads a portal's session to its own workspace. */
const operatorsOnly = ({ context }: { context: { session: BrowserSession } }): void => {
  const { workspace_id: workspaceId } = context.session
  if (workspaceId !== null)
    throw redirect({ to: "/w/$workspaceId", params: { workspaceId: String(workspaceId) } })
}

const parseFindAndTrail = (raw: Record<string, unknown>): { find?: string } & TrailSearch => ({
  ...parseTrail(raw),
  ...(typeof raw["find"] === "string" || typeof raw["find"] === "number"
    ? { find: String(raw["find"]) }
    : {}),
})

const workspaces = createRoute({
  getParentRoute: () => inside,
  path: "/workspaces",
  beforeLoad: operatorsOnly,
  validateSearch: parseFindAndTrail,
  component: WorkspacesPage,
})

/** A workspace without a page: leads to the first one that this session may open. */
const workspace = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId",
  beforeLoad: ({ context, params }) => {
    const [first] = pagesFor(context.session)
    if (first !== undefined) throw redirect({ to: first.to, params })
  },
})

const overview = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/overview",
  validateSearch: (raw: Record<string, unknown>): { range?: Range } => {
    const range = ranges.find((one) => one === raw["range"])
    return range === undefined ? {} : { range }
  },
  component: lazyPage(() => import("./overview/OverviewPage.tsx"), "OverviewPage"),
})

const messages = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/messages",
  validateSearch: parseMessageSearch,
  component: lazyPage(() => import("./messages/MessagesPage.tsx"), "MessagesPage"),
})

const newMessage = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/messages/new",
  validateSearch: ({ media }: Record<string, unknown>): { media?: number } =>
    typeof media === "number" ? { media } : {},
  component: lazyPage(() => import("./messages/NewMessagePage.tsx"), "NewMessagePage"),
})

const chats = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/chats",
  validateSearch: parseChatSearch,
  component: lazyPage(() => import("./chats/ChatsPage.tsx"), "ChatsPage"),
})

const campaigns = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/campaigns",
  validateSearch: parseCampaignsSearch,
  component: lazyPage(() => import("./campaigns/CampaignsPage.tsx"), "CampaignsPage"),
})

const newCampaign = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/campaigns/new",
  validateSearch: parseMode,
  component: lazyPage(() => import("./campaigns/EditCampaignPage.tsx"), "NewCampaignPage"),
})

const campaign = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/campaigns/$campaignId",
  validateSearch: parseRowsSearch,
  component: lazyPage(() => import("./campaigns/CampaignPage.tsx"), "CampaignPage"),
})

const editCampaign = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/campaigns/$campaignId/edit",
  validateSearch: parseEditSearch,
  component: lazyPage(() => import("./campaigns/EditCampaignPage.tsx"), "EditCampaignPage"),
})

const telegram = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/numbers/$numberId/telegram",
  component: lazyPage(() => import("./telegram/TelegramPage.tsx"), "TelegramPage"),
})

const reminders = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/reminders",
  validateSearch: parseTrail,
  component: lazyPage(() => import("./reminders/RemindersPage.tsx"), "RemindersPage"),
})

const newReminder = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/reminders/new",
  component: lazyPage(() => import("./reminders/NewReminderPage.tsx"), "NewReminderPage"),
})

const reminder = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/reminders/$reminderId",
  validateSearch: parseTrail,
  component: lazyPage(() => import("./reminders/ReminderPage.tsx"), "ReminderPage"),
})

const mediaFiles = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/media",
  validateSearch: (raw: Record<string, unknown>): TrailSearch & { kind?: "image" | "file" } => ({
    ...parseTrail(raw),
    ...(raw["kind"] === "image" || raw["kind"] === "file" ? { kind: raw["kind"] } : {}),
  }),
  component: lazyPage(() => import("./media/MediaPage.tsx"), "MediaPage"),
})

const checks = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/number-checks",
  validateSearch: parseTrail,
  component: lazyPage(() => import("./checks/ChecksPage.tsx"), "ChecksPage"),
})

const check = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/number-checks/$checkId",
  validateSearch: (raw: Record<string, unknown>): TrailSearch & { status?: ResultStatus } => ({
    ...parseTrail(raw),
    ...(isResultStatus(raw["status"]) ? { status: raw["status"] } : {}),
  }),
  component: lazyPage(() => import("./checks/CheckPage.tsx"), "CheckPage"),
})

const numbers = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/numbers",
  component: lazyPage(() => import("./numbers/NumbersPage.tsx"), "NumbersPage"),
})

const number = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/numbers/$numberId",
  component: lazyPage(() => import("./numbers/NumberPage.tsx"), "NumberPage"),
})

const link = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/numbers/$numberId/link",
  component: lazyPage(() => import("./numbers/LinkPage.tsx"), "LinkPage"),
})

const settings = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/settings",
  component: lazyPage(() => import("./settings/SettingsPage.tsx"), "SettingsPage"),
})

const contacts = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/contacts",
  validateSearch: parseFindAndTrail,
  component: lazyPage(() => import("./contacts/ContactsPage.tsx"), "ContactsPage"),
})

const webhooks = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/webhooks",
  component: lazyPage(() => import("./webhooks/WebhooksPage.tsx"), "WebhooksPage"),
})

const callbacks = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/webhooks/callbacks",
  validateSearch: parseTrail,
  component: lazyPage(() => import("./webhooks/CallbacksPage.tsx"), "CallbacksPage"),
})

const webhookLog = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/webhooks/$webhookId",
  validateSearch: (raw: Record<string, unknown>): TrailSearch & { failed?: true } => ({
    ...parseTrail(raw),
    ...(raw["failed"] === true ? { failed: true } : {}),
  }),
  component: lazyPage(() => import("./webhooks/WebhookPage.tsx"), "WebhookPage"),
})

const service = createRoute({
  getParentRoute: () => inside,
  path: "/service",
  beforeLoad: operatorsOnly,
  component: lazyPage(() => import("./service/ServicePage.tsx"), "ServicePage"),
})

const held = createRoute({
  getParentRoute: () => inside,
  path: "/service/held",
  beforeLoad: operatorsOnly,
  component: lazyPage(() => import("./held/HeldPage.tsx"), "HeldPage"),
})

const listOnHold = createRoute({
  getParentRoute: () => inside,
  path: "/service/held/$workspaceId",
  beforeLoad: operatorsOnly,
  validateSearch: parseTrail,
  component: lazyPage(() => import("./held/HeldMessagesPage.tsx"), "HeldMessagesPage"),
})

/** A parameter of the address; digits come as a number. */
const pickText = <const Name extends string>(
  raw: Record<string, unknown>,
  name: Name,
): { readonly [N in Name]?: string } => {
  const value = raw[name]
  const isText = typeof value === "string" || typeof value === "number"
  return isText ? ({ [name]: String(value) } as { readonly [N in Name]: string }) : {}
}

const emulator = createRoute({
  getParentRoute: () => inside,
  path: "/w/$workspaceId/emulator",
  validateSearch: (raw: Record<string, unknown>): { phone?: string; receiver?: string } => ({
    ...pickText(raw, "phone"),
    ...pickText(raw, "receiver"),
  }),
  component: lazyPage(() => import("./emulator/EmulatorPage.tsx"), "EmulatorPage"),
})

const tree = root.addChildren([
  signIn,
  portal,
  home,
  inside.addChildren([
    workspaces,
    workspace,
    overview,
    messages,
    newMessage,
    chats,
    campaigns,
    newCampaign,
    campaign,
    editCampaign,
    telegram,
    reminders,
    newReminder,
    reminder,
    mediaFiles,
    checks,
    check,
    numbers,
    number,
    link,
    contacts,
    webhooks,
    callbacks,
    webhookLog,
    settings,
    emulator,
    service,
    held,
    listOnHold,
  ]),
])

export const makeRouter = (client: QueryClient) =>
  createRouter({
    routeTree: tree,
    basepath: base,
    context: { client },
    defaultPreload: "intent",
    defaultErrorComponent: PageFailure,
  })

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
