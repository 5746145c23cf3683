/** The messages of a workspace, found by filters in the address, page by page. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Message } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import type { Answer } from "../api/operations.ts"
import { useKeys } from "../ui/keys.ts"
import { Pager } from "../ui/Pager.tsx"
import { Button, Empty, Kbd, Loading, PageHead, QueryFailure, primaryLink } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import { buttonNames } from "../ui/words.ts"
import { CancelChosen, CancelMatching } from "./CancelMessages.tsx"
import { MessageFilters } from "./MessageFilters.tsx"
import { MessagePanel } from "./MessagePanel.tsx"
import { isFiltered, messageQuery } from "./messageSearch.ts"
import type { MessageSearch } from "./messageSearch.ts"
import { MessageTable } from "./MessageTable.tsx"
import { messagesLabels as labels, newMessageLabels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/messages")

export const MessagesPage = () => {
  const id = Number(route.useParams().workspaceId)
  const search = route.useSearch()
  const { data, error, isFetching, isPlaceholderData, refetch } = useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/messages", {
      path: { id },
      query: messageQuery(search),
    }),
    placeholderData: keepPreviousData,
  })
  const messages = data?.data ?? []
  const [outcome, setOutcome] = useState<string | null>(null)
  const { choose, chosen, clear, go, tone, open } = useListState(search)
  const step = useListKeys(messages, search.open, open, choose)

  return (
    <div className="flex min-h-dvh">
      <main className="page gap-3">
        <PageHead
          title={labels.title}
          // Next to an open message the list has no room for them.
          about={search.open === undefined && <Totals workspaceId={id} mode={search.mode} />}
        >
          <Ways workspaceId={String(id)} />
        </PageHead>
        <MessageFilters search={search} setSearch={tone} workspaceId={id} />
        <Matching
          workspaceId={id}
          search={search}
          outcome={outcome}
          isEmpty={messages.length === 0}
          done={setOutcome}
        />
        <QueryFailure error={error} again={() => void refetch()} />
        <div className="card relative overflow-x-auto" aria-busy={isPlaceholderData}>
          {data === undefined && !error && <Loading rows={12} />}
          {messages.length > 0 && (
            <MessageTable {...{ messages, chosen, choose, open }} openId={search.open} />
          )}
          {data?.data.length === 0 && (
            <Nothing search={search} clear={clear} workspaceId={String(id)} />
          )}
        </div>
        <ListEnd list={data} trail={search.trail} isFetching={isFetching} go={go} />
        {chosen.size > 0 && (
          <CancelChosen
            workspaceId={id}
            messages={messages.filter((message) => chosen.has(message.id))}
            done={(message) => {
              choose(null)
              setOutcome(message)
            }}
          />
        )}
      </main>
      {search.open !== undefined && (
        <MessagePanel
          key={search.open}
          workspaceId={id}
          messageId={search.open}
          mode={search.mode}
          known={messages.find((message) => message.id === search.open)}
          step={step}
          close={() => open(undefined)}
        />
      )}
    </div>
  )
}

/** The results of the workspace's messages in 24 hours, whatever the filters leave. */
const Totals = ({ mode, workspaceId }: { workspaceId: number; mode: MessageSearch["mode"] }) => {
  const { data } = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/figures", {
      path: { id: workspaceId },
      query: { mode },
    }),
  )
  if (data === undefined) return null
  const { buckets, waiting } = data
  const sent = buckets.reduce((sum, bucket) => sum + bucket.sent, 0)
  const failed = buckets.reduce((sum, bucket) => sum + bucket.failed, 0)
  const totals = labels.totals(sent, failed, waiting.queued + waiting.scheduled)
  return mode === "test" ? labels.testTotals(totals) : totals
}

/** What can be done with all that match, and its result. */
const Matching = ({
  isEmpty,
  outcome,
  search,
  ...rest
}: {
  workspaceId: number
  search: MessageSearch
  outcome: string | null
  isEmpty: boolean
  done: (message: string) => void
}) => (
  <>
    {isFiltered(search) && !isEmpty && <CancelMatching search={search} {...rest} />}
    <p role="status" className="text-sm empty:hidden">
      {outcome}
    </p>
  </>
)

