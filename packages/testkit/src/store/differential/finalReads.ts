/** All that the ports can read, of every record that a store is known to have had, and what workers could take. */
import {
  dayStart,
  everyMessage,
  figureStreams,
  minuteStart,
  toShard,
} from "@messaging-service/core"
import type {
  CallerScope,
  Chat,
  IdempotencyClaim,
  Message,
  MessageFilter,
  Mode,
  NumberId,
  Phone,
  WorkspaceId,
} from "@messaging-service/core"
import { day, hour, noon } from "../Records.ts"
import { countedUntil } from "./methods/ofService.ts"
import { everyAttempt } from "./methods/ofWebhooks.ts"
import type { Known, Side } from "./Side.ts"

export interface Call {
  readonly namespace: string
  readonly name: string
  readonly input: ReadonlyArray<unknown>
}

const everyReceived = { numberId: null, chatId: null, kind: null, since: null, until: null }
const everyChat = { numberId: null, phone: null, unread: null }
const firstTwo = { offset: 0, limit: 2 }
const everything = { before: null, limit: 1000 }
const dailyLimit = { messages: 1000, windowMillis: day }

const getIds = (side: Side, of: string): ReadonlyArray<number> => [
  ...new Set((side.known(of) as ReadonlyArray<Known>).map(({ id }) => id)),
]

/** Workspaces that are not deleted. */
const present = (side: Side): ReadonlyArray<number> => {
  const deleted = new Set(getIds(side, "deleted"))
  return getIds(side, "workspace").filter((id) => !deleted.has(id))
}

const call = (place: string, ...input: ReadonlyArray<unknown>): Call => {
  const [namespace = "", name = ""] = place.split(".")
  return { namespace, name, input }
}

/** Each condition alone, and some together. */
const messageFilters = (
  side: Side,
  now: number,
  instants: ReadonlyArray<number>,
): ReadonlyArray<Partial<MessageFilter>> => {
  const numbers = getIds(side, "number")
    .slice(-4)
    .map((id) => id as NumberId)
  return [
    {},
    { statuses: ["queued"] },
    { statuses: ["scheduled"] },
    { statuses: ["sent", "failed"] },
    { statuses: ["cancelled", "expired", "queued"] },
    ...numbers.flatMap((from) => [{ from }, { from, statuses: ["sent", "queued"] as const }]),
    { phone: "+15550000001" as Phone },
    { phone: "+15550000002" as Phone, statuses: ["scheduled", "failed"] },
    { reference: "order 1" },
    { reference: "order 2", since: now - day },
    { error: "send_failed" },
    ...instants.flatMap((instant) => [{ since: instant }, { until: instant }]),
  ]
}

/** The lists of a workspace that has messages, by every condition and page by page. */
const readLists = (side: Side, workspaceId: WorkspaceId, mode: Mode, now: number) => {
  const scope = { workspaceId, mode, restriction: null }
  const limited = { ...scope, restriction: getIds(side, "number") }
  const middle = getIds(side, "message").at(-3) ?? null
  const instants = (side.known("message") as ReadonlyArray<Message>)
    .filter((one) => one.workspaceId === workspaceId && one.mode === mode)
    .slice(-2)
    .map(({ createdAt }) => createdAt)
  const filters = messageFilters(side, now, instants)
  const list = (of: object, filter: object, page: object) =>
    call("messages.list", of, { ...everyMessage, ...filter }, page, now)
  return [
    ...filters.map((filter) => list(scope, filter, everything)),
    ...filters.map((filter) => list(limited, filter, { before: middle, limit: 2 })),
    ...["hello", "100 %"].map((pattern) =>
      call("messages.search", scope, everyMessage, { pattern, most: 100 }, everything, now),
    ),
    ...[["queued", "scheduled"], ["queued"], ["scheduled"]].map((statuses) =>
      call("messages.waitingIds", workspaceId, mode, { ...everyMessage, statuses }, now, 100),
    ),
    ...instants.flatMap((instant) => [
      call("version1Lists.messages", scope, { since: instant, until: now + 1 }, firstTwo),
      call("version1Lists.messages", scope, { since: now - 9 * day, until: instant }, firstTwo),
    ]),
    call(
      "version1Lists.messages",
      scope,
      { since: now - 100 * day, until: now + 1 },
      { offset: 1, limit: 100 },
    ),
    ...figureStreams.map((stream) =>
      call("figures.entriesAfter", stream, {
        workspaceId,
        mode,
        after: countedUntil(side, stream),
        limit: 1000,
      }),
    ),
  ]
}

