/** Messages, their acceptance, and the lanes that they leave by. */
import { endMessage, everyMessage, unchangedLane } from "@messaging-service/core"
import type {
  Chat,
  Acceptance,
  LaneUpdate,
  Callback,
  ClaimedMessage,
  ClaimOutcome,
  Ending,
  IdempotencyClaim,
  MediaFile,
  MediaReference,
  Message,
  MessageChange,
  MessageEvent,
  MessageFilter,
  MessageId,
  NewMessage,
  NumberFacts,
  NumberId,
  ReceivedMessageId,
  Recipient,
  ReplyTo,
  SendingNumber,
  Settlement,
  Contact,
  WorkspaceId,
} from "@messaging-service/core"
import { day, hour, minute } from "../../Records.ts"
import { PassedOver } from "../Chooser.ts"
import type { Chooser } from "../Chooser.ts"
import type { Methods } from "../Method.ts"
import { aCap, someEvents } from "./ofNumbers.ts"

const aRecipient = (c: Chooser, workspaceId: WorkspaceId): Recipient => {
  const contact = c.record<Contact>("contact")
  switch (c.below(8)) {
    case 6:
      return aChatRecipient(c)
    case 4:
      return { kind: "group", group: "Group" }
    case 5:
      return { kind: "username", username: "@someone" }
    case 3:
      if (contact?.workspaceId === workspaceId && contact.phone !== null) {
        return { kind: "contact_phone", contactId: contact.id, phone: contact.phone }
      }
  }
  return { kind: "phone", phone: c.phone(), contactId: null }
}

/** Of any record that there is, or was. */
export const aReplyTo = (c: Chooser): ReplyTo | null => {
  const received = c.record<{ readonly id: ReceivedMessageId }>("received")
  const sent = c.record<Message>("message")
  if (c.once(3) && received !== undefined) return { receivedMessageId: received.id }
  return c.once(4) && sent !== undefined ? { messageId: sent.id } : null
}

const aChatRecipient = (c: Chooser): Recipient => {
  const id = c.record<Chat>("chat")?.id
  if (id === undefined) return { kind: "username", username: "tg:1" }
  const group = c.one([{ address: "group:g1", group: "Group" }, { address: "group:g2" }] as const)
  const person = c.one([
    { address: "lid:91" },
    { address: "tg:81", username: "@someone" },
    { phone: c.phone() },
    { phone: c.phone(), username: "@someone" },
  ] as const)
  return { kind: "chat", chatId: id, ...c.one([person, person, group]) }
}

const aFile = (c: Chooser): MediaReference => {
  const file = c.record<MediaFile>("media")
  return c.once(2) && file !== undefined
    ? { mediaId: file.id, attachmentId: null, url: null, type: file.type, fileName: file.fileName }
    : {
        mediaId: null,
        attachmentId: null,
        url: "https://example.com/a.png",
        type: c.one([null, "image"]),
        fileName: null,
      }
}

const aNewMessage = (
  c: Chooser,
  number: SendingNumber,
  shared: Pick<NewMessage, "mode" | "sendAt" | "expiresAt">,
): NewMessage => ({
  ...shared,
  workspaceId: number.workspaceId,
  from: { id: number.id, phone: number.phone, platform: number.platform },
  phoneAtAcceptance: number.phone,
  to: aRecipient(c, number.workspaceId),
  text: c.text(),
  media: c.below(5) === 4 ? aFile(c) : null,
  foundMediaType: null,
  createdAt: c.now,
  dueAt: shared.sendAt ?? c.now,
  transportId: c.transportId(),
  callbackUrl: c.maybe(() => c.url()),
  reference: c.one([null, null, "order 1", "order 2"]),
  campaign: null,
  replyTo: aReplyTo(c),
})

/** The same for all: a store may remember until when a number is full. */
const dailyLimit = { messages: 6, windowMillis: day }

export const anAcceptance = (
  c: Chooser,
  number: SendingNumber,
  count: number,
  idempotency: IdempotencyClaim | null,
): Acceptance => {
  const mode = number.mode === "test" ? "test" : c.one(["live", "live", "live", "test"])
  const sendAt = c.maybe(() => c.later())
  const expiresAt = c.maybe(() => (sendAt ?? c.now) + c.one([hour, 1, minute, day]))
  const plannedAt = sendAt ?? c.now
  const isLive = mode === "live"
  return {
    now: c.now,
    workspaceId: number.workspaceId,
    numberId: number.id,
    mode,
    messages: Array.from({ length: count }, () =>
      aNewMessage(c, number, { mode, sendAt, expiresAt }),
    ),
    allowance: isLive ? count : 0,
    quota: isLive ? { plannedAt, count, limit: dailyLimit } : null,
    idempotency,
  }
}