/** How far the list was read, and the way to the rest of it. */
const ListEnd = ({
  go,
  isFetching,
  list,
  trail = [],
}: {
  list: Answer<"GET /admin/v1/workspaces/{id}/messages"> | undefined
  trail: MessageSearch["trail"]
  isFetching: boolean
  go: (trail: ReadonlyArray<string>) => void
}) => (
  <>
    {list?.next_cursor && <Looked until={list.looked_until} />}
    <Pager
      trail={trail}
      visible={list?.data.length ?? 0}
      isFetching={isFetching}
      next={list?.next_cursor ?? null}
      go={go}
    />
  </>
)

/** How far back a search for words looked. */
const Looked = ({ until }: { until: string | null | undefined }) =>
  until == null ? null : (
    <p className="text-xs text-soft">
      {labels.looked[0]}
      <When at={until} how="clock" />
      {labels.looked[1]}
    </p>
  )

/** The ways to send. */
const Ways = ({ workspaceId }: { workspaceId: string }) => (
  <>
    <Link
      to="/w/$workspaceId/campaigns/new"
      params={{ workspaceId }}
      className="control hover:bg-sunken"
    >
      {buttonNames.newCampaign}
    </Link>
    <NewMessage workspaceId={workspaceId} />
  </>
)

const NewMessage = ({ workspaceId }: { workspaceId: string }) => (
  <Link
    to="/w/$workspaceId/messages/new"
    params={{ workspaceId }}
    aria-keyshortcuts="c"
    className={primaryLink}
  >
    {newMessageLabels.title}
    <Kbd on="accent">c</Kbd>
  </Link>
)

/** What the user chose, and the ways to change the address. */
const useListState = (search: MessageSearch) => {
  const navigate = useNavigate({ from: "/w/$workspaceId/messages" })
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set())
  return {
    chosen,
    /** Chooses a message or takes the choice back; null takes all back. */
    choose: (message: number | null) => {
      const next = new Set(message === null ? [] : chosen)
      if (message !== null && !next.delete(message)) next.add(message)
      setChosen(next)
    },
    clear: () => void navigate({ search: ({ mode }) => (mode === undefined ? {} : { mode }) }),
    /** A changed filter begins at the first page again. */
    tone: (change: MessageSearch) => {
      setChosen(new Set())
      void navigate({ search: (old) => ({ ...old, trail: undefined, ...change }) })
    },
    // The first opening makes an entry of history, so that "back" closes the panel.
    open: (message: number | undefined) =>
      void navigate({
        search: (old) => ({ ...old, open: message }),
        replace: search.open !== undefined,
      }),
    go: (trail: ReadonlyArray<string>) => {
      setChosen(new Set())
      void navigate({
        search: (old) => ({
          ...old,
          trail: trail.length === 0 ? undefined : trail,
          open: undefined,
        }),
      })
    },
  }
}

const useListKeys = (
  messages: ReadonlyArray<Message>,
  openId: number | undefined,
  open: (id: number | undefined) => void,
  choose: (id: number) => void,
) => {
  const step = (by: number) => {
    const index = messages.findIndex((message) => message.id === openId)
    const next = messages[index === -1 ? 0 : index + by]
    if (next === undefined) return
    open(next.id)
    document.querySelector(`[data-message="${next.id}"]`)?.scrollIntoView({ block: "nearest" })
  }
  useKeys({
    "/": () => document.getElementById("find")?.focus(),
    Escape: () => openId !== undefined && open(undefined),
    j: () => step(1),
    k: () => step(-1),
    x: () => openId !== undefined && choose(openId),
  })
  return step
}

const Nothing = ({
  clear,
  search,
  workspaceId,
}: {
  search: MessageSearch
  clear: () => void
  workspaceId: string
}) =>
  isFiltered(search) ? (
    <Empty icon="search" title={labels.nothingFound}>
      <p>{labels.fewerFilters}</p>
      <Button className="mt-3" onClick={clear}>
        {labels.clearFilters}
      </Button>
    </Empty>
  ) : (
    <Empty icon="message" title={search.mode === "test" ? labels.emptyTest : labels.empty}>
      <p className="mb-3">{search.mode === "test" ? labels.emptyTestAbout : labels.emptyAbout}</p>
      <NewMessage workspaceId={workspaceId} />
    </Empty>
  )
