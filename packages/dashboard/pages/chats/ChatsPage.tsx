/** The chats of a workspace, next to the one that is open, which covers the page on a narrow window. */
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import type { Chat } from "@messaging-service/client"
import { useQuery } from "@tanstack/react-query"
import { Refused, operationQuery } from "../api/call.ts"
import { toName } from "../numbers/connection.ts"
import { NumberFilter } from "../numbers/NumberFilter.tsx"
import { PagedAnswer } from "../ui/Answer.tsx"
import { Find, ModeFilter, pill } from "../ui/filters.tsx"
import { Icon } from "../ui/Icon.tsx"
import { useKeys } from "../ui/keys.ts"
import { useList } from "../ui/list.ts"
import { Menu } from "../ui/Menu.tsx"
import { Button, Empty, PageHead } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import { getAddress, getChatName } from "./chats.ts"
import { chatQuery, isFiltered } from "./chatSearch.ts"
import type { ChatSearch } from "./chatSearch.ts"
import { usePreviews } from "./previews.ts"
import { Thread } from "./Thread.tsx"
import { pollMillis } from "./unreadChats.ts"
import { chatsLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/chats")

export const ChatsPage = () => {
  const id = Number(route.useParams().workspaceId)
  const search = route.useSearch()
  const list = useList(
    "GET /admin/v1/workspaces/{id}/chats",
    { path: { id }, query: chatQuery(search) },
    () => pollMillis,
  )
  const chats = list.query.data?.data ?? []
  const { change, open } = useOpen(search)
  useChatKeys(chats, search.open, open)
  const isOff = isRefusedAsOff(list.query.error)

  return (
    <div className="flex min-h-dvh">
      <main className="flex min-w-0 grow flex-col gap-3 p-4 md:p-6 lg:max-w-md lg:basis-1/3">
        <PageHead title={labels.title} />
        {isOff ? (
          <Empty icon="chat" title={labels.off}>
            <p className="mb-3">{labels.offAbout}</p>
            <Link
              to="/w/$workspaceId/settings"
              params={{ workspaceId: String(id) }}
              className="control"
            >
              {labels.toSettings}
            </Link>
          </Empty>
        ) : (
          <>
            <Filters search={search} change={change} workspaceId={id} />
            <PagedAnswer list={list} rows={8}>
              {(rows) =>
                rows.length === 0 ? (
                  <Nothing search={search} clear={() => change(noFilter)} />
                ) : (
                  <Rows chats={rows} search={search} workspaceId={id} />
                )
              }
            </PagedAnswer>
          </>
        )}
      </main>
      {search.open === undefined ? (
        <section
          aria-label={labels.noneOpen}
          className="sticky top-0 flex h-dvh grow basis-2/3 flex-col items-center justify-center gap-3 border-l border-line text-soft max-lg:hidden"
        >
          <Icon name="chat" />
          {labels.choose}
        </section>
      ) : (
        <Thread
          key={search.open}
          workspaceId={id}
          chatId={search.open}
          mode={search.mode}
          known={chats.find((chat) => chat.id === search.open)}
          open={open}
        />
      )}
    </div>
  )
}

const isRefusedAsOff = (error: Error | null): boolean =>
  error instanceof Refused && error.code === "conversations_not_enabled"

const noFilter: ChatSearch = { find: undefined, number: undefined, unread: undefined }

/** The ways to change the address. */
const useOpen = (search: ChatSearch) => {
  const navigate = useNavigate({ from: "/w/$workspaceId/chats" })
  return {
    /** A changed filter begins at the first page again. */
    change: (to: ChatSearch) =>
      void navigate({ search: (old) => ({ ...old, trail: undefined, ...to }) }),
    // The first opening makes an entry of history, so that "back" closes the chat.
    open: (chat: number | undefined) =>
      void navigate({
        search: (old) => ({ ...old, open: chat }),
        replace: search.open !== undefined,
      }),
  }
}

const useChatKeys = (
  chats: ReadonlyArray<Chat>,
  openId: number | undefined,
  open: (id: number | undefined) => void,
) => {
  const step = (by: number) => {
    const index = chats.findIndex(({ id }) => id === openId)
    const next = chats[index === -1 ? 0 : index + by]
    if (next === undefined) return
    open(next.id)
    document.querySelector(`[data-chat="${next.id}"]`)?.scrollIntoView({ block: "nearest" })
  }
  useKeys({
    "/": () => document.getElementById("find")?.focus(),
    Escape: () => openId !== undefined && open(undefined),
    j: () => step(1),
    k: () => step(-1),
  })
}

const Filters = ({
  change,
  search,
  workspaceId,
}: {
  search: ChatSearch
  change: (to: ChatSearch) => void
  workspaceId: number
}) => (
  <search className="relative flex flex-col gap-2">
    <Find
      key={search.find}
      className="w-full"
      label={labels.find}
      example={labels.findExample}
      find={search.find}
      setFind={(find) => change({ find })}
    />
    <div className="flex flex-wrap items-center gap-1.5">
      <button
        type="button"
        aria-pressed={search.unread === true}
        onClick={() => change({ unread: search.unread ? undefined : true })}
        className={pill}
      >
        {labels.unread}
      </button>
      <Menu
        name={labels.filter}
        count={[search.number, search.mode].filter((one) => one !== undefined).length}
      >
        <NumberFilter
          label={labels.number}
          chosen={search.number}
          choose={(number) => change({ number })}
          workspaceId={workspaceId}
        />
        <ModeFilter mode={search.mode} choose={(mode) => change({ mode, open: undefined })} />
      </Menu>
    </div>
  </search>
)

const Nothing = ({ clear, search }: { search: ChatSearch; clear: () => void }) => (
  <div className="card">
    {isFiltered(search) ? (
      <Empty icon="search" title={labels.nothingFound}>
        {search.find !== undefined && <p>{labels.findAbout}</p>}
        <Button className="mt-3" onClick={clear}>
          {labels.clearFilters}
        </Button>
      </Empty>
    ) : (
      <Empty icon="chat" title={search.mode === "test" ? labels.emptyTest : labels.empty}>
        {labels.emptyAbout}
      </Empty>
    )}
  </div>
)

/** With which of the workspace's numbers, where it has several. */
const useNumberNames = (workspaceId: number) => {
  const path = { id: workspaceId }
  const { data } = useQuery(operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path }))
  const numbers = data?.data ?? []
  return new Map(numbers.length < 2 ? [] : numbers.map((number) => [number.id, toName(number)]))
}

