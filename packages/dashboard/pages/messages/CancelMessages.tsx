/** Cancels messages of the list: those that the user chose, or all waiting ones that its filters leave. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import type { Message } from "@messaging-service/client"
import { call, useCall } from "../api/call.ts"
import { Confirm } from "../ui/Dialog.tsx"
import { Button } from "../ui/parts.tsx"
import { messageQuery } from "./messageSearch.ts"
import type { MessageSearch } from "./messageSearch.ts"
import { chosenLabels as labels } from "./words.ts"

const waitingStatuses = ["queued", "scheduled"] as const

/** So many pages of 100 are counted: as many messages as one call cancels. */
const pagesMax = 10

/** The ids of the waiting messages that match, and whether there are more. */
const waitingIds = async (workspaceId: number, search: MessageSearch) => {
  const requested = waitingStatuses.filter((status) => search.status?.includes(status) ?? true)
  const ids: Array<number> = []
  let cursor: string | null = null
  for (let page = 0; page < pagesMax && requested.length > 0; page++) {
    const query: ReturnType<typeof messageQuery> = {
      ...messageQuery(search),
      limit: 100,
      status: requested.join(","),
      cursor: cursor ?? undefined,
    }
    const path = { id: workspaceId }
    const found = await call("GET /admin/v1/workspaces/{id}/messages", { path, query })
    ids.push(...found.data.map(({ id }) => id))
    cursor = found.next_cursor
    if (cursor === null) break
  }
  return { ids, more: cursor !== null }
}

export const CancelMatching = ({
  done,
  search,
  workspaceId,
}: {
  workspaceId: number
  search: MessageSearch
  /** With what happened. */
  done: (message: string) => void
}) => {
  const [requests, setAsks] = useState(false)
  return (
    <>
      <Button className="self-start" onClick={() => setAsks(true)}>
        {labels.allMatching}
      </Button>
      {requests && (
        <Question
          workspaceId={workspaceId}
          search={search}
          done={done}
          close={() => setAsks(false)}
        />
      )}
    </>
  )
}

const Question = ({
  close,
  done,
  search,
  workspaceId,
}: {
  workspaceId: number
  search: MessageSearch
  done: (message: string) => void
  close: () => void
}) => {
  const client = useQueryClient()
  const [progress, setProgress] = useState(0)
  const matching = useQuery({
    queryKey: ["matching", workspaceId, search],
    queryFn: () => waitingIds(workspaceId, search),
    gcTime: 0,
  })
  const cancel = useMutation({
    mutationFn: async () => {
      let [total, left] = [0, 0]
      let part = matching.data
      while (part !== undefined && part.ids.length > 0) {
        const answer = await call("POST /admin/v1/workspaces/{id}/messages/cancel", {
          path: { id: workspaceId },
          body: { ids: part.ids },
        })
        total += answer.cancelled
        left += answer.not_cancellable
        setProgress(total)
        if (!part.more || answer.cancelled === 0) break
        part = await waitingIds(workspaceId, search)
      }
      return labels.done(total, left)
    },
    onSuccess: (message) => {
      close()
      done(message)
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["messages", workspaceId] }),
  })
  const { data, error } = matching
  const count = data?.ids.length ?? 0
  return (
    <Confirm
      title={labels.askTitle}
      action={labels.cancel(count)}
      dismiss={labels.keep}
      call={{ isPending: cancel.isPending || matching.isFetching, error: error ?? cancel.error }}
      act={() => count > 0 && cancel.mutate()}
      close={close}
    >
      <p role="status">
        {data === undefined
          ? labels.counting
          : count === 0
            ? labels.nothingWaits
            : labels.askAll(count, data.more)}
      </p>
      {progress > 0 && <p role="status">{labels.progress(progress)}</p>}
    </Confirm>
  )
}

const isCancellable = ({ status }: Message): boolean =>
  status === "queued" || status === "scheduled"

/** What the user chose of the list, and what cancelling it would hit, before it happens and after. */
export const CancelChosen = ({
  done,
  messages,
  workspaceId,
}: {
  workspaceId: number
  messages: ReadonlyArray<Message>
  /** With what happened; null when the user took the choice back. */
  done: (message: string | null) => void
}) => {
  const able = messages.filter(isCancellable)
  const [isAsking, setAsking] = useState(false)
  const cancel = useCall(
    "POST /admin/v1/workspaces/{id}/messages/cancel",
    ({ cancelled, not_cancellable }) => done(labels.done(cancelled, not_cancellable)),
  )
  return (
    <div
      role="region"
      aria-label={labels.title}
      className="over sticky bottom-4 flex flex-wrap items-center gap-3 self-center px-4 py-2.5 text-sm"
    >
      <span className="tabular-nums">
        <b className="font-semibold">{messages.length}</b> {labels.chosen}
        {able.length < messages.length && (
          <span className="text-soft">{labels.ended(messages.length - able.length)}</span>
        )}
      </span>
      <Button
        variant="danger"
        aria-disabled={able.length === 0}
        onClick={() => setAsking(able.length > 0)}
      >
        {labels.cancel(able.length)}
      </Button>
      <Button variant="quiet" onClick={() => done(null)}>
        {labels.none}
      </Button>
      {isAsking && (
        <Confirm
          title={labels.chosenTitle(able.length)}
          action={labels.cancel(able.length)}
          dismiss={labels.keep}
          call={cancel}
          act={() =>
            cancel.mutate({ path: { id: workspaceId }, body: { ids: able.map(({ id }) => id) } })
          }
          close={() => setAsking(false)}
        >
          {labels.chosenAbout(able.length)}
        </Confirm>
      )}
    </div>
  )
}
