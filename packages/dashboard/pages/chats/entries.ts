/** What was written in a chat, oldest first, with the way to what came before it. */
import { useInfiniteQuery } from "@tanstack/react-query"
import type { ReceivedMessage } from "@messaging-service/client"
import { call, operationQuery } from "../api/call.ts"
import { pollMillis } from "./unreadChats.ts"

export interface Entry {
  readonly key: string
  /** When it came, by which entries are in order. */
  readonly at: string
  readonly received: ReceivedMessage
}

const toEntry = (received: ReceivedMessage): Entry => ({
  key: `received-${received.id}`,
  at: received.received_at,
  received,
})

const list = "GET /admin/v1/workspaces/{id}/received-messages"

export const useEntries = (workspaceId: number, chatId: number, mode: "test" | undefined) => {
  const path = { id: workspaceId }
  const query = { chat_id: chatId, mode, limit: 50 }
  const { data, error, fetchNextPage, hasNextPage, isFetchingNextPage, refetch } = useInfiniteQuery(
    {
      queryKey: [...operationQuery(list, { path, query }).queryKey, "pages"],
      queryFn: ({ pageParam: cursor, signal }) =>
        call(list, { path, query: { ...query, cursor }, signal }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next_cursor: next }) => next,
      refetchInterval: pollMillis,
    },
  )
  return {
    /** Undefined while they are unknown. */
    entries: data?.pages
      .flatMap((page) => page.data)
      .map(toEntry)
      .toReversed(),
    error,
    again: () => void refetch(),
    hasEarlier: hasNextPage,
    isLoadingEarlier: isFetchingNextPage,
    loadEarlier: () => void fetchNextPage(),
  }
}
