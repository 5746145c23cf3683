/** Releases or cancels held messages. A call takes at most 1,000, so that "all" is several calls. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import type { SelectHeld } from "@messaging-service/client"
import { useState } from "react"
import { call } from "../api/call.ts"

export type Decision = "release" | "cancel"

const decide = async (decision: Decision, id: number, body: SelectHeld) => {
  const path = { id }
  if (decision === "release") {
    const { more, released } = await call("POST /admin/v1/workspaces/{id}/held/release", {
      path,
      body,
    })
    return { done: released, more }
  }
  const { cancelled, more } = await call("POST /admin/v1/workspaces/{id}/held/cancel", {
    path,
    body,
  })
  return { done: cancelled, more }
}

export const useHeldDecision = (id: number, onSuccess: () => void) => {
  const client = useQueryClient()
  const [done, setDone] = useState(0)
  const mutation = useMutation({
    mutationFn: async ({ body, decision }: { decision: Decision; body: SelectHeld }) => {
      let total = 0
      for (let more = true; more;) {
        const part = await decide(decision, id, body)
        total += part.done
        setDone(total)
        more = part.more && part.done > 0
      }
    },
    onSuccess,
    onSettled: () => void client.invalidateQueries(),
  })
  return { ...mutation, done }
}