export const learnMessages = (
  c: Chooser,
  acceptance: Acceptance,
  ids: ReadonlyArray<MessageId>,
) => {
  for (const [index, message] of acceptance.messages.entries()) {
    const id = ids[index]
    if (id === undefined) continue
    const created: Message = { ...message, id, state: "waiting", sentAt: null, error: null }
    c.side.learn("message", created)
  }
}

/** Opaque bodies: those of the core hold ids of a store. */
const withOpaqueBodies = ({ callback, event, ...change }: MessageChange): MessageChange => ({
  ...change,
  event: { ...event, body: `event ${event.id}` },
  callback: callback && ({ ...callback, body: `form ${event.id}` } satisfies Callback),
})

const toChange = (c: Chooser, message: Message | undefined, ending: Ending) => {
  if (message === undefined) return []
  const change = endMessage(message, ending, c.eventId(), c.now, (id) => `https://files/${id}`)
  // The files of a store have names of their own there.
  return change === undefined || change === null ? [] : [withOpaqueBodies(change)]
}

const anEnding = (c: Chooser): Ending =>
  c.one([
    { trigger: "send_succeeded" },
    { trigger: "send_succeeded" },
    { trigger: "send_failed", error: { code: "send_failed", message: "The send failed." } },
    { trigger: "send_failed", error: { code: "recipient_not_found", message: "No such phone." } },
  ])

const anAftermath = (c: Chooser): LaneUpdate => ({
  ...unchangedLane,
  notBefore: c.maybe(() => c.later()),
  breaker: c.maybe(() => ({
    failures: { refusals: c.below(4), pauses: c.below(2) },
    pause: c.maybe(() => ({ until: c.later(), reason: c.one(["restricted", "banned"]) })),
    ...(c.once(5) ? {} : { events: someEvents(c) }),
  })),
  endsTurn: c.once(4),
})

const aSettlement = (c: Chooser, claimed: ClaimedMessage): ReadonlyArray<Settlement> => {
  const shared = { numberId: claimed.number.id, lease: claimed.lease, ...anAftermath(c) }
  if (c.below(3) < 2) {
    const [change] = toChange(c, claimed.message, anEnding(c))
    return change === undefined ? [] : [{ _tag: "Ended", ...shared, change }]
  }
  const unfinished = c.one([null, "postponed", "interrupted", "not_connected", "no_room"])
  const diskRest = unfinished === "no_room" ? { until: c.later(), inARow: 1 } : null
  return [{ _tag: "Again", ...shared, diskRest, messageId: claimed.message.id, unfinished }]
}

/** What a settlement put in flight, as if it had been claimed alone. */
const nextClaimed = (
  c: Chooser,
  settled: Settlement,
  messageId: MessageId,
): ReadonlyArray<ClaimedMessage> =>
  c.side.known("claimed").flatMap((known) => {
    const claimed = known as ClaimedMessage
    const index = claimed.rest.findIndex(({ id }) => id === messageId)
    const message = claimed.rest[index]
    const isOfTurn = claimed.number.id === settled.numberId && claimed.lease === settled.lease
    return message === undefined || !isOfTurn
      ? []
      : [{ ...claimed, message, rest: claimed.rest.slice(index + 1) }]
  })

const someClaimed = (c: Chooser): ReadonlyArray<ClaimedMessage> => [
  ...new Map(
    [0, ...c.some(2, () => 0)].flatMap(() => {
      const one = c.record<ClaimedMessage>("claimed")
      return one === undefined ? [] : [[one.number.id, one] as const]
    }),
  ).values(),
]

/** Of several conditions few messages are left. */
const aFilter = (c: Chooser): MessageFilter =>
  c.below(2) === 0
    ? everyMessage
    : {
        statuses: c.maybe(() =>
          c.one([
            ["queued"],
            ["scheduled"],
            ["sent", "failed"],
            ["cancelled", "expired"],
            ["delivered", "read"],
          ]),
        ),
        from: c.maybe(() => c.id<NumberId>("number")),
        phone: c.maybe(() => c.phone()),
        reference: c.maybe(() => c.one(["order 1", "order 2"])),
        error: c.once(6) ? "send_failed" : null,
        since: c.maybe(() => c.moment()),
        until: c.maybe(() => c.moment()),
      }

const anOwner = (c: Chooser) => c.message() ?? c.number()

/** The bound and what follows from it may be any that holds: only an exact count must agree. */
const withoutBound = ({ number, quota }: NumberFacts) => ({ number, exact: quota.exact })

/** A record counts from its claim or from its end, some seconds later. */
const withoutMoment = (outcome: ClaimOutcome) =>
  outcome._tag === "Finished"
    ? { ...outcome, record: { ...outcome.record, createdAt: null } }
    : outcome

