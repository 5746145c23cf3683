/**
 * What was said last in each chat of the list. The service lists chats without it, so the newest messages of the
 * workspace are asked for: a chat has no preview if its last message is older than all of them.
 */
import { useQuery } from "@tanstack/react-query"
import type { Chat, Message, ReceivedMessage } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import { getEntryAuthor, getEntryText, ofMessage, ofReceived } from "./entries.ts"
import { pollMillis } from "./unreadChats.ts"
import { previewLabels as labels, threadLabels } from "./words.ts"

/** Of those that left: the others are in no chat. */
const sentStatuses = "sent,delivered,read"

const newest = 100

const getReceivedText = (received: ReceivedMessage): string => {
  if (received.revoked_at !== null) return threadLabels.revoked
  const entry = ofReceived(received)
  const isNamed = received.from_me || received.chat.type === "group"
  return isNamed ? labels.by(getEntryAuthor(entry), getEntryText(entry)) : getEntryText(entry)
}

const getSentText = (message: Message): string =>
  labels.by(threadLabels.you, getEntryText(ofMessage(message)))

/** Whether what was sent is later than what was received. */
const isSentLast = ({ last_received_at: received, last_sent_at: sent }: Chat): boolean =>
  sent !== null && (received === null || Date.parse(sent) > Date.parse(received))

/** Gives the last text of a chat; undefined where it is not known. */
export const usePreviews = (
  workspaceId: number,
  mode: "test" | undefined,
): ((chat: Chat) => string | undefined) => {
  const path = { id: workspaceId }
  const received = useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/received-messages", {
      path,
      query: { mode, limit: newest },
    }),
    refetchInterval: pollMillis,
  }).data?.data
  const sent = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/messages", {
      path,
      query: { mode, limit: newest, status: sentStatuses },
    }),
  ).data?.data
  return (chat) => {
    if (!isSentLast(chat)) {
      const last = received?.find((one) => one.chat.id === chat.id)
      return last && getReceivedText(last)
    }
    const last = sent?.find(
      ({ from, to }) =>
        from.id === chat.number_id &&
        ("chat_id" in to
          ? to.chat_id === chat.id
          : "phone" in to && chat.phone !== null && to.phone === chat.phone),
    )
    return last && getSentText(last)
  }
}
