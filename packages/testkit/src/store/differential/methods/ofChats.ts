/** Conversations: their settings, chats and what was received. */
import { messageJson, receivedKinds } from "@messaging-service/core"
import type {
  Addressed,
  CallerScope,
  Chat,
  ChatId,
  ClaimedFile,
  ConversationSettings,
  FileSettlement,
  Incoming,
  IncomingChange,
  IncomingMessage,
  Message,
  NewReceived,
  NumberId,
  Person,
  ChatContext,
  ReceivedErasure,
  ReceivedFile,
  ReceivedMessage,
  ReceivedOutcome,
  ReceivedMessageId,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { day, hour } from "../../Records.ts"
import { aLink } from "../../Sending.ts"
import { PassedOver } from "../Chooser.ts"
import type { Chooser } from "../Chooser.ts"
import type { Methods } from "../Method.ts"
import { aNewFile } from "./ofRecords.ts"
import { aReplyTo } from "./ofMessages.ts"
import { unknownId } from "../Side.ts"
import type { Known } from "../Side.ts"

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

/** Mostly one of a workspace that had conversations turned on. */
export const aReceivingNumber = (c: Chooser): NumberId => {
  const workspaces = new Set(c.side.known("conversing").map((one) => (one as Known).id))
  const numbers = (c.side.known("number") as ReadonlyArray<SendingNumber>).filter(
    ({ workspaceId }) => workspaces.has(workspaceId),
  )
  const number = numbers[c.below(numbers.length)]
  return number === undefined || c.once(8) ? c.id<NumberId>("number") : number.id
}

/** Few groups. */
const aPlace = (c: Chooser): ChatContext => {
  const fromMe = c.once(4)
  const group = c.once(4)
    ? { remoteId: c.one(["g1", "g2"]), name: c.one(["Group", null, "Other"]) }
    : null
  return { mode: c.mode(), fromMe, group, person: fromMe && group !== null ? null : aPerson(c) }
}

/** Few, so that they repeat. */
const aRemoteId = (c: Chooser): string =>
  c.one(["1", "2", "3", "4", "5", "6", `fresh ${c.fresh()}`, 'quote\\ " é\u2028\u007f\t'])

const aTransportId = (c: Chooser): string => c.record<Message>("message")?.transportId ?? "none"

/** Mostly a repeat, sometimes under another address. */
const anAddressed = (c: Chooser): Addressed => {
  const known = c.record<{ readonly one: Addressed }>("addressed")?.one
  if (known === undefined || c.once(3)) return { ...aPlace(c), remoteId: aRemoteId(c) }
  return c.once(3) && known.person !== null ? { ...known, person: aPerson(c) } : known
}

const aSentAt = (c: Chooser): number => c.now - c.one([0, 1000, hour])

const aReceivedMessage = (c: Chooser): IncomingMessage => ({
  _tag: "Message",
  ...anAddressed(c),
  address: c.one([null, "91@lid"]),
  kind: c.one(receivedKinds),
  text: c.text(),
  content: c.one([
    null,
    null,
    { type: "poll of stars" },
    { question: "Why?", options: ["a", "b"] },
    { type: "long", truncated: true },
  ]),
  file: c.maybe(() => aFile(c)),
  fileSource: c.maybe(() => "sealed"),
  quote: c.maybe(() => ({
    remoteId: c.one(["1", "2", "3", aTransportId(c), null]),
    text: c.text(),
  })),
  sentAt: aSentAt(c),
})

/** Of few ids, and often of what was sent. */
const aChange = (c: Chooser): IncomingChange => {
  const change = c.one([
    { type: "edit" as const, text: c.text() },
    { type: "revocation" as const },
    { type: "reaction" as const, emoji: c.one(["a", "b", null]) },
    { type: "reaction" as const, emoji: c.one(["a", "b", null]) },
  ])
  const { remoteId, ...known } = anAddressed(c)
  const isAnywhere = c.once(8)
  return {
    _tag: "Change",
    ...known,
    ...(isAnywhere ? { group: null, person: null, isVerified: true } : { isVerified: c.once(6) }),
    target: {
      remoteId: c.once(4) ? aTransportId(c) : remoteId,
      fromMe: c.one([null, null, known.fromMe, !known.fromMe]),
    },
    change,
    at: aSentAt(c),
    ...(c.once(2) && { changeId: aRemoteId(c) }),
  }
}

const anIncoming = (c: Chooser): Incoming => {
  const kind = c.one([...tags, "Message" as const, "Change" as const])
  switch (kind) {
    case "Message":
      return aReceivedMessage(c)
    case "Unreadable":
      return { _tag: "Unreadable", ...anAddressed(c), sentAt: aSentAt(c) }
    case "Change":
      return aChange(c)
    case "Gap":
      return { _tag: "Gap", mode: c.mode(), reason: "skipped", from: aSentAt(c) }
  }
}

const tags = ["Message", "Unreadable", "Change", "Gap"] as const satisfies ReadonlyArray<
  Incoming["_tag"]
>

export const someReceived = (c: Chooser): ReadonlyArray<NewReceived> =>
  c.some(2, () => ({
    incoming: anIncoming(c),
    eventId: c.eventId(),
    toMessageJson: (message) => messageJson(message, c.now, aLink),
  }))

export const learnReceiving = (
  outcomes: ReadonlyArray<ReceivedOutcome>,
  numberId: NumberId,
  received: ReadonlyArray<NewReceived>,
  c: Chooser,
): void => {
  for (const { incoming } of received) {
    if (incoming._tag !== "Message" && incoming._tag !== "Unreadable") continue
    const { fromMe, group, mode, person, remoteId } = incoming
    c.side.learn("addressed", { one: { fromMe, group, mode, person, remoteId } })
  }
  for (const { id } of outcomes) if (id !== null) c.side.learn("receivedId", { id, numberId })
}

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
  putConversations: {
    weight: 6,
    input: (c) => {
      const number = c.record<SendingNumber>("number")
      return [c.getWorkspaceId(number), someSettings(c)]
    },
    learn: (answer, [id], c) => {
      if (answer !== null) c.side.learn("conversing", { id })
    },
  },
  // What is off receives nothing.
  deleteConversations: {
    weight: 1,
    input: (c) => [c.once(4) ? c.workspaceId() : (unknownId as WorkspaceId), c.now],
  },
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
    input: (c) => [aReceivingNumber(c), someReceived(c), c.now],
    learn: (outcomes, [numberId, received], c) => learnReceiving(outcomes, numberId, received, c),
  },
  needsNoCopy: { input: (c) => [aReceivingNumber(c), anAddressed(c)] },
  endCopyWaits: {
    weight: 2,
    input: (c) => [c.now, c.some(5, () => c.eventId())],
  },
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
    // Where a page continues is an activity.
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
