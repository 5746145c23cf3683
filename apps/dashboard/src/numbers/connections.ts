/** The connections of all numbers of a workspace. */
import { useQueries, useQuery } from "@tanstack/react-query"
import type { Connection } from "@messaging-service/client"
import type { NumberState } from "../api/additions.ts"
import { asked } from "../api/call.ts"
import { isOffered } from "../api/offered.ts"

const together = "GET /admin/v1/workspaces/{id}/connections"

/** Until the service answers all of them together, the page asks for this many. */
const singleMax = 20

/** Undefined until they arrive. */
export const useConnections = (id: number): ReadonlyArray<NumberState> | undefined => {
  const all = useQuery({ ...asked(together, { path: { id } }), enabled: isOffered(together) })
  const numbers = useQuery(asked("GET /admin/v1/workspaces/{id}/numbers", { path: { id } }))
  const singles = isOffered(together) ? [] : (numbers.data?.data ?? []).slice(0, singleMax)
  const answers = useQueries({
    queries: singles.map((number) =>
      asked("GET /admin/v1/workspaces/{id}/numbers/{number_id}/connection", {
        path: { id, number_id: number.id },
      }),
    ),
  })
  if (isOffered(together)) return all.data?.data
  const stateOf = (number_id: number, connection: Connection): NumberState => ({
    ...connection,
    number_id,
    quota: null,
    hours: null,
  })
  return singles.flatMap((number, index) => {
    const connection = answers[index]?.data
    return connection === undefined ? [] : [stateOf(number.id, connection)]
  })
}
