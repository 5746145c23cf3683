/** How people and groups are called. */
import type { Chat, ReceivedMessage } from "@messaging-service/client"
import { chatsLabels as labels } from "./words.ts"

/** Who is at the other end, as people call them. */
export const getChatName = ({ id, lid, name, phone, type, user_id, username }: Chat): string =>
  name ||
  phone ||
  (username === null
    ? (lid ?? user_id) === null || type === "group"
      ? labels.group(id)
      : labels.person(id)
    : `@${username}`)

/** The address at which the person is reached; null for a group, and for one that a name alone is known of. */
export const getAddress = ({ phone, username }: Pick<Chat, "phone" | "username">) =>
  phone ?? (username === null ? null : `@${username}`)

/** Who wrote or reacted. */
export const getAuthor = ({ from }: Pick<ReceivedMessage, "from">): string =>
  from.name || getAddress(from) || labels.someone
