/** Says that the workspace's plan has no reminders. */
import { useQuery } from "@tanstack/react-query"
import { asked } from "../api/call.ts"
import { reminderWords as words } from "./words.ts"

export const PlanNote = ({ id }: { id: number }) => {
  const { data } = useQuery(asked("GET /admin/v1/workspaces/{id}", { path: { id } }))
  if (data === undefined || data.plan?.reminders === true) return null
  return <p className="rounded-lg bg-amber-wash px-3 py-2 text-sm text-amber">{words.noPlan}</p>
}