/** Received messages and chats, by every condition. */
const readConversations = (side: Side, scope: CallerScope): ReadonlyArray<Call> => {
  const received = (filter: object, page: object = everything) =>
    call("chats.listReceived", scope, { ...everyReceived, ...filter }, page)
  const chats = (filter: object, page: object = everything) =>
    call("chats.listChats", scope, { ...everyChat, ...filter }, page)
  const numbers = getIds(side, "number")
  const middle = getIds(side, "receivedId").at(-3) ?? null
  const activity = (side.known("chat") as ReadonlyArray<Chat>).at(-1)?.activity ?? null
  return [
    received({}),
    received({}, { before: middle, limit: 2 }),
    received({ kind: "text" }),
    ...numbers.flatMap((numberId) => [
      received({ numberId }),
      received({ numberId }, { before: middle, limit: 2 }),
      chats({ numberId }),
      call("chats.receivedAfter", scope, numberId, 1, null, 1000),
      call("chats.settledReadMarks", numberId),
    ]),
    ...getIds(side, "chat").flatMap((id) => [
      received({ chatId: id }),
      call("chats.getChat", scope, id),
      call("chats.listEntries", scope, id, null, 1000),
    ]),
    call("chats.claimReadMarks", noon + 1000 * day, noon + 1000 * day, "all", 1000),
    chats({}),
    chats({}, { before: activity, limit: 2 }),
    chats({ phone: "+15550000001" }),
    chats({ unread: true }),
    chats({ unread: false }),
  ]
}

/** The other lists of a workspace, by every condition. */
const readDirectories = (side: Side, workspaceId: WorkspaceId, mode: Mode) => {
  const scope = { workspaceId, mode, restriction: null }
  const limited = {
    ...scope,
    restriction: getIds(side, "number")
      .slice(-2)
      .map((one) => one as NumberId),
  }
  return [
    ...["image", "file"].flatMap((type) => [
      call("media.list", workspaceId, mode, type, { before: null, limit: 2 }),
      call("version1Lists.media", { workspaceId, mode }, type, firstTwo),
    ]),
    call("version1Lists.media", { workspaceId, mode }, null, firstTwo),
    call("version1Lists.reminders", { workspaceId, mode }, firstTwo),
    call("numberChecks.list", limited, { before: null, limit: 2 }),
    ...[true, false, null].flatMap((active) => [
      call("reminders.list", limited, { active }, { before: null, limit: 2 }),
      call("reminders.list", { ...scope, mode: null }, { active }, { before: null, limit: 2 }),
    ]),
    ...readConversations(side, scope),
    ...readConversations(side, limited),
    call("webhooks.list", { workspaceId, mode }, false),
  ]
}

const ofWorkspace = (id: number, now: number): ReadonlyArray<Call> => {
  const workspaceId = id as WorkspaceId
  return [
    call("workspaces.get", id),
    call("workspaces.listKeys", id),
    call("workspaces.listContacts", id, everything),
    call("workspaces.callbackSalt", id),
    call("chats.conversations", id),
    call("numbers.list", id),
    call("numbers.connections", id, now, dailyLimit, 100),
    call("webhooks.list", { workspaceId, mode: null }, true),
    call("webhooks.callbackAttempts", id, everything),
    call(
      "reminders.list",
      { workspaceId, mode: null, restriction: null },
      { active: null },
      everything,
    ),
    call("browserSessions.links", id, everything),
    call("system.listHeld", id, everything),
    ...(["live", "test"] as const).flatMap((mode) => [
      call(
        "messages.list",
        { workspaceId, mode, restriction: null },
        everyMessage,
        everything,
        now,
      ),
      call("media.list", id, mode, null, everything),
      call("numberChecks.list", { workspaceId, mode, restriction: null }, everything),
      call("campaigns.list", { workspaceId, mode }, { states: null }, everything, now),
      call("figures.hours", { workspaceId, mode, from: now - 100 * day, until: now + day }),
    ]),
  ]
}

const everyRow = { statuses: null, code: null, phone: null }
const allRows = { after: null, limit: 1000 }

const ofCampaign = (id: number, now: number): ReadonlyArray<Call> => [
  call("campaigns.created", id),
  call("campaigns.check", [id], now, 2),
  call("campaigns.waiting", id, 1000),
  call("campaigns.rows", id, everyRow, allRows, now),
  call("campaigns.rows", id, { ...everyRow, statuses: ["pending", "queued"] }, allRows, now),
  call("campaigns.rows", id, { ...everyRow, statuses: ["refused", "skipped"] }, allRows, now),
  call("campaigns.rows", id, { ...everyRow, code: "stopped" }, allRows, now),
  call("campaigns.firstRows", id, null, ["+15550000001", "@someone", "group"]),
]

const ofMessage = (message: Message, now: number): ReadonlyArray<Call> => [
  call("messages.timeline", {
    workspaceId: message.workspaceId,
    id: message.id,
    now,
    limit: 100,
    mostAhead: 100,
  }),
  call("messages.found", message.workspaceId, [message.id]),
  call("messages.byTransportId", message.from.id, message.transportId),
]

