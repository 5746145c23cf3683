/** What was written in a chat, in both directions and oldest first, with the way to what came before it. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query"
import type { Chat, Message, ReceivedMessage } from "@messaging-service/client"
import { call, operationQuery } from "../api/call.ts"
import { panelLabels } from "../messages/words.ts"
import { getAuthor } from "./chats.ts"
import { pollMillis } from "./unreadChats.ts"
import { kindLabels, threadLabels } from "./words.ts"

/** One of the two is null. */
export interface Entry {
  readonly key: string
  /** By which entries are in order. */
  readonly at: string
  readonly received: ReceivedMessage | null
  readonly message: Message | null
}

const ofReceived = (received: ReceivedMessage): Entry => ({
  key: `received-${received.id}`,
  at: received.received_at,
  received,
  message: null,
})

const ofMessage = (message: Message): Entry => ({
  key: `message-${message.id}`,
  at: message.sent_at ?? message.created_at,
  received: null,
  message,
})

/** What was said, in a line. */
export const getEntryText = ({ message, received }: Entry): string => {
  if (received !== null) return received.text || kindLabels[received.kind]
  return message?.text || panelLabels.carries(message?.media ?? null)
}

export const getEntryAuthor = ({ received }: Entry): string => {
  if (received === null) return threadLabels.you
  return received.from_me ? threadLabels.atPhone : getAuthor(received)
}

type Mode = "test" | undefined

const list = "GET /admin/v1/workspaces/{id}/received-messages"

const useReceived = (workspaceId: number, chatId: number, mode: Mode) => {
  const path = { id: workspaceId }
  const query = { chat_id: chatId, mode, limit: 50 }
  return useInfiniteQuery({
    queryKey: [...operationQuery(list, { path, query }).queryKey, "pages"],
    queryFn: ({ pageParam: cursor, signal }) =>
      call(list, { path, query: { ...query, cursor }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor: next }) => next,
    refetchInterval: pollMillis,
  })
}

/** Whether the message was to that chat. */
const isOfChat = ({ to }: Message, chat: Chat): boolean =>
  "chat_id" in to ? to.chat_id === chat.id : "phone" in to && to.phone === chat.phone

/** The newest messages to the chat, those that wait and those that failed among them; undefined while unknown. */
const useSent = (workspaceId: number, chat: Chat | undefined, mode: Mode) => {
  const { data, isLoading } = useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/messages", {
      path: { id: workspaceId },
      query: { from: chat?.number_id, to: chat?.phone ?? undefined, mode, limit: 100 },
    }),
    enabled: chat !== undefined,
  })
  if (chat === undefined || isLoading) return undefined
  return (data?.data ?? []).filter((message) => isOfChat(message, chat))
}

export const useEntries = (
  workspaceId: number,
  chatId: number,
  chat: Chat | undefined,
  mode: Mode,
) => {
  const received = useReceived(workspaceId, chatId, mode)
  const sent = useSent(workspaceId, chat, mode)
  const { data, error, fetchNextPage, hasNextPage, isFetchingNextPage, refetch } = received
  const known = data?.pages.flatMap((page) => page.data).map(ofReceived)
  // Older ones wait for what was received before them.
  const since = hasNextPage ? Date.parse(known?.at(-1)?.at ?? "") : Number.NEGATIVE_INFINITY
  const messages = (sent ?? []).map(ofMessage).filter(({ at }) => Date.parse(at) >= since)
  return {
    /** Undefined while they are unknown. */
    entries:
      sent &&
      known &&
      [...known.toReversed(), ...messages.toReversed()].toSorted(
        (a, b) => Date.parse(a.at) - Date.parse(b.at),
      ),
    error,
    again: () => void refetch(),
    hasEarlier: hasNextPage,
    isLoadingEarlier: isFetchingNextPage,
    loadEarlier: () => void fetchNextPage(),
  }
}
