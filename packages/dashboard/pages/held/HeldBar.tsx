/** On every page of operators while a restored store holds messages. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { operationQuery } from "../api/call.ts"
import { Bar } from "../ui/parts.tsx"
import { heldLabels as labels } from "./words.ts"

export const HeldBar = () => {
  const held = useQuery(operationQuery("GET /admin/v1/held", {}))
  const count = (held.data?.data ?? []).reduce((sum, { messages }) => sum + messages, 0)
  if (count === 0) return null
  return (
    <Bar icon="warning" message={labels.bar(count.toLocaleString())}>
      <Link to="/service/held" className="font-medium underline">
        {labels.decide}
      </Link>
    </Bar>
  )
}
