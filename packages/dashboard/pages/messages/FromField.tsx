/**
 * The number that a message leaves from: the first that was connected when the form opened, unless the user chooses
 * another. News never change it under the user's hands.
 */
import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { operationQuery } from "../api/call.ts"
import { toName } from "../numbers/connection.ts"
import { useWaitNote } from "../numbers/StandingSentence.tsx"
import { SelectField } from "../ui/forms.tsx"
import { newMessageLabels as labels } from "./words.ts"

export const FromField = ({
  change,
  id,
  problem,
  sends = false,
}: {
  id: number
  problem?: string | undefined
  /** Told the first one too. */
  change?: (from: number) => void
  /** Whether messages leave at once, so that the field says when they would wait. */
  sends?: boolean
}) => {
  const numbers = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path: { id } }),
  )
  const list = numbers.data?.data ?? []
  const first = list.find(({ status }) => status === "connected") ?? list[0]
  const [firstId, setFirstId] = useState<number>()
  if (firstId === undefined && first !== undefined) setFirstId(first.id)
  useEffect(() => {
    if (firstId !== undefined) change?.(firstId)
    // Once: later the user's choice stands.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [firstId])
  const [chosenId, setChosenId] = useState<number>()
  const waitNote = useWaitNote(id, sends ? (chosenId ?? firstId) : undefined)
  if (firstId === undefined) return null
  return (
    <SelectField
      name="from"
      label={labels.from}
      about={waitNote}
      problem={problem}
      defaultValue={firstId}
      onChange={(event) => {
        setChosenId(Number(event.target.value))
        change?.(Number(event.target.value))
      }}
      options={list.map((number) => [number.id, toName(number)])}
    />
  )
}
