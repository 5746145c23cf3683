/** Whether a workspace has chats, and how many of them are unread, for what surrounds every page. */
import { useQuery } from "@tanstack/react-query"
import { Refused, call, operationQuery } from "../api/call.ts"

/** News report what is written. They do not report a file that is fetched by now. */
export const pollMillis = 10_000

const list = "GET /admin/v1/workspaces/{id}/chats"

/** So many are counted: more only show that there are more. */
export const unreadMax = 9

/** How many chats are unread; null while the workspace has no conversations, which every role may ask. */
export const useUnreadChats = (id: number | undefined) => {
  const input = { path: { id: id ?? 0 }, query: { unread: "true", limit: unreadMax + 1 } }
  return useQuery({
    queryKey: operationQuery(list, input).queryKey,
    queryFn: ({ signal }) =>
      call(list, { ...input, signal })
        .then(({ data }) => data.length)
        .catch((error: unknown) => {
          if (error instanceof Refused && error.code === "conversations_not_enabled") return null
          throw error
        }),
    enabled: id !== undefined,
    // Without conversations it is asked no more until a change here may have turned them on.
    staleTime: ({ state }) => (state.data === null ? Number.POSITIVE_INFINITY : 0),
    refetchInterval: ({ state }) => (typeof state.data === "number" ? pollMillis : false),
  }).data
}
