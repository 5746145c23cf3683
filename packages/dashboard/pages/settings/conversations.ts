/** Whether a workspace has conversations. */
import { useQuery } from "@tanstack/react-query"
import { Refused, call, operationQuery } from "../api/call.ts"

const name = "GET /admin/v1/workspaces/{id}/conversations"

/** Their settings; null while they are off. */
export const useConversations = (id: number) => {
  const path = { id }
  return useQuery({
    queryKey: operationQuery(name, { path }).queryKey,
    queryFn: ({ signal }) =>
      call(name, { path, signal }).catch((error: unknown) => {
        if (error instanceof Refused && error.code === "conversations_not_enabled") return null
        throw error
      }),
  })
}
