/**
 * Conversations: what an operator turns on for a workspace, so that it learns of ticks, of its numbers and
 * of what people write (contract: Conversations).
 */
import { Schema } from "effect"
import { described, inputDecoder, integerBetween, integerFrom } from "./Input.ts"
import type { CommandOf } from "./Input.ts"
import type { Message, Tick } from "./Message.ts"
import { unknownPerson } from "./Incoming.ts"
import type { IncomingMessage } from "./Incoming.ts"
import { toTarget } from "./Recipient.ts"

export const receivedMediaModes = ["on_arrival", "on_demand", "off"] as const

/** `on_arrival`: files are fetched at once. `on_demand`: once their link is called. `off`: never. */
export type ReceivedMediaMode = (typeof receivedMediaModes)[number]

export interface ConversationSettings {
  /** Whether what is written in groups is stored too. */
  readonly groups: boolean
  readonly retentionDays: number
  readonly media: ReceivedMediaMode
  readonly maxFileBytes: number
  /** Of all received files of the workspace together. */
  readonly maxStorageBytes: number
  /** Whether messages to new people wait while WhatsApp lets the number open no chats. */
  readonly holdNewChats: boolean
  /** When they were turned on. */
  readonly since: number
}

/** What a workspace keeps of what people wrote. */
export interface ReceivedStorage {
  readonly messages: number
  readonly bytes: number
  /** When the oldest was received; null when there are none. */
  readonly oldestAt: number | null
}

const defaults = {
  groups: false,
  retentionDays: 30,
  media: "on_arrival",
  maxFileBytes: 16_777_216,
  maxStorageBytes: 5_368_709_120,
  holdNewChats: false,
} as const satisfies Omit<ConversationSettings, "since">

/** The body of PUT …/conversations. */
export const ConversationBody = Schema.Struct({
  groups: described(Schema.optionalKey(Schema.Boolean), "Store what is written in groups too.", {
    default: defaults.groups,
  }),
  retentionDays: described(
    Schema.optionalKey(integerBetween(1, 365)),
    "Days that received messages are kept.",
    { default: defaults.retentionDays },
  ),
  media: described(
    Schema.optionalKey(Schema.Literals(receivedMediaModes)),
    "`on_arrival`: files are fetched at once. `on_demand`: when their link is called. `off`: never.",
    { default: defaults.media },
  ),
  maxFileBytes: described(
    Schema.optionalKey(integerBetween(1, 104_857_600)),
    "A larger file is not fetched.",
    { default: defaults.maxFileBytes },
  ),
  maxStorageBytes: described(
    Schema.optionalKey(integerFrom(0)),
    "Room for all received files together; not part of the plan's media storage.",
    { default: defaults.maxStorageBytes },
  ),
  holdNewChats: described(
    Schema.optionalKey(Schema.Boolean),
    "Messages to new people wait while WhatsApp lets the number open no chats.",
    { default: defaults.holdNewChats },
  ),
}).annotate({ identifier: "SetConversations", description: "What is left out takes its default." })

/** Settings to turn conversations on with. */
export type SetConversations = CommandOf<typeof ConversationBody.Encoded>

export const decodeConversations = inputDecoder(ConversationBody)

/** The settings that a body asks for; `since`: when they are turned on. */
export const conversationSettings = (
  input: typeof ConversationBody.Type,
  since: number,
): ConversationSettings => ({ ...defaults, ...input, since })

/** The phone that answers what it has read. */
const answeringTestPhone = "+15005550003"

/** Phones that read what test keys send them (contract: Test keys in conversations). */
const readingTestPhones = ["+15005550002", answeringTestPhone]

/** How long after a test message was read it is answered. */
export const testAnswerMillis = 1000

/** What a test phone answers to a message that it has read: its own text, quoting it. Null for no answer. */
export const testAnswer = (
  { mode, state, text, to, transportId }: Message,
  sentAt: number,
): IncomingMessage | null => {
  const target = toTarget(to)
  if (mode !== "test" || state !== "read" || target.kind !== "phone") return null
  if (target.phone !== answeringTestPhone) return null
  return {
    _tag: "Message",
    // It follows from the message: answered twice it is stored once.
    remoteId: `ANSWER${transportId}`,
    mode,
    fromMe: false,
    group: null,
    person: { ...unknownPerson, phone: target.phone },
    kind: "text",
    text,
    content: null,
    file: null,
    quote: { remoteId: transportId, text },
    sentAt,
  }
}

/** The tick that a test message gets next, and when; `movedAt`: when it was sent or delivered. */
export const nextTestTick = (
  { mode, state, to }: Pick<Message, "mode" | "state" | "to">,
  movedAt: number,
): { readonly tick: Tick; readonly at: number } | null => {
  if (mode !== "test" || (state !== "sent" && state !== "delivered")) return null
  const target = toTarget(to)
  if (target.kind !== "phone" || !readingTestPhones.includes(target.phone)) return null
  return { tick: state === "sent" ? "delivered" : "read", at: movedAt + 1000 }
}