export const ofMessages: Methods<"messages"> = {
  loadAcceptance: {
    weight: 4,
    input: (c) => {
      const number = c.number()
      const workspaceId = c.getWorkspaceId(number)
      // No port says what there is of a deleted one.
      if (c.recordWith("deleted", workspaceId) !== undefined) throw new PassedOver()
      const from = c.maybe(() => number.id)
      return [
        {
          workspaceId,
          mode: c.getMode(number),
          now: c.now,
          from,
          phones: [...new Set(c.some(3, () => c.phone()))],
          contactIds: c.ids("contact"),
          chatIds: c.ids("chat"),
          replyTo: aReplyTo(c),
          mediaId: c.maybe(() => c.id("media")),
          exactQuota: c.maybe(() => ({
            numberId: from,
            planned: {
              plannedAt: c.now + c.one([0, hour, day]),
              count: 1 + c.below(2),
              limit: dailyLimit,
            },
          })),
          idempotency: c.claim(),
        },
      ]
    },
    learn: ({ claim }, [{ idempotency }], c) => c.learnClaim(claim, idempotency),
    compared: ({ connected, named, ...facts }) =>
      // A refused claim leaves the other facts unread.
      facts.claim === null || facts.claim._tag === "Claimed"
        ? { ...facts, named: named && withoutBound(named), connected: connected.map(withoutBound) }
        : withoutMoment(facts.claim),
  },
  accept: {
    weight: 14,
    kind: "message",
    input: (c) => [
      anAcceptance(c, c.needed("number"), 1 + (c.once(4) ? c.below(3) : 0), c.claim()),
    ],
    learn: (outcome, [acceptance], c) => {
      if (outcome._tag === "Accepted") learnMessages(c, acceptance, outcome.ids)
    },
  },
  insertRefused: {
    kind: "message",
    input: (c) => {
      const number = c.needed<SendingNumber>("number")
      const mode = number.mode === "test" ? "test" : "live"
      const message = aNewMessage(c, number, { mode, sendAt: null, expiresAt: null })
      const eventId = c.eventId()
      const ended = (id: MessageId): MessageChange => {
        const waiting: Message = { ...message, id, state: "waiting", sentAt: null, error: null }
        const error = { code: "send_failed", message: "Refused." } as const
        const change = endMessage(
          waiting,
          { trigger: "send_failed", error },
          eventId,
          c.now,
          () => "link",
        )
        if (change === undefined || change === null) throw new Error("a waiting message can fail")
        return withOpaqueBodies(change)
      }
      return [
        {
          workspaceId: number.workspaceId,
          numberId: number.id,
          ended: Object.assign(ended, { shows: message }),
        },
      ]
    },
    learn: (change, _, c) => {
      if (change !== null) c.side.learn("message", change.message)
    },
  },
  releaseClaim: { weight: 1, input: (c) => [c.getClaim()] },
  claimKey: {
    weight: 3,
    input: (c) => [c.getClaim(), c.now],
    learn: (outcome, [claim], c) => c.learnClaim(outcome, claim),
    compared: withoutMoment,
  },
  forgetVoidClaims: { weight: 1, input: (c) => [c.now] },
  get: {
    kind: "message",
    input: (c) => {
      const message = anOwner(c)
      return [c.scope(message), message.id as MessageId]
    },
  },
  byIds: { kind: "message", input: (c) => [c.ids<MessageId>("message")] },
  list: {
    weight: 3,
    kind: "message",
    input: (c) => [c.scope(anOwner(c)), aFilter(c), c.page("message"), c.now],
  },
  search: {
    weight: 2,
    kind: "message",
    input: (c) => [
      c.scope(anOwner(c)),
      // Who searches by a phone lists, and searches no text.
      { ...aFilter(c), phone: null },
      { pattern: c.one(["hello", "100 %", "zwei"]), most: c.one([100, 1, 2]) },
      c.page("message"),
      c.now,
    ],
  },
  waitingIds: {
    kind: "message",
    input: (c) => {
      const owner = anOwner(c)
      const { from, phone, since, until } = aFilter(c)
      const statuses = c.one([["queued", "scheduled"], ["queued"], ["scheduled"]])
      const filter = { from, phone, since, until, statuses }
      return [c.getWorkspaceId(owner), c.getMode(owner), filter, c.now, c.limit()]
    },
  },
  found: {
    kind: "message",
    input: (c) => [c.getWorkspaceId(anOwner(c)), c.ids<MessageId>("message")],
  },
  end: {
    weight: 6,
    kind: "message",
    input: (c) => {
      const messages = [c.message(), ...c.some(2, () => c.message())]
      const one = new Map(messages.map((message) => [message?.id, message]))
      return [
        [...one.values()].flatMap((message) =>
          toChange(c, message, { trigger: c.one(["cancel", "cancel", "expire"]) }),
        ),
      ]
    },
  },
  expired: {
    weight: 3,
    kind: "message",
    input: (c) => [c.now, c.whole().limit],
    // Of those that expire at the same moment either may come first.
    compared: (messages) => [
      messages.map(({ expiresAt }) => expiresAt),
      messages.toSorted((a, b) => a.id - b.id),
    ],
  },
  dueTest: { kind: "message", input: (c) => [c.now, c.limit(), c.one([100, 1])] },
  // They have no order.
  orphaned: {
    kind: "message",
    input: (c) => [c.whole().limit],
    compared: (messages) => messages.toSorted((a, b) => a.id - b.id),
  },
  tick: {
    weight: 3,
    kind: "message",
    input: (c) => {
      const message = c.message()
      const { from, transportId } = message ?? { from: c.number(), transportId: c.transportId() }
      const { now } = c
      const id = c.eventId()
      const toEvent = (moved: Message): MessageEvent => ({
        id,
        type: moved.state === "read" ? "message.read" : "message.delivered",
        workspaceId: moved.workspaceId,
        mode: moved.mode,
        messageId: moved.id,
        createdAt: now,
        body: JSON.stringify({ id, message: moved.id, state: moved.state }),
      })
      const tick = c.one(["delivered", "read"] as const)
      return c.once(4)
        ? [from.id, transportId, tick, now]
        : [from.id, transportId, tick, now, toEvent]
    },
  },
  earlyTicks: { weight: 1, input: () => [1000] },
  dueTestTicks: { weight: 1, input: (c) => [c.now, 1000] },
  timeline: {
    weight: 3,
    kind: "message",
    input: (c) => {
      const message = anOwner(c)
      return [
        {
          workspaceId: c.getWorkspaceId(message),
          id: message.id as MessageId,
          now: c.now,
          limit: c.limit(),
          mostAhead: c.limit(),
        },
      ]
    },
  },
  byTransportId: {
    weight: 1,
    kind: "message",
    input: (c) => {
      const message = c.message()
      return [message?.from.id ?? c.id("number"), message?.transportId ?? c.transportId()]
    },
  },
}

