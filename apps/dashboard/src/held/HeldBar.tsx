/** On every page of operators while a restored store holds messages. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { asked } from "../api/call.ts"
import { Icon } from "../ui/Icon.tsx"
import { heldWords as words } from "./words.ts"

export const HeldBar = () => {
  const held = useQuery(asked("GET /admin/v1/held", {}))
  const count = (held.data?.data ?? []).reduce((sum, { messages }) => sum + messages, 0)
  if (count === 0) return null
  return (
    <p className="flex flex-wrap items-center gap-2 border-b border-line bg-amber-wash px-4 py-2 text-sm text-amber md:px-6">
      <Icon name="warning" />
      <span className="mr-auto">{words.bar(count.toLocaleString())}</span>
      <Link to="/service/held" className="font-medium underline">
        {words.decide}
      </Link>
    </p>
  )
}
