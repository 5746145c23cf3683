/** The numbers of a workspace: how each is, what it sent in 24 hours, and how much it may still send. */
import { useQuery } from "@tanstack/react-query"
import { getRouteApi, useRouteContext } from "@tanstack/react-router"
import { operationQuery } from "../api/call.ts"
import { AddAccount } from "../telegram/AddAccount.tsx"
import { Boundary } from "../ui/Boundary.tsx"
import { Empty, Loading, PageHead, QueryFailure } from "../ui/parts.tsx"
import { useConnections } from "./connection.ts"
import { LinkDialog } from "./LinkDialog.tsx"
import { NumberRow } from "./NumberRow.tsx"
import { numbersLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/numbers")

export const NumbersPage = () => {
  const { workspaceId } = route.useParams()
  const { session } = useRouteContext({ from: "/inside" })
  const path = { id: Number(workspaceId) }
  const numbers = useQuery(operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path }))
  const states = useConnections(path.id)
  const list = numbers.data?.data
  const mayChange = session.role !== "member"

  return (
    <main className="page gap-4">
      <PageHead title={labels.title} about={labels.about}>
        {session.telegram && session.kind === "operator" && (
          <AddAccount workspaceId={workspaceId} />
        )}
        {mayChange && <LinkDialog workspaceId={workspaceId} />}
      </PageHead>
      <QueryFailure error={numbers.error} again={() => void numbers.refetch()} />
      <div className="card">
        {list === undefined && !numbers.error && <Loading rows={4} />}
        {list?.length === 0 && (
          <Empty icon="phone" title={labels.empty}>
            <p>{mayChange ? labels.emptyAbout : labels.emptyForMembers}</p>
            {mayChange && (
              <div className="mt-3">
                <LinkDialog workspaceId={workspaceId} />
              </div>
            )}
          </Empty>
        )}
        <Boundary of={numbers.dataUpdatedAt}>
          <ul>
            {list?.map((number) => (
              <NumberRow
                key={number.id}
                workspaceId={workspaceId}
                number={number}
                state={states?.find((one) => one.number_id === number.id)}
                mayChange={mayChange}
              />
            ))}
          </ul>
        </Boundary>
      </div>
    </main>
  )
}
