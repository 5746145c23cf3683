/** A filter by one of the workspace's numbers; only where there is a choice. */
import { useQuery } from "@tanstack/react-query"
import { operationQuery } from "../api/call.ts"
import { Filter } from "../ui/filters.tsx"
import { toName } from "./connection.ts"
import { numberLabels, numbersLabels } from "./words.ts"

export const NumberFilter = ({
  choose,
  chosen,
  label,
  workspaceId,
}: {
  label: string
  workspaceId: number
  chosen: number | undefined
  choose: (id: number | undefined) => void
}) => {
  const path = { id: workspaceId }
  const numbers =
    useQuery(operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path })).data?.data ?? []
  if (numbers.length < 2 && chosen === undefined) return null
  const isListed = chosen === undefined || numbers.some(({ id }) => id === chosen)
  return (
    <Filter
      label={label}
      value={String(chosen ?? "")}
      choose={(value) => choose(value === "" ? undefined : Number(value))}
      options={[
        ["", numbersLabels.any],
        ...(isListed ? [] : [[chosen, numberLabels.title(chosen)] as const]),
        ...numbers.map((number) => [number.id, toName(number)] as const),
      ]}
    />
  )
}
