/** A chat: what was written in it, by days, and what a user can do about it. */
import { useQuery } from "@tanstack/react-query"
import { Link, useRouteContext } from "@tanstack/react-router"
import { Fragment, useLayoutEffect, useRef, useState } from "react"
import type { ReactNode, RefObject } from "react"
import type { Chat, ReceivedMessage } from "@messaging-service/client"
import { operationQuery, useCall } from "../api/call.ts"
import { useServiceTime } from "../api/serviceTime.ts"
import { Boundary } from "../ui/Boundary.tsx"
import { ConfirmCall } from "../ui/Dialog.tsx"
import { Icon } from "../ui/Icon.tsx"
import { useKeys } from "../ui/keys.ts"
import { Button, Copy, Kbd, Loading, QueryFailure } from "../ui/parts.tsx"
import { formatDay } from "../ui/Time.tsx"
import { AnswerBox } from "./AnswerBox.tsx"
import { Bubble } from "./Bubble.tsx"
import type { BubbleActions } from "./Bubble.tsx"
import { getAddress, getChatName } from "./chats.ts"
import { getEntryText, useEntries } from "./entries.ts"
import type { Entry } from "./entries.ts"
import { pollMillis } from "./unreadChats.ts"
import { chatsLabels, threadLabels as labels } from "./words.ts"

interface ThreadProps {
  readonly workspaceId: number
  readonly chatId: number
  readonly mode: "test" | undefined
  /** The chat as the list has it, until its own answer arrives. */
  readonly known: Chat | undefined
  readonly open: (chat: number | undefined) => void
}

export const Thread = ({ chatId, known, mode, open, workspaceId }: ThreadProps) => {
  const path = { id: workspaceId, chat_id: chatId }
  const { data, error, refetch } = useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/chats/{chat_id}", { path, query: { mode } }),
    refetchInterval: pollMillis,
  })
  const { session } = useRouteContext({ from: "/inside" })
  const mayDelete = session.role !== "member"
  const chat = data ?? known
  const written = useEntries(workspaceId, chatId, chat, mode)
  const name = chat === undefined ? chatsLabels.person(chatId) : getChatName(chat)
  const [removing, setRemoving] = useState<"chat" | ReceivedMessage | null>(null)
  return (
    <section
      aria-label={labels.chatWith(name)}
      className="sticky top-0 flex h-dvh min-w-0 grow basis-2/3 flex-col border-l border-line bg-surface max-lg:fixed max-lg:inset-0 max-lg:z-10"
    >
      <Head chat={chat} name={name} close={() => open(undefined)}>
        {chat !== undefined && chat.unread > 0 && (
          <MarkRead path={path} mode={mode} entries={written.entries ?? []} />
        )}
        {mayDelete && (
          <Button
            variant="quiet"
            aria-label={labels.removeChat}
            title={labels.removeChat}
            onClick={() => setRemoving("chat")}
          >
            <Icon name="trash" />
          </Button>
        )}
      </Head>
      {error && (
        <div className="p-4">
          <QueryFailure error={error} again={() => void refetch()} />
        </div>
      )}
      {chat?.merged_into != null && <Merged into={chat.merged_into} />}
      {!error && (
        <Entries
          workspaceId={workspaceId}
          chat={chat}
          written={written}
          mode={mode}
          name={name}
          remove={mayDelete ? setRemoving : null}
        />
      )}
      {removing !== null && (
        <Remove
          what={removing}
          name={name}
          path={path}
          mode={mode}
          close={() => setRemoving(null)}
          done={() => (removing === "chat" ? open(undefined) : setRemoving(null))}
        />
      )}
    </section>
  )
}

const Head = ({
  chat,
  children,
  close,
  name,
}: {
  chat: Chat | undefined
  name: string
  close: () => void
  children: ReactNode
}) => {
  const address = chat && (chat.type === "group" ? null : getAddress(chat))
  return (
    <header className="flex h-14 shrink-0 items-center gap-2 border-b border-line px-4">
      <div className="mr-auto flex min-w-0 flex-col">
        <h2 className="truncate text-lg leading-5 font-semibold">
          <bdi>{name}</bdi>
        </h2>
        {chat?.type === "group" && <p className="text-xs text-soft">{chatsLabels.isGroup}</p>}
        {address != null && address !== name && (
          <p className="truncate font-mono text-xs leading-4 text-soft">{address}</p>
        )}
      </div>
      {address != null && <Copy text={address} />}
      {children}
      <Button variant="quiet" aria-label={labels.close} title={labels.close} onClick={close}>
        <Icon name="cross" />
      </Button>
    </header>
  )
}

