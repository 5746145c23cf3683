/** The held messages of a workspace: the operator releases or cancels some of them, or all. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Message } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { recipientOf } from "../messages/recipient.ts"
import { Answer } from "../ui/Answer.tsx"
import { Confirm } from "../ui/Dialog.tsx"
import { Pager } from "../ui/Pager.tsx"
import { toTrail } from "../ui/trail.ts"
import { Button, Empty, Failure, PageHead } from "../ui/parts.tsx"
import { Cell, Row, Table } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { shellWords } from "../ui/words.ts"
import { useHeldDecision } from "./useHeldDecision.ts"
import type { Decision } from "./useHeldDecision.ts"
import { heldWords as words } from "./words.ts"

const route = getRouteApi("/inside/service/held/$workspaceId")

export const HeldMessagesPage = () => {
  const { workspaceId } = route.useParams()
  const { trail = [] } = route.useSearch()
  const navigate = useNavigate({ from: "/service/held/$workspaceId" })
  const id = Number(workspaceId)
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set())
  const [asking, setAsking] = useState<Decision | null>(null)
  const held = useQuery({
    ...asked("GET /admin/v1/workspaces/{id}/held", {
      path: { id },
      query: { limit: 50, cursor: trail.at(-1) },
    }),
    placeholderData: keepPreviousData,
  })
  return (
    <main className="flex max-w-5xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.titleOf(shellWords.workspaceId(id))}>
        {(held.data?.data.length ?? 0) > 0 && (
          <>
            <Button onClick={() => setAsking("release")}>{words.releaseAll}</Button>
            <Button look="danger" onClick={() => setAsking("cancel")}>
              {words.cancelAll}
            </Button>
          </>
        )}
        <Link className="control" to="/service/held">
          {words.all}
        </Link>
      </PageHead>
      <Answer query={held} rows={8}>
        {({ data, next_cursor: next }) => (
          <div className="flex flex-col gap-4">
            <HeldTable messages={data} chosen={chosen} setChosen={setChosen} />
            <Pager
              trail={trail}
              shown={data.length}
              isFetching={held.isFetching}
              next={next}
              go={(to) => void navigate({ search: toTrail(to) })}
            />
          </div>
        )}
      </Answer>
      {chosen.size > 0 && <Chosen id={id} chosen={chosen} done={() => setChosen(new Set())} />}
      {asking !== null && <All id={id} decision={asking} close={() => setAsking(null)} />}
    </main>
  )
}

const columns = [
  { name: words.chooseHead, silent: true },
  { name: words.to },
  { name: words.text, wide: true },
  { name: words.accepted, right: true },
] as const

const HeldTable = ({
  chosen,
  messages,
  setChosen,
}: {
  messages: ReadonlyArray<Message>
  chosen: ReadonlySet<number>
  setChosen: (chosen: ReadonlySet<number>) => void
}) => {
  const toggle = (id: number) => {
    const next = new Set(chosen)
    if (!next.delete(id)) next.add(id)
    setChosen(next)
  }
  if (messages.length === 0)
    return (
      <div className="card">
        <Empty icon="tick" title={words.none}>
          {words.noneAbout}
        </Empty>
      </div>
    )
  return (
    <Table caption={words.listCaption} columns={columns}>
      {messages.map((message) => (
        <Row key={message.id}>
          <Cell>
            <input
              type="checkbox"
              checked={chosen.has(message.id)}
              aria-label={words.choose(message.id)}
              onChange={() => toggle(message.id)}
              className="block size-4 cursor-pointer accent-accent"
            />
          </Cell>
          <Cell>
            <span className="font-mono text-xs">{recipientOf(message.to)}</span>
          </Cell>
          <Cell wide>{message.text}</Cell>
          <Cell right>
            <When at={message.created_at} how="clock" />
          </Cell>
        </Row>
      ))}
    </Table>
  )
}

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
      <Button look="primary" busy={isPending} onClick={() => decide("release")}>
        {words.release(chosen.size)}
      </Button>
      <Button look="danger" busy={isPending} onClick={() => decide("cancel")}>
        {words.cancel(chosen.size)}
      </Button>
    </div>
  )
}

const questions = {
  release: [words.releaseAllTitle, words.releaseAllAbout, words.releaseAction],
  cancel: [words.cancelAllTitle, words.cancelAllAbout, words.cancelAction],
} as const

const All = ({ close, decision, id }: { id: number; decision: Decision; close: () => void }) => {
  const { done, error, isPending, mutate } = useHeldDecision(id, close)
  const [title, about, action] = questions[decision]
  return (
    <Confirm
      title={title}
      action={action}
      busy={isPending}
      error={error}
      act={() => mutate({ decision, body: { filter: {} } })}
      close={close}
    >
      <p>{about}</p>
      {done > 0 && <p role="status">{words.progress(done)}</p>}
    </Confirm>
  )
}
