/** Conversations: their settings, chats and what was received. */
import { receivedKinds } from "@messaging-service/core"
import type {
  CallerScope,
  Chat,
  ChatId,
  ClaimedFile,
  ConversationSettings,
  FileSettlement,
  Incoming,
  Message,
  NewReceived,
  NumberId,
  Person,
  ReceivedErasure,
  ReceivedFile,
  ReceivedMessage,
  ReceivedMessageId,
  SendingNumber,
} from "@messaging-service/core"
import { day, hour } from "../../Records.ts"
import { PassedOver } from "../Chooser.ts"
import type { Chooser } from "../Chooser.ts"
import type { Methods } from "../Method.ts"
import { aNewFile } from "./ofRecords.ts"
import { aReplyTo } from "./ofMessages.ts"

const someSettings = (c: Chooser): ConversationSettings => ({
  groups: !c.once(3),
  retentionDays: c.one([30, 1, 365]),
  media: c.one(["on_arrival", "on_demand", "off"]),
  maxFileBytes: c.one([16_777_216, 1]),
  maxStorageBytes: c.one([5_368_709_120, 0]),
  holdNewChats: c.once(2),
  since: c.now,
})

/** Of few addresses, so that people turn out to be one. */
const aPerson = (c: Chooser): Person => ({
  phone: c.one(["+15550000001", "+15550000002", null, null]),
  lid: c.one(["91", "92", null, null]),
  userId: c.one([null, null, null, "81"]),
  username: c.one([null, null, "someone"]),
  name: c.one([null, "Ann", "Ben"]),
})

const aFile = (c: Chooser): ReceivedFile => ({
  mimeType: "image/png",
  size: 7,
  fileName: c.one([null, "a.png"]),
  seconds: null,
  sha256: null,
})

/** Of few ids, so that they repeat. */
const anIncoming = (c: Chooser): Incoming => {
  const fromMe = c.once(4)
  const group = c.once(4)
    ? { remoteId: c.one(["g1", "g2"]), name: c.one(["Group", null, "Other"]) }
    : null
  const transportId = c.record<Message>("message")?.transportId ?? "none"
  return {
    address: c.one([null, "91@lid"]),
    remoteId: c.one([
      "1",
      "2",
      "3",
      "4",
      "5",
      "6",
      `fresh ${c.fresh()}`,
      'quote\\ " é\u2028\u007f\t',
    ]),
    mode: c.mode(),
    fromMe,
    group,
    person: fromMe && group !== null ? null : aPerson(c),
    kind: c.one(receivedKinds),
    text: c.text(),
    content: c.one([
      null,
      null,
      { type: "poll of stars" },
      { question: "Why?", options: ["a", "b"] },
    ]),
    file: c.maybe(() => aFile(c)),
    fileSource: c.maybe(() => "sealed"),
    quote: c.maybe(() => ({
      remoteId: c.one(["1", "2", "3", transportId, null]),
      text: c.text(),
    })),
    sentAt: c.now - c.one([0, 1000, hour]),
  }
}

export const someReceived = (c: Chooser): ReadonlyArray<NewReceived> =>
  c.some(3, () => ({ incoming: anIncoming(c), eventId: c.eventId() }))

/** Of a record that has a number. */
const getScope = (c: Chooser, numberId: NumberId | undefined): CallerScope =>
  c.scope(numberId === undefined ? undefined : c.recordWith<SendingNumber>("number", numberId))

const someErasure = (c: Chooser): ReceivedErasure => ({
  workspaceId: c.one([null, c.workspaceId()]),
  now: c.now,
  most: c.one([1000, 2, 1000, 0]),
  mostChats: c.one([1000, 1000, 1]),
  marksBefore: c.now - c.one([30 * day, hour, 0]),
})

const learnReceived = (messages: ReadonlyArray<ReceivedMessage>, c: Chooser): void => {
  for (const one of messages) c.side.learn("received", one)
}

const learnChats = (chats: ReadonlyArray<Chat>, c: Chooser): void => {
  for (const one of chats) c.side.learn("chat", one)
}