/** Up to the newest that is on the page: what comes in meanwhile stays unread. */
const MarkRead = ({
  entries,
  mode,
  path,
}: {
  entries: ReadonlyArray<Entry>
  mode: "test" | undefined
  path: RemoveProps["path"]
}) => {
  const { isPending, mutate } = useCall("POST /admin/v1/workspaces/{id}/chats/{chat_id}/read")
  const newest = entries.findLast(({ received }) => received !== null)?.received?.id
  const mark = () => {
    if (newest !== undefined && !isPending)
      mutate({ path, query: { mode }, body: { up_to: newest } })
  }
  useKeys({ m: mark })
  return (
    <Button busy={isPending} onClick={mark} aria-keyshortcuts="m">
      <Icon name="tick" />
      <span className="max-sm:sr-only">{labels.markRead}</span>
      <Kbd>m</Kbd>
    </Button>
  )
}

const Merged = ({ into }: { into: number }) => (
  <p className="flex flex-wrap gap-2 border-b border-line bg-amber-wash px-4 py-2 text-sm text-amber">
    {labels.merged}
    <Link
      from="/w/$workspaceId/chats"
      to="."
      search={(old) => ({ ...old, open: into })}
      replace
      className="font-medium underline"
    >
      {labels.toMerged}
    </Link>
  </p>
)

interface RemoveProps {
  readonly what: "chat" | ReceivedMessage
  readonly name: string
  readonly path: { readonly id: number; readonly chat_id: number }
  readonly mode: "test" | undefined
  readonly close: () => void
  readonly done: () => void
}

const Remove = ({ close, done, mode, name, path, what }: RemoveProps) =>
  what === "chat" ? (
    <ConfirmCall
      name="DELETE /admin/v1/workspaces/{id}/chats/{chat_id}"
      input={{ path, query: { mode } }}
      title={labels.removeChatTitle(name)}
      action={labels.removeChat}
      dismiss={labels.keep}
      close={close}
      done={done}
    >
      {labels.removeChatAbout}
    </ConfirmCall>
  ) : (
    <ConfirmCall
      name="DELETE /admin/v1/workspaces/{id}/received-messages/{received_message_id}"
      input={{ path: { id: path.id, received_message_id: what.id }, query: { mode } }}
      title={labels.removeTitle}
      action={labels.remove}
      dismiss={labels.keep}
      close={close}
      done={done}
    >
      {labels.removeAbout}
    </ConfirmCall>
  )

const Entries = ({
  chat,
  mode,
  name,
  remove,
  workspaceId,
  written: { again, entries, error, ...earlier },
}: Pick<ThreadProps, "workspaceId" | "mode"> & {
  chat: Chat | undefined
  written: ReturnType<typeof useEntries>
  name: string
  remove: BubbleActions["remove"]
}) => {
  const [quoted, quote] = useState<Entry | null>(null)
  const list = useRef<HTMLUListElement>(null)
  const { follow, hasNews, noteScroll, toEnd } = useScroll(list, entries, chat !== undefined)
  return (
    <>
      <div className="relative flex min-h-0 grow flex-col">
        {error && (
          <div className="p-4">
            <QueryFailure error={error} again={again} />
          </div>
        )}
        {entries === undefined && !error && <Loading rows={6} />}
        {entries !== undefined && (
          <Boundary of={entries}>
            <ul
              ref={list}
              onScroll={noteScroll}
              // The keyboard must be able to scroll it.
              // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
              tabIndex={0}
              aria-label={labels.list(name)}
              className="relative flex grow flex-col gap-2 overflow-y-auto px-4 py-3 [overflow-anchor:none] focus-visible:-outline-offset-2"
            >
              <StartOfThread isEmpty={entries.length === 0} {...earlier} />
              <Days entries={entries} chat={chat} mode={mode} actions={{ reply: quote, remove }} />
            </ul>
          </Boundary>
        )}
        {hasNews && (
          <Button
            variant="primary"
            onClick={toEnd}
            className="absolute bottom-3 self-center shadow-over"
          >
            {labels.newest}
          </Button>
        )}
      </div>
      {chat !== undefined && (
        <AnswerBox
          workspaceId={workspaceId}
          chat={chat}
          name={name}
          mode={mode}
          quoted={quoted}
          quote={quote}
          sent={follow}
        />
      )}
    </>
  )
}

