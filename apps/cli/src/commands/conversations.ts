/** Conversations of a workspace: whether they are on, with which settings, and what people write. */
import type { Chat, ChatEntry, ReceivedMessage } from "@messaging-service/client"
import {
  choice,
  command,
  count,
  flag,
  id,
  many,
  maybe,
  number,
  once,
  phoneValue,
  targetOptions,
  time,
  workspace,
} from "../Command.ts"
import { usageError } from "../ending.ts"
import { limit, listed } from "./lists.ts"
import { callerDetail, callerLists, toFields } from "./rows.ts"

const personText = ({ lid, name, phone, user_id, username }: ReceivedMessage["from"]) =>
  name ?? phone ?? (username === null ? (user_id ?? lid) : `@${username}`)

const authorText = ({ from, from_me }: ReceivedMessage) =>
  from_me ? "the owner" : personText(from)

const receivedColumns = [
  "id",
  ["received", "received_at"],
  ["number", ({ number: { id: numberId } }: ReceivedMessage) => numberId],
  [
    "chat",
    ({ chat: { id: chatId, name, type } }: ReceivedMessage) => (type === "group" ? name : chatId),
  ],
  ["from", authorText],
  "kind",
  "text",
] as const

const chatColumns = [
  "id",
  ["number", "number_id"],
  "type",
  ["with", (chat: Chat) => personText(chat)],
  "phone",
  "unread",
  ["received", "last_received_at"],
] as const

const entryColumns = [
  "at",
  ["direction", ({ message }: ChatEntry) => (message === null ? "received" : "sent")],
  ["id", ({ message, received_message: received }: ChatEntry) => (received ?? message)?.id],
  ["from", ({ received_message: received }: ChatEntry) => received && authorText(received)],
  ["status", ({ message }: ChatEntry) => message?.status],
  ["text", ({ message, received_message: received }: ChatEntry) => (received ?? message)?.text],
] as const

const ofNumber = maybe(count("ID", "Only of that number."))

export const chatCommands = [
  callerLists(
    "messages received",
    "receivedMessages.list",
    "Lists what people wrote, newest first.",
    receivedColumns,
    {
      number: ofNumber,
      "chat-id": maybe(count("ID", "Only in that chat.")),
      since: maybe(time("Received then or later.")),
      until: maybe(time("Received before.")),
    },
  ),
  callerDetail(
    "messages erase",
    "received message",
    "receivedMessages.delete",
    "Erases received messages here, not on phones.",
    many,
  ),
  callerLists("chats list", "chats.list", "Lists chats, the latest activity first.", chatColumns, {
    number: ofNumber,
    phone: maybe(phoneValue("Only with that person.")),
    unread: maybe(choice(["true", "false"], "Whether something in it is unread.")),
  }),
  callerDetail("chats show", "chat", "chats.get", "Shows a chat."),
  command({
    name: "chats messages",
    as: "key or operator",
    summary: "Lists what was received and sent in a chat, newest first.",
    arguments: { id: once(id("chat")) },
    options: { ...targetOptions, ...limit },
    run: ({ id: of, ...args }, { caller, output }) =>
      listed(args, output, entryColumns, (page) => caller().chats.messages(of, page)),
  }),
  command({
    name: "chats read",
    as: "key or operator",
    summary: "Marks a chat as read up to a message of it, here and on the phone.",
    arguments: { chat: once(count("ID", "The id of the chat.")) },
    options: {
      ...targetOptions,
      "up-to": once(
        count("ID", "The last received message that was read, as chats messages lists it."),
      ),
    },
    run: async ({ chat, "up-to": upTo }, { caller, output }) =>
      output.one(await caller().chats.markRead(chat, { up_to: upTo })),
  }),
  callerDetail(
    "chats erase",
    "chat",
    "chats.delete",
    "Erases all that was received in chats, here, not on phones.",
    many,
  ),
]

const onOff = (about: string) => maybe(choice(["on", "off"], about))

const isOn = (value: "on" | "off" | undefined): boolean | undefined =>
  value === undefined ? undefined : value === "on"

export const conversationCommands = [
  command({
    name: "conversations show",
    as: "operator",
    summary: "Shows the settings of a workspace's conversations, and what is stored.",
    arguments: { workspace },
    run: async (input, { operator, output }) =>
      output.one(await operator().conversations.get(input.workspace)),
  }),
  command({
    name: "conversations on",
    as: "operator",
    summary: "Turns conversations on, or replaces their settings.",
    about:
      "Keys and webhook endpoints of the workspace may then name more scopes and events. A setting that is left out takes its default.",
    arguments: { workspace },
    options: {
      groups: onOff("Stores what is written in groups too. Default: off."),
      retention: maybe(count("DAYS", "Keeps received messages that long. Default: 30.")),
      media: maybe(
        choice(["on_arrival", "on_demand", "off"], "When files are fetched. Default: on_arrival."),
      ),
      "max-file": maybe(count("BYTES", "Fetches no larger file. Default: 16777216.")),
      "max-storage": maybe(number("BYTES", "Room for all files. Default: 5368709120.")),
      "hold-new-chats": onOff(
        "Messages to new people wait while WhatsApp lets the number open no chats. Default: off.",
      ),
    },
    run: async (input, { operator, output }) =>
      output.one(
        await operator().conversations.set(
          input.workspace,
          toFields({
            groups: isOn(input.groups),
            retention_days: input.retention,
            media: input.media,
            max_file_bytes: input["max-file"],
            max_storage_bytes: input["max-storage"],
            hold_new_chats: isOn(input["hold-new-chats"]),
          }),
        ),
      ),
  }),
  command({
    name: "conversations off",
    as: "operator",
    summary: "Turns conversations off, and erases what was received.",
    arguments: { workspace },
    options: { yes: flag("Confirms the command. Required.") },
    run: async (input, { operator, output }) => {
      if (!input.yes) throw usageError("turning conversations off needs --yes")
      output.one(await operator().conversations.delete(input.workspace))
    },
  }),
]