export const ofChats: Methods<"chats"> = {
  conversations: { weight: 1, input: (c) => [c.workspaceId()] },
  anyConversations: { weight: 1, input: () => [] },
  putConversations: { weight: 6, input: (c) => [c.workspaceId(), someSettings(c)] },
  deleteConversations: { weight: 1, input: (c) => [c.workspaceId()] },
  quote: {
    weight: 4,
    input: (c) => {
      const replyTo = aReplyTo(c)
      if (replyTo === null) throw new PassedOver()
      return [c.id<NumberId>("number"), replyTo]
    },
  },
  receive: {
    weight: 8,
    kind: "received",
    input: (c) => [c.id<NumberId>("number"), someReceived(c), c.now],
    learn: (outcomes, [numberId], c) => {
      for (const { id } of outcomes) if (id !== null) c.side.learn("receivedId", { id, numberId })
    },
  },
  isReceived: { input: (c) => [c.id<NumberId>("number"), anIncoming(c)] },
  listReceived: {
    weight: 3,
    kind: "received",
    input: (c) => {
      const number = c.record<SendingNumber>("number")
      const filter = {
        numberId: c.maybe(() => c.id<NumberId>("number")),
        chatId: c.maybe(() => c.id<ChatId>("chat")),
        kind: c.one([null, null, "text" as const, "image" as const]),
        since: c.maybe(() => c.moment()),
        until: c.maybe(() => c.moment()),
      }
      return [c.scope(number), filter, c.page("receivedId")]
    },
    learn: ({ items }, _, c) => learnReceived(items, c),
  },
  receivedAfter: {
    kind: "received",
    input: (c) => {
      const numberId = c.id<NumberId>("number")
      const kind = c.one([null, null, "text" as const])
      return [getScope(c, numberId), numberId, c.one([0, 1, 3, 10]), kind, c.limit()]
    },
    learn: (items, _, c) => learnReceived(items, c),
  },
  getReceived: {
    kind: "received",
    input: (c) => {
      const found = c.record<{ readonly numberId: NumberId }>("receivedId")
      return [getScope(c, found?.numberId), c.id("receivedId")]
    },
  },
  deleteReceived: {
    kind: "received",
    input: (c) => {
      const found = c.record<{ readonly numberId: NumberId }>("receivedId")
      return [getScope(c, found?.numberId), c.id("receivedId"), c.now]
    },
  },
  listChats: {
    weight: 3,
    kind: "chat",
    input: (c) => {
      const filter = {
        numberId: c.maybe(() => c.id<NumberId>("number")),
        phone: c.one([null, null, "+15550000001"]),
        unread: c.one([null, null, true, false]),
      }
      const before = c.maybe(() => c.record<Chat>("chat")?.activity ?? null)
      return [c.scope(c.record("number")), filter, { before, limit: c.limit() }]
    },
    learn: ({ items }, _, c) => learnChats(items, c),
    // Where a page goes on is an activity.
    compared: ({ items, next }) => ({ items, activity: next }),
  },
  getChat: {
    kind: "chat",
    input: (c) => [getScope(c, c.record<Chat>("chat")?.numberId), c.id("chat")],
  },
  deleteChat: {
    weight: 1,
    kind: "chat",
    input: (c) => [getScope(c, c.record<Chat>("chat")?.numberId), c.id("chat"), c.now],
  },
  listEntries: {
    weight: 3,
    kind: "chat",
    input: (c) => [
      getScope(c, c.record<Chat>("chat")?.numberId),
      c.id("chat"),
      c.maybe(() => ({ at: c.moment(), isSent: c.once(2), id: c.id("receivedId") })),
      c.limit(),
    ],
  },
  markRead: {
    weight: 6,
    kind: "chat",
    input: (c) => {
      const scope = getScope(c, c.record<Chat>("chat")?.numberId)
      return [scope, c.id("chat"), c.id("receivedId"), c.now, c.claim()]
    },
  },
  claimReadMarks: { weight: 3, input: (c) => [c.now, c.later(), c.owned(), c.limit()] },
  settleReadMark: {
    weight: 3,
    kind: "chat",
    input: (c) => [{ chatId: c.id("chat"), upTo: c.id("receivedId"), at: c.now }],
  },
  postponeReadMark: { kind: "chat", input: (c) => [c.id("chat"), c.later()] },
  settledReadMarks: { kind: "number", input: (c) => [c.id("number")] },
  eraseReceived: { input: (c) => [someErasure(c)] },
}

const settled = (c: Chooser): FileSettlement => {
  const claimed = c.record<ClaimedFile>("claimedFile")
  const id = claimed?.id ?? c.id<ReceivedMessageId>("receivedId")
  const lease = (claimed?.lease ?? 1) - (c.once(6) ? 1 : 0)
  const file = claimed?.file ?? aFile(c)
  return c.one([
    { _tag: "Ready", id, lease, file: { ...file, size: 5, state: "ready" } },
    { _tag: "Ended", id, lease, state: c.one(["too_large", "full", "gone", "refused"]) },
    { _tag: "Again", id, lease, dueAt: c.later() },
  ])
}

export const ofReceivedFiles: Methods<"receivedFiles"> = {
  claim: {
    weight: 4,
    kind: "received",
    input: (c) => [{ ...c.lease(), ...c.shares(), owned: c.owned() }],
    learn: (claimed, _, c) => {
      for (const one of claimed) c.side.learn("claimedFile", one)
    },
  },
  reserve: {
    weight: 3,
    kind: "media",
    input: (c) => {
      const { id, lease, mode, workspaceId } = c.needed<ClaimedFile>("claimedFile")
      const file = { ...aNewFile(c), workspaceId, mode }
      return [{ id, lease: lease - (c.once(6) ? 1 : 0) }, file]
    },
    learn: (reservation, [, file], c) => {
      if (reservation?._tag === "Reserved") c.side.learn("media", { ...file, id: reservation.id })
    },
  },
  settle: { weight: 4, input: (c) => [settled(c)] },
  find: { kind: "received", input: (c) => [c.id("receivedId")] },
  request: { input: (c) => [c.id("receivedId"), c.now] },
}