const kinds = [
  "lanes",
  "expiry",
  "test_messages",
  "orphaned",
  "number_checks",
  "linking",
  "reminders",
  "campaigns",
  "pauses",
  "read_marks",
] as const

export const ofQueue: Methods<"queue"> = {
  claim: {
    weight: 12,
    input: (c) => {
      const query = { ...c.whole(), owned: c.owned(), dailyLimit: aCap(c), turn: c.one([1, 2, 16]) }
      return [{ ...query, dueSince: c.once(4) ? query.now - c.below(3) * minute : null }]
    },
    learn: (claimed, _, c) => {
      for (const one of claimed) c.side.learn("claimed", one)
    },
  },
  renew: {
    kind: "number",
    input: (c) => [
      someClaimed(c).map(({ lease, number }) => ({ numberId: number.id, lease })),
      c.later(),
    ],
  },
  settle: {
    weight: 12,
    kind: "message",
    input: (c) => [someClaimed(c).flatMap((claimed) => aSettlement(c, claimed)), c.now],
    learn: ({ next }, [settlements], c) => {
      for (const one of settlements) {
        if (one._tag !== "Ended") continue
        const messageId = next.get(one.change.message.id)?.messageId
        if (messageId === undefined) continue
        for (const claimed of nextClaimed(c, one, messageId).slice(0, 1)) {
          c.side.learn("claimed", claimed)
        }
      }
    },
  },
  pause: {
    input: (c) => [
      c.id("number"),
      { until: c.one([null, c.later()]), reason: c.one(["paused", "restricted", "banned"]) },
      c.now,
      someEvents(c),
    ],
  },
  resume: { input: (c) => [c.id("number"), c.now, someEvents(c)] },
  reportEndedPauses: {
    input: (c) => [c.now, Array.from({ length: 1 + c.below(3) }, () => c.eventId())],
  },
  openNewChats: { input: (c) => [c.now, 1 + c.below(3)] },
  mayAwaitNewChats: { input: (c) => [c.id("number"), c.id("message"), c.now] },
  nextDue: {
    weight: 3,
    input: (c) => {
      const saturated = c.one(["none", "some", "all"])
      const work = c.one(kinds)
      return [
        work,
        saturated === "none" ? [] : saturated === "all" ? "all" : c.ids("workspace", 2),
        c.owned(),
      ]
    },
  },
  // A delivery that is brought forward is due at any moment of the past.
  earliestDue: { input: () => [], compared: (due) => ({ ...due, deliveries: null }) },
  workload: { input: (c) => [c.now], compared: (workload) => ({ ...workload, nextDue: null }) },
}
