/** Says at the fields why messages of the workspace are refused, or wait. */
import { useQuery } from "@tanstack/react-query"
import { operationQuery } from "../api/call.ts"
import { Icon } from "../ui/Icon.tsx"
import { sendingNotes as labels } from "./words.ts"

export const SendingNotes = ({ id }: { id: number }) => {
  const { data } = useQuery(operationQuery("GET /admin/v1/workspaces/{id}", { path: { id } }))
  if (data === undefined) return null
  const notes = [
    data.account_disabled && labels.disabled,
    data.plan === null && labels.noPlan,
    data.plan?.messages_remaining === 0 && labels.noAllowance,
  ].filter((note) => typeof note === "string")
  return notes.map((note) => (
    <p
      key={note}
      className="flex items-center gap-2 rounded-lg bg-amber-wash px-3 py-2 text-sm text-amber"
    >
      <Icon name="warning" />
      {note}
    </p>
  ))
}
