/** What the state of a number means, in the list of numbers, on the page of one, and where a message waits for one. */
import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import type { ListedConnection } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import { When } from "../ui/Time.tsx"
import { getStanding, useConnections } from "./connection.ts"
import type { Standing } from "./connection.ts"
import { standingSentences as labels } from "./words.ts"

export const StandingSentence = ({
  standing,
  state,
}: {
  standing: Standing
  state: Pick<ListedConnection, "paused_until"> | undefined
}) => (
  <>
    {standing.message ?? labels.notConnected}
    {state?.paused_until && (
      <>
        {" "}
        <When at={state.paused_until} />.
      </>
    )}
  </>
)

/** That messages from a number wait, and why; null while it is connected, unknown, or undefined. */
export const useWaitNote = (id: number, numberId: number | undefined): ReactNode => {
  const enabled = numberId !== undefined
  const numbers = useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path: { id } }),
    enabled,
  })
  const states = useConnections(id, enabled)
  const number = numbers.data?.data.find((one) => one.id === numberId)
  if (number === undefined || states === undefined) return null
  const state = states.find((one) => one.number_id === numberId)
  const standing = getStanding(number, state)
  if (standing.message === null && standing.remedy === null) return null
  return (
    <span className="text-amber">
      {labels.messagesWait} <StandingSentence standing={standing} state={state} />
    </span>
  )
}