const Rows = ({
  chats,
  search,
  workspaceId,
}: {
  chats: ReadonlyArray<Chat>
  search: ChatSearch
  workspaceId: number
}) => {
  const numbers = useNumberNames(workspaceId)
  const toPreview = usePreviews(workspaceId, search.mode)
  return (
    <ul aria-label={labels.list} className="card overflow-hidden">
      {chats.map((chat) => (
        <Row
          key={chat.id}
          chat={chat}
          isOpen={chat.id === search.open}
          number={numbers.get(chat.number_id)}
          preview={toPreview(chat)}
          workspaceId={workspaceId}
        />
      ))}
    </ul>
  )
}

/** The later of the two; null for a chat in which nothing happened yet. */
const getLast = ({ last_received_at: received, last_sent_at: sent }: Chat): string | null =>
  received !== null && (sent === null || Date.parse(received) >= Date.parse(sent)) ? received : sent

const Row = ({
  chat,
  isOpen,
  number,
  preview,
  workspaceId,
}: {
  chat: Chat
  isOpen: boolean
  number: string | undefined
  preview: string | undefined
  workspaceId: number
}) => {
  const name = getChatName(chat)
  const address = chat.type === "group" ? labels.isGroup : getAddress(chat)
  const about = [address === name ? null : address, number].filter((one) => one != null)
  const last = getLast(chat)
  return (
    <li data-chat={chat.id} className="border-b border-line last:border-0">
      <Link
        from="/w/$workspaceId/chats"
        to="."
        params={{ workspaceId: String(workspaceId) }}
        search={(old) => ({ ...old, open: chat.id })}
        aria-current={isOpen ? "true" : undefined}
        className="flex min-h-14 flex-col justify-center gap-0.5 px-3 py-2 hover:bg-sunken focus-visible:-outline-offset-2 aria-[current=true]:bg-accent-wash"
      >
        <span className="flex items-baseline gap-3">
          <bdi
            className={`min-w-0 grow truncate ${chat.unread > 0 ? "font-semibold" : "font-medium"}`}
          >
            {name}
          </bdi>
          {last !== null && (
            <span className="shrink-0 text-xs text-soft">
              <When at={last} how="clock" />
            </span>
          )}
        </span>
        <span className="flex min-h-5 items-center gap-3 text-sm text-soft">
          {/* A line of it: texts may be long. */}
          <bdi className="min-w-0 grow truncate">{preview?.slice(0, 200) ?? about.join(" · ")}</bdi>
          {chat.unread > 0 && <Unread count={chat.unread} />}
        </span>
        {preview !== undefined && about.length > 0 && (
          <bdi className="truncate text-xs text-faint">{about.join(" · ")}</bdi>
        )}
      </Link>
    </li>
  )
}

const Unread = ({ count }: { count: number }) => (
  <span className="shrink-0 rounded-full bg-accent px-1.5 text-2xs font-semibold text-on-accent tabular-nums">
    <span aria-hidden="true">{count > 99 ? "99+" : count}</span>
    <span className="sr-only">{labels.unreadCount(count)}</span>
  </span>
)
