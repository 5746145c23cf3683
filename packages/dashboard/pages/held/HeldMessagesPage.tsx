/** The held messages of a workspace: the operator releases or cancels some of them, or all. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { Link, getRouteApi } from "@tanstack/react-router"
import { useState } from "react"
import type { Message, SelectHeld } from "@messaging-service/client"
import { call } from "../api/call.ts"
import { getRecipient } from "../messages/recipients.ts"
import { Answer } from "../ui/Answer.tsx"
import { Confirm } from "../ui/Dialog.tsx"
import { useList } from "../ui/list.ts"
import { Pager } from "../ui/Pager.tsx"
import { Button, Failure, PageHead, backLink } from "../ui/parts.tsx"
import { Table, mono } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { shellLabels } from "../ui/words.ts"
import { heldLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/service/held/$workspaceId")

export const HeldMessagesPage = () => {
  const { workspaceId } = route.useParams()
  const id = Number(workspaceId)
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set())
  const [requesting, setIsConfirming] = useState<Decision | null>(null)
  const { go, query: held, trail } = useList("GET /admin/v1/workspaces/{id}/held", { path: { id } })
  const choose = (message: number) => {
    const next = new Set(chosen)
    if (!next.delete(message)) next.add(message)
    setChosen(next)
  }
  return (
    <main className="page gap-4">
      <PageHead title={labels.toTitle(shellLabels.workspaceId(id))}>
        {(held.data?.data.length ?? 0) > 0 && (
          <>
            <Button onClick={() => setIsConfirming("release")}>{labels.releaseAll}</Button>
            <Button variant="danger" onClick={() => setIsConfirming("cancel")}>
              {labels.cancelAll}
            </Button>
          </>
        )}
        <Link className={backLink} to="/service/held">
          {labels.all}
        </Link>
      </PageHead>
      <Answer query={held} rows={8}>
        {({ data, next_cursor: next }) => (
          <div className="flex flex-col gap-4">
            <Table
              caption={labels.listCaption}
              columns={getColumns(chosen, choose)}
              rows={data}
              empty={["tick", labels.none, labels.noneAbout]}
            />
            <Pager
              trail={trail}
              visible={data.length}
              isFetching={held.isFetching}
              next={next}
              go={go}
            />
          </div>
        )}
      </Answer>
      {chosen.size > 0 && <Chosen id={id} chosen={chosen} done={() => setChosen(new Set())} />}
      {requesting !== null && (
        <All id={id} decision={requesting} close={() => setIsConfirming(null)} />
      )}
    </main>
  )
}

const getColumns = (
  chosen: ReadonlySet<number>,
  choose: (id: number) => void,
): Columns<Message> => [
  {
    name: labels.chooseHead,
    silent: true,
    cell: ({ id }) => (
      <input
        type="checkbox"
        checked={chosen.has(id)}
        aria-label={labels.choose(id)}
        onChange={() => choose(id)}
        className="block size-4 cursor-pointer accent-accent"
      />
    ),
  },
  { name: labels.to, tone: mono, cell: ({ to }) => getRecipient(to) },
  { name: labels.text, wide: true, cell: ({ text }) => text },
  { name: labels.accepted, right: true, cell: (one) => <When at={one.created_at} how="clock" /> },
]

const Chosen = ({
  chosen,
  done,
  id,
}: {
  id: number
  chosen: ReadonlySet<number>
  done: () => void
}) => {
  const { error, isPending, mutate } = useHeldDecision(id, done)
  const decide = (decision: Decision) => mutate({ decision, body: { ids: [...chosen] } })
  return (
    <div className="over sticky bottom-4 flex flex-wrap items-center gap-3 self-center px-4 py-2.5 text-sm">
      {error && <Failure error={error} />}
      <Button variant="primary" busy={isPending} onClick={() => decide("release")}>
        {labels.release(chosen.size)}
      </Button>
      <Button variant="danger" busy={isPending} onClick={() => decide("cancel")}>
        {labels.cancel(chosen.size)}
      </Button>
    </div>
  )
}

const questions = {
  release: [labels.releaseAllTitle, labels.releaseAllAbout, labels.releaseAction, undefined],
  cancel: [labels.cancelAllTitle, labels.cancelAllAbout, labels.cancelAction, labels.keep],
} as const

const All = ({ close, decision, id }: { id: number; decision: Decision; close: () => void }) => {
  const { done, mutate, ...decided } = useHeldDecision(id, close)
  const [title, about, action, dismiss] = questions[decision]
  return (
    <Confirm
      title={title}
      action={action}
      {...(dismiss && { dismiss })}
      call={decided}
      act={() => mutate({ decision, body: { filter: {} } })}
      close={close}
    >
      <p>{about}</p>
      {done > 0 && <p role="status">{labels.progress(done)}</p>}
    </Confirm>
  )
}

type Decision = "release" | "cancel"

const decide = async (decision: Decision, id: number, body: SelectHeld) => {
  const path = { id }
  if (decision === "release") {
    const { more, released } = await call("POST /admin/v1/workspaces/{id}/held/release", {
      path,
      body,
    })
    return { done: released, more }
  }
  const { cancelled, more } = await call("POST /admin/v1/workspaces/{id}/held/cancel", {
    path,
    body,
  })
  return { done: cancelled, more }
}

/** Releases or cancels held messages. A call takes at most 1,000, so that "all" is several calls. */
const useHeldDecision = (id: number, onSuccess: () => void) => {
  const client = useQueryClient()
  const [done, setDone] = useState(0)
  const mutation = useMutation({
    mutationFn: async ({ body, decision }: { decision: Decision; body: SelectHeld }) => {
      let total = 0
      for (let more = true; more;) {
        const part = await decide(decision, id, body)
        total += part.done
        setDone(total)
        more = part.more && part.done > 0
      }
    },
    onSuccess,
    onSettled: () => void client.invalidateQueries(),
  })
  return { ...mutation, done }
}
