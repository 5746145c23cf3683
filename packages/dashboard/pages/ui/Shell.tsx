/** What is around every page: the way between pages, whether news arrive, who is signed in. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import {
  Link,
  Outlet,
  useLocation,
  useParams,
  useRouteContext,
  useRouter,
} from "@tanstack/react-router"
import { useEffect, useState } from "react"
import type { BrowserSession, Workspace } from "@messaging-service/client"
import { base } from "../api/base.ts"
import { operationQuery, call } from "../api/call.ts"
import { useLive } from "../api/live.ts"
import type { LiveState } from "../api/live.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { useSessionHasEnded } from "../api/session.ts"
import { unreadMax, useUnreadChats } from "../chats/unreadChats.ts"
import { NowherePage } from "../entrance/NowherePage.tsx"
import { SignedOut } from "../entrance/SignInPage.tsx"
import { HeldBar } from "../held/HeldBar.tsx"
import { useCommands } from "./commands.ts"
import { Icon } from "./Icon.tsx"
import { useKeys } from "./keys.ts"
import { consolePages, pagesFor } from "./pages.ts"
import type { WorkspacePage } from "./pages.ts"
import { KeysHelp, Palette } from "./Palette.tsx"
import { Button, Kbd } from "./parts.tsx"
import { changeTheme } from "./theme.ts"
import { ServiceClock, span } from "./Time.tsx"
import { Toasts } from "./Toast.tsx"
import { buttonNames, liveLabels, shellLabels as labels, zoneLabels } from "./words.ts"
import { changeZone, useOtherZone } from "./zone.ts"

type Over = "palette" | "keys" | null

/** What surrounds a page. To a portal's session, the address of another workspace is not a page. */
export const Shell = () => {
  const { workspaceId } = useParams({ strict: false })
  const { session } = useRouteContext({ from: "/inside" })
  const isElsewhere =
    session.workspace_id !== null &&
    workspaceId !== undefined &&
    Number(workspaceId) !== session.workspace_id
  return isElsewhere ? (
    <NowherePage />
  ) : (
    <Surroundings session={session} workspaceId={workspaceId} />
  )
}

const Surroundings = ({
  session,
  workspaceId,
}: {
  session: BrowserSession
  workspaceId: string | undefined
}) => {
  const [over, setOver] = useState<Over>(null)
  const signOut = useSignOut()
  useOpenPageInView()
  const hasEnded = useSessionHasEnded()
  const isOperator = session.kind === "operator"
  const workspaces = useQuery({
    ...operationQuery("GET /admin/v1/workspaces", { query: { limit: 100 } }),
    enabled: isOperator,
  })
  const workspace = useOpenWorkspace(workspaceId)
  const unreadChats = useUnreadChats(workspaceId === undefined ? undefined : Number(workspaceId))
  const pages = pagesFor(session, unreadChats != null)
  const { commands, goTo, guess } = useCommands({
    isOperator,
    pages,
    workspaceId,
    workspaces: workspaces.data?.data ?? [],
    showKeys: () => setOver("keys"),
    signOut: signOut.mutate,
  })
  const close = () => setOver(null)

  useKeys({
    "?": () => setOver("keys"),
    c: () => goTo("/w/$workspaceId/messages/new"),
    ...Object.fromEntries(pages.map(({ key, to }) => [`g ${key}`, () => goTo(to)])),
  })
  usePaletteKey(() => setOver((now) => (now === "palette" ? null : "palette")))

  return (
    <div className="grid min-h-dvh grid-cols-1 grid-rows-[auto_1fr] md:grid-cols-[14rem_minmax(0,1fr)] md:grid-rows-1">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:absolute focus:z-10 focus:m-2 focus:bg-surface focus:p-2"
      >
        {labels.skip}
      </a>
      <SideBar
        session={session}
        pages={pages}
        unreadChats={unreadChats ?? 0}
        workspaceId={workspaceId}
        name={workspace?.name ?? null}
        openPalette={() => setOver("palette")}
        signOut={signOut}
      />
      <div id="content" tabIndex={-1} className="min-w-0 outline-none">
        {isOperator && <HeldBar />}
        {workspace?.account_disabled === true && <DisabledBar isOperator={isOperator} />}
        <Outlet />
      </div>
      <Toasts />
      {over === "palette" && (
        <Palette commands={commands} guess={guess} isOperator={isOperator} close={close} />
      )}
      {hasEnded && <SignedOut kind={session.kind} />}
      {over === "keys" && <KeysHelp rows={keyRows(pages)} close={close} />}
    </div>
  )
}

/** The workspace that is open; undefined without one, or while it is not known. */
const useOpenWorkspace = (workspaceId: string | undefined): Workspace | undefined =>
  useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}", { path: { id: Number(workspaceId) } }),
    enabled: workspaceId !== undefined,
  }).data

