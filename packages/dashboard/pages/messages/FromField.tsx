/**
 * The number that a message leaves from: the only one that there was when the form opened, else the one that the
 * user chooses. News never change it under the user's hands.
 */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { operationQuery } from "../api/call.ts"
import { toName } from "../numbers/connection.ts"
import { useWaitNote } from "../numbers/StandingSentence.tsx"
import { SelectField } from "../ui/forms.tsx"
import { newMessageLabels as labels } from "./words.ts"

export const FromField = ({
  change,
  id,
  initial,
  problem,
  sends = false,
}: {
  id: number
  problem?: string | undefined
  /** What the user chose in the form before. */
  initial?: number | undefined
  change?: (from: number) => void
  /** Whether messages leave at once, so that the field says when they would wait. */
  sends?: boolean
}) => {
  const numbers = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path: { id } }),
  )
  const list = numbers.data?.data ?? []
  /** Null while the user has to choose one of several. */
  const [from, setFrom] = useState<number | null | undefined>(initial)
  if (from === undefined && list[0] !== undefined) setFrom(list.length === 1 ? list[0].id : null)
  const waitNote = useWaitNote(id, sends ? (from ?? undefined) : undefined)
  if (from === undefined) return null
  return (
    <SelectField
      name="from"
      label={labels.from}
      about={waitNote}
      problem={problem}
      required
      value={from ?? ""}
      onChange={({ target: { value } }) => {
        setFrom(Number(value))
        change?.(Number(value))
      }}
      options={[
        ...(from === null ? [["", labels.chooseFrom] as const] : []),
        ...list.map((number) => [number.id, toName(number)] as const),
      ]}
    />
  )
}
