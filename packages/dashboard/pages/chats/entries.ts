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

export const ofReceived = (received: ReceivedMessage): Entry => ({
  key: `received-${received.id}`,
  at: received.received_at,
  received,
  message: null,
})

export const ofMessage = (message: Message): Entry => ({
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

const list = "GET /admin/v1/workspaces/{id}/chats/{chat_id}/messages"

/** What was received, and what left, in the order of the service. */
const useSaid = (workspaceId: number, chatId: number, mode: Mode) => {
  const path = { id: workspaceId, chat_id: chatId }
  const query = { mode, limit: 50 }
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

/** Messages that did not leave, which the service lists in no chat: those that wait, and why others never will. */
const unsent = ["queued", "scheduled", "failed", "expired"].join()

/** The newest of them; undefined while unknown. */
const useUnsent = (workspaceId: number, chat: Chat | undefined, mode: Mode) => {
  const { data, isLoading } = useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/messages", {
      path: { id: workspaceId },
      query: {
        from: chat?.number_id,
        to: chat?.phone ?? undefined,
        status: unsent,
        mode,
        limit: 100,
      },
    }),
    enabled: chat !== undefined,
  })
  if (chat === undefined || isLoading) return undefined
  return (data?.data ?? []).filter((message) => isOfChat(message, chat))
}

/** Puts each of those before the first that is later. */
const merge = (
  entries: ReadonlyArray<Entry>,
  others: ReadonlyArray<Entry>,
): ReadonlyArray<Entry> => {
  const known = new Set(entries.map(({ key }) => key))
  // Of two answers the earlier one may still have as waiting what left since.
  const missing = others.filter(({ key }) => !known.has(key))
  return [...entries, ...missing].toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
}

export const useEntries = (
  workspaceId: number,
  chatId: number,
  chat: Chat | undefined,
  mode: Mode,
) => {
  const said = useSaid(workspaceId, chatId, mode)
  const waiting = useUnsent(workspaceId, chat, mode)
  const { data, error, fetchNextPage, hasNextPage, isFetchingNextPage, refetch } = said
  const known = data?.pages
    .flatMap((page) => page.data)
    .flatMap(({ message, received_message: received }) =>
      received === null ? (message === null ? [] : ofMessage(message)) : ofReceived(received),
    )
    .toReversed()
  // Older ones wait for what was said before them.
  const since = hasNextPage ? Date.parse(known?.[0]?.at ?? "") : Number.NEGATIVE_INFINITY
  const others = (waiting ?? [])
    .map(ofMessage)
    .filter(({ at }) => Date.parse(at) >= since)
    .toReversed()
  return {
    /** Undefined while they are unknown. */
    entries: waiting && known && merge(known, others),
    error,
    again: () => void refetch(),
    hasEarlier: hasNextPage,
    isLoadingEarlier: isFetchingNextPage,
    loadEarlier: () => void fetchNextPage(),
  }
}