/** On every page of a workspace that the operator disabled. */
const DisabledBar = ({ isOperator }: { isOperator: boolean }) => (
  <p
    role="status"
    className="flex items-center gap-2 border-b border-line bg-red-wash px-4 py-2 text-sm text-red md:px-6"
  >
    <Icon name="warning" />
    {isOperator ? labels.disabledForOperators : labels.disabled}
  </p>
)

interface SignOut {
  readonly isPending: boolean
  readonly mutate: () => void
}

const useSignOut = (): SignOut => {
  const client = useQueryClient()
  const router = useRouter()
  const { isPending, mutate } = useMutation({
    mutationFn: () => call("DELETE /admin/v1/session", {}),
    onSettled: () => {
      client.clear()
      router.history.push(`${base}sign-in`)
    },
  })
  return { isPending, mutate: () => mutate() }
}

const usePaletteKey = (toggle: () => void) => {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      toggle()
    }
    addEventListener("keydown", pressed)
    return () => removeEventListener("keydown", pressed)
  })
}

/** In an open chat. */
const keysOfChats = [
  ["r", labels.keys.answer],
  ["m", labels.keys.markRead],
] as const

const keyRows = (
  pages: ReadonlyArray<WorkspacePage>,
): ReadonlyArray<readonly [keys: string, what: string]> => [
  ["Ctrl K", labels.keys.goTo],
  ["c", buttonNames.newMessage],
  ["/", labels.keys.find],
  ["j", labels.keys.next],
  ["k", labels.keys.previous],
  ["Enter", labels.keys.open],
  ["Esc", labels.keys.close],
  ...(pages.some(({ ofConversations }) => ofConversations) ? keysOfChats : []),
  ...pages.map(({ key, name }) => [`g ${key}`, name] as const),
  ["?", labels.keys.all],
]

const path =
  "flex h-8 items-center gap-2 rounded-md px-2 text-sm text-soft hover:bg-sunken hover:text-ink aria-[current=page]:bg-accent-wash aria-[current=page]:font-medium aria-[current=page]:text-accent max-md:h-10 max-md:shrink-0"

/** On a narrow window the pages are a line that scrolls: the open one comes into view. */
const useOpenPageInView = () => {
  const { pathname } = useLocation()
  useEffect(() => {
    document
      .querySelector('nav [aria-current="page"]')
      ?.scrollIntoView({ block: "nearest", inline: "center" })
  }, [pathname])
}

const SideBar = ({
  name,
  openPalette,
  pages,
  session,
  signOut,
  unreadChats,
  workspaceId,
}: {
  session: BrowserSession
  pages: ReadonlyArray<WorkspacePage>
  unreadChats: number
  workspaceId: string | undefined
  /** The workspace's name; null while it is unknown. */
  name: string | null
  openPalette: () => void
  signOut: SignOut
}) => (
  <aside className="flex gap-1 border-line bg-surface max-md:flex-wrap max-md:items-center max-md:border-b max-md:px-3 max-md:pt-2 md:sticky md:top-0 md:h-dvh md:flex-col md:overflow-y-auto md:border-r md:p-3">
    <Where isOperator={session.kind === "operator"} name={name} workspaceId={workspaceId} />
    <button
      type="button"
      onClick={openPalette}
      aria-keyshortcuts="Control+K Meta+K"
      className="control shrink-0 cursor-pointer border-line text-soft hover:bg-sunken max-md:size-10 max-md:border-0 max-md:px-0 md:mb-3 md:justify-start"
    >
      <Icon name="search" />
      <span className="max-md:sr-only">{labels.goTo}</span>
      <span className="ml-auto max-md:hidden">
        <Kbd>Ctrl K</Kbd>
      </span>
    </button>
    {workspaceId !== undefined && (
      <nav
        aria-label={labels.pages}
        className="flex gap-0.5 max-md:order-3 max-md:-mx-3 max-md:w-[calc(100%+1.5rem)] max-md:overflow-x-auto max-md:pl-3 max-md:fades max-md:pb-1 md:flex-col max-md:[&_svg]:hidden"
      >
        {pages.map(({ icon, name: called, ofConversations, to }) => (
          <div key={to} className="relative max-md:shrink-0">
            <Link to={to} params={{ workspaceId }} className={path}>
              <Icon name={icon} />
              {called}
            </Link>
            {ofConversations && unreadChats > 0 && <UnreadChats count={unreadChats} />}
          </div>
        ))}
      </nav>
    )}
    {workspaceId === undefined && session.kind === "operator" && <ConsolePages />}
    <Foot session={session} workspaceId={workspaceId} signOut={signOut} />
  </aside>
)

/** Next to the link, but not part of its name. */
const UnreadChats = ({ count }: { count: number }) => (
  <span className="pointer-events-none absolute top-2 right-2 rounded-full bg-accent px-1.5 text-2xs font-semibold text-on-accent tabular-nums max-md:top-0 max-md:right-0 max-md:px-1">
    <span aria-hidden="true">{count > unreadMax ? `${unreadMax}+` : count}</span>
    <span className="sr-only">{labels.unreadChats(count, unreadMax)}</span>
  </span>
)