/** Above the first entry: the way to what came before it. */
const StartOfThread = ({
  hasEarlier,
  isEmpty,
  isLoadingEarlier,
  loadEarlier,
}: Pick<ReturnType<typeof useEntries>, "hasEarlier" | "isLoadingEarlier" | "loadEarlier"> & {
  isEmpty: boolean
}) => (
  <li className="mt-auto self-center text-xs text-soft">
    {hasEarlier ? (
      <Button busy={isLoadingEarlier} onClick={loadEarlier}>
        {labels.earlier}
      </Button>
    ) : isEmpty ? (
      labels.empty
    ) : (
      labels.begin
    )}
  </li>
)

/** Pixels from the end within which a reader counts as reading the newest. */
const endPixels = 80

/**
 * Begins at the first unread message, else at the end; then keeps what the reader sees in its place: what came earlier
 * is put above it, and news move it only for one who reads the newest.
 */
const useScroll = (
  list: RefObject<HTMLUListElement | null>,
  entries: ReadonlyArray<Entry> | undefined,
  isReady: boolean,
) => {
  const last = useRef({ newest: "", height: 0, isAtEnd: true })
  const [hasNews, setHasNews] = useState(false)
  const newest = entries?.at(-1)?.key ?? ""
  const toEnd = () => {
    list.current?.scrollTo({ top: list.current.scrollHeight })
    setHasNews(false)
  }
  const noteScroll = () => {
    const element = list.current
    if (element === null) return
    const { clientHeight, scrollHeight, scrollTop } = element
    const isAtEnd = scrollHeight - scrollTop - clientHeight < endPixels
    last.current = { newest: last.current.newest, height: scrollHeight, isAtEnd }
    if (isAtEnd) setHasNews(false)
  }
  // After every drawing: not only entries change the height.
  useLayoutEffect(() => {
    const element = list.current
    if (element === null || !isReady) return
    const { height, isAtEnd, newest: seen } = last.current
    if (seen === "") {
      const unread = element.querySelector<HTMLElement>("[data-unread]")
      // Not into view: that would move the page as well.
      element.scrollTop = unread === null ? element.scrollHeight : unread.offsetTop
    } else if (isAtEnd) {
      element.scrollTop = element.scrollHeight
    } else if (newest === seen) {
      element.scrollTop += element.scrollHeight - height
    } else {
      setHasNews(true)
    }
    last.current = { ...last.current, newest }
    noteScroll()
  })
  /** What comes next is shown, wherever the reader is. */
  const follow = () => {
    last.current = { ...last.current, isAtEnd: true }
    toEnd()
  }
  return { follow, hasNews, noteScroll, toEnd }
}

/** The entries with a line before each day, and one before the first that is unread. */
const Days = ({
  actions,
  chat,
  entries,
  mode,
}: {
  entries: ReadonlyArray<Entry>
  chat: Chat | undefined
  mode: "test" | undefined
  actions: BubbleActions
}) => {
  const now = useServiceTime()
  const today = formatDay(now)
  const unread = useFirstUnread(entries, chat)
  const getText = (key: string) => {
    const entry = entries.find((one) => one.key === key)
    return entry && getEntryText(entry)
  }
  return entries.map((entry, index) => {
    const day = formatDay(Date.parse(entry.at))
    const before = entries[index - 1]
    const isNewDay = before === undefined || formatDay(Date.parse(before.at)) !== day
    return (
      <Fragment key={entry.key}>
        {isNewDay && (
          <li className="label self-center pt-2">{day === today ? labels.today : day}</li>
        )}
        {entry.key === unread && (
          <li
            data-unread
            className="flex items-center gap-3 text-xs font-medium text-accent before:h-px before:grow before:bg-accent after:h-px after:grow after:bg-accent"
          >
            {labels.unreadBelow}
          </li>
        )}
        <Bubble
          entry={entry}
          getText={getText}
          isInGroup={chat?.type === "group"}
          mode={mode}
          actions={actions}
        />
      </Fragment>
    )
  })
}

/** The line stays where it was until all is read: it must not move while one reads. */
const useFirstUnread = (entries: ReadonlyArray<Entry>, chat: Chat | undefined) => {
  const [readUpTo, setReadUpTo] = useState<number | null | undefined>(undefined)
  const isRead = chat?.unread === 0 && readUpTo !== chat.read_up_to
  if (chat !== undefined && (readUpTo === undefined || isRead)) setReadUpTo(chat.read_up_to)
  if (readUpTo === undefined) return undefined
  return entries.find(
    ({ received }) => received !== null && !received.from_me && received.id > (readUpTo ?? 0),
  )?.key
}