/** What workers would take, and what stays counted: these calls are the last of all. */
const lastCalls = (side: Side, now: number): ReadonlyArray<Call> => {
  const lease = { now: now + hour, leaseUntil: now + 2 * hour, limit: 1000 }
  const all = { ...lease, perWorkspace: 1000, held: new Map(), owned: "all" }
  const issued = side.known("issued") as ReadonlyArray<{ readonly hash: string }>
  const claims = side.known("claim") as ReadonlyArray<{ readonly claim: IdempotencyClaim }>
  return [
    ...issued.map(({ hash }) =>
      call("workspaces.admit", {
        hash,
        now,
        version: 2,
        minuteStart: minuteStart(now),
        dayStart: dayStart(now),
        clientAddress: null,
      }),
    ),
    ...claims.map(({ claim }) => call("messages.claimKey", { ...claim, token: "last" }, now)),
    call("media.leftovers", { reservedBefore: now, limit: 1000 }),
    call("queue.claim", { ...all, dailyLimit, turn: 16, dueSince: null }),
    call("numbers.claimLinkings", { ...all, now }),
    call("numberChecks.claim", { ...all, chunk: 50 }),
    call("webhooks.claimDeliveries", { ...all, perTarget: 1000, callbacks: all }),
  ]
}

export const finalReads = (side: Side, now: number): ReadonlyArray<Call> => [
  call("workspaces.list", everything),
  ...getIds(side, "workspace").flatMap((id) => ofWorkspace(id, now)),
  ...present(side).flatMap((id) =>
    (["live", "test"] as const).flatMap((mode) => {
      const has = (side.known("message") as ReadonlyArray<Message>).some(
        (one) => one.workspaceId === id && one.mode === mode,
      )
      return [
        ...readDirectories(side, id as WorkspaceId, mode),
        ...(has ? readLists(side, id as WorkspaceId, mode, now) : []),
      ]
    }),
  ),
  ...present(side).flatMap((workspaceId) => [
    call("news.changedMessages", {
      workspaceId,
      position: 0,
      notBefore: now - 100 * day,
      limit: 1000,
    }),
    ...(["live", "test"] as const).map((mode) =>
      call("figures.presentFigures", { workspaceId, mode, now, countAtMost: 1000 }),
    ),
  ]),
  ...getIds(side, "number").flatMap((id) => [
    call("numbers.find", id),
    ...present(side).map((workspaceId) => call("numbers.restrictions", workspaceId, id)),
    call("numbers.callbackUrl", id),
    call("numbers.settings", [id]),
    call("numbers.getLinking", id),
    call("sessions.credentials", id),
    call("sessions.keys", id, "session", ["1", "2", "3"]),
    call("sessions.keys", id, "pre-key", ["1", "2", "3"]),
  ]),
  call("messages.byIds", getIds(side, "message")),
  ...(side.known("message") as ReadonlyArray<Message>).flatMap((one) => ofMessage(one, now)),
  ...getIds(side, "webhook").flatMap((id) => [
    call("webhooks.created", id),
    call("webhooks.attempts", id, everyAttempt, everything),
    call("webhooks.attempts", id, { ...everyAttempt, failed: true }, { before: null, limit: 2 }),
    call("webhooks.attempts", id, { ...everyAttempt, types: ["message.sent"] }, everything),
  ]),
  ...getIds(side, "media").map((id) => call("media.find", id)),
  call("media.missing", getIds(side, "media")),
  ...getIds(side, "check").flatMap((id) => [
    call("numberChecks.results", id, null, everything),
    call("numberChecks.results", id, ["registered", "failed"], { before: null, limit: 2 }),
    call("version1Lists.checkResults", id, "pending", firstTwo),
    call("version1Lists.checkResults", id, null, firstTwo),
  ]),
  ...getIds(side, "reminder").flatMap((id) => [
    call("reminders.created", id),
    call("reminders.runs", id, everything),
  ]),
  ...getIds(side, "campaign").flatMap((id) => ofCampaign(id, now)),
  call("campaigns.due", now, 1000),
  call("campaigns.due", now + 100 * day, 1000),
  call("campaigns.figures", now),
  ...["first", "second", "third"].map((name) => call("webhooks.findSubscription", name)),
  ...["One", "Two", "Öne", "one"].map((name) => call("system.getSecret", name)),
  call("webhooks.readEvents", 0, 1000),
  call("messages.expired", now, 1000),
  call("messages.dueTest", now, 1000, 1000),
  call("messages.dueTestTicks", now, 1000),
  call("messages.orphaned", 1000),
  call("numbers.lapsedLinkings", now, 1000),
  call("numbers.dueTestLinkings", now, 1000),
  call("reminders.due", now, 1000),
  call("queue.earliestDue"),
  call("queue.workload", now),
  call("sessions.list"),
  ...[0, 1, 2, 3].map((id) => call("sessions.findOwner", toShard(id as NumberId))),
  call("sessions.holders"),
  call("system.figures", now, 1000),
  call("system.processes", 100),
  call("system.clockOffset"),
  call("system.epoch"),
  call("system.heldCounts"),
  call("system.retainedWorkspaces", 0, 1000),
  ...(side.known("session") as ReadonlyArray<{ readonly hash: string }>).map(({ hash }) =>
    call("browserSessions.isValid", { hash, now, tokenMark: "mark" }),
  ),
  ...lastCalls(side, now),
]