/** News, theme, sign-out, the service's time and who is signed in. */
const Foot = ({
  session,
  signOut,
  workspaceId,
}: {
  session: BrowserSession
  workspaceId: string | undefined
  signOut: SignOut
}) => (
  <div className="flex gap-0.5 max-md:ml-0 md:mt-auto md:flex-col md:items-stretch">
    {workspaceId !== undefined && <Live workspaceId={Number(workspaceId)} />}
    <Button variant="quiet" onClick={changeTheme} className="gap-2! max-md:hidden">
      <Icon name="half" />
      {labels.theme}
    </Button>
    <Button
      variant="quiet"
      busy={signOut.isPending}
      onClick={signOut.mutate}
      className="gap-2! max-md:size-10 max-md:justify-center"
    >
      <Icon name="exit" />
      <span className="max-md:sr-only">{labels.signOut}</span>
    </Button>
    <div className="mt-2 border-t border-line px-2 pt-2 text-xs text-faint max-md:hidden">
      <Clock />
      <p>{labels.signedInAs(session.kind === "operator" ? labels.operator : session.role)}</p>
      {session.return_url !== null && (
        <a href={session.return_url} className="text-accent hover:underline">
          {labels.goBack}
        </a>
      )}
    </div>
  </div>
)

const ConsolePages = () => (
  <nav
    aria-label={labels.pages}
    className="flex gap-0.5 max-md:order-3 max-md:-mx-3 max-md:w-[calc(100%+1.5rem)] max-md:overflow-x-auto max-md:pl-3 max-md:fades max-md:pb-1 md:flex-col"
  >
    {consolePages.map(({ icon, name, to }) => (
      <Link key={to} to={to} activeOptions={{ exact: true }} className={path}>
        <Icon name={icon} />
        {name}
      </Link>
    ))}
  </nav>
)

/** The workspace on the page; for operators the way to the others. */
const Where = ({
  isOperator,
  name,
  workspaceId,
}: {
  isOperator: boolean
  name: string | null
  workspaceId: string | undefined
}) => {
  const inner = (
    <>
      <img src={`${base}icon.svg`} alt="" width="26" height="26" />
      <span className="min-w-0 text-left">
        <span className="block truncate text-sm font-semibold">
          {workspaceId === undefined ? labels.product : (name ?? labels.workspace)}
        </span>
        <span className="block text-2xs text-faint">
          {workspaceId === undefined ? labels.console : labels.workspaceId(workspaceId)}
        </span>
      </span>
    </>
  )
  const tone =
    "flex min-w-0 items-center gap-2.5 rounded-md px-2 py-1.5 max-md:mr-auto max-md:px-0 md:mb-2"
  return isOperator ? (
    <Link to="/workspaces" aria-label={labels.allWorkspaces} className={`${tone} hover:bg-sunken`}>
      {inner}
      <Icon name="switch" className="text-faint md:ml-auto" />
    </Link>
  ) : (
    <div className={tone}>{inner}</div>
  )
}

const dots: Readonly<Record<LiveState, string>> = {
  connecting: "bg-amber",
  live: "bg-mark",
  offline: "bg-mark-red",
  paused: "bg-edge",
}

const Live = ({ workspaceId }: { workspaceId: number }) => {
  const [paused, setPaused] = useState(false)
  const hasEnded = useSessionHasEnded()
  const state = useLive(workspaceId, paused || hasEnded)
  const does = paused ? labels.showNews : labels.holdStill
  return (
    // Around the button: a screen reader takes what is inside of one for its name alone.
    <div role="status">
      <button
        type="button"
        aria-label={`${liveLabels[state]}: ${does}`}
        title={does}
        onClick={() => setPaused(!paused)}
        className="flex h-8 w-full cursor-pointer items-center gap-2 rounded-md px-2 text-sm text-soft hover:bg-sunken max-md:h-10"
      >
        <span className="grid size-4 place-items-center" aria-hidden="true">
          <span className={`size-2 rounded-full ${dots[state]}`} />
        </span>
        {liveLabels[state]}
      </button>
    </div>
  )
}

/** Below that, the service's time and the browser's count as one. */
const sameTimeMillis = 90_000

const Clock = () => {
  const now = useServiceTime()
  const other = useOtherZone()
  const ahead = now - Date.now()
  return (
    <div className="tabular-nums">
      <ServiceClock />
      {other !== null && (
        <button
          type="button"
          onClick={changeZone}
          className="block cursor-pointer text-accent hover:underline"
        >
          {zoneLabels.change(other)}
        </button>
      )}
      {ahead > sameTimeMillis && (
        <span className="block text-violet">{labels.movedOn(span(ahead))}</span>
      )}
    </div>
  )
}
