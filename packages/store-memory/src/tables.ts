/** The whole state of the store: plain collections that every port reads and changes. */
import { claimOutcome, isClaimVoid, isRecordVoid, shardCount } from "@messaging-service/core"
import type {
  Admits,
  ApiKey,
  CallbackType,
  Campaign,
  CampaignId,
  ClaimOutcome,
  ConnectionFacts,
  ConversationSettings,
  Chat,
  ChatId,
  Contact,
  ContactId,
  DeliveryAttempt,
  EventId,
  FigureEntry,
  FigureStream,
  FileState,
  FirstAnswer,
  HourlyFigures,
  IdempotencyClaim,
  IdempotencyStore,
  KeyId,
  KeyStanding,
  LaneControl,
  LinkingAttempt,
  LoggedRun,
  MediaFile,
  MediaId,
  Message,
  MessageId,
  Mode,
  NewBrowserSession,
  NewCampaignRow,
  NewSignInLink,
  NumberCheck,
  NumberCheckId,
  NumberCheckResult,
  NextCheck,
  NumberId,
  OutboxEvent,
  StoredSubscription,
  ProcessReport,
  Person,
  ReceivedMessage,
  ReceivedMessageId,
  Reminder,
  ReminderContent,
  ReminderId,
  RequestWindow,
  Restrictions,
  RowRecipient,
  RowStatus,
  SealedProxy,
  SendingNumber,
  ShardState,
  SignInLinkId,
  StoredAttempt,
  Tick,
  TransportId,
  UnreadableMessage,
  EndpointChange,
  WebhookEndpoint,
  WebhookEventType,
  WebhookId,
  Workspace,
  WorkspaceId,
} from "@messaging-service/core"
import type { Effect } from "effect"
import { ErasableTable, Sorted, Table, turningPoint, visitInSteps } from "./collections.ts"
import type { Steps } from "./collections.ts"

export interface WorkspaceRow {
  workspace: Workspace
  /** It was deleted, and nothing of it is left to erase. */
  erased: boolean
  /** The seed of its callbacks' secret; null until it was changed. */
  callbackSalt: string | null
  /** By the called origin. */
  readonly callbackLanes: Map<string, CallbackLane>
  /** Oldest first. */
  callbackLog: Array<LoggedAttempt>
  admits: Admits
  /** Version 1 requests of all its keys. */
  minuteV1: RequestWindow
  readonly keys: Array<KeyRow>
  readonly lanes: Array<Lane>
  /** Oldest first, without deleted ones. */
  readonly contacts: Array<Contact>
  /** Oldest first. */
  readonly contactsByAddress: Map<string, ContactId>
  readonly messages: Record<Mode, Array<MessageRow>>
  /** Oldest first, stopped and removed ones included. */
  readonly endpoints: Array<EndpointRow>
  /** Of both modes, in any state. */
  readonly media: Array<MediaRow>
  /** The size of files by storage. */
  readonly usedBytes: Record<"directory" | "attachments" | "received", number>
  /** Of both modes, oldest first, deleted ones included. */
  readonly reminders: Array<ReminderRow>
  /** Of both modes, oldest first, removed ones included. */
  readonly campaigns: Array<CampaignEntry>
  /** Null while they are off. */
  conversations: ConversationSettings | null
  /** Of both modes, oldest first, without erased ones. */
  readonly received: Array<ReceivedRow>
  /** Of both modes, oldest first, merged and removed ones included. */
  readonly chats: Array<ChatRow>
}

export interface CampaignEntry {
  campaign: Campaign
  /** Its value at creation. */
  readonly original: Campaign
  readonly owner: WorkspaceRow
  /** Those above `count` are of an upload that is under way or was interrupted. */
  rows: Array<RowEntry>
  count: number
  upload: { readonly name: string; readonly until: number } | null
  /** Its waiting messages, held and in flight ones too. */
  readonly waiting: Set<MessageRow>
  /** Grows with each look; the least is the next one. */
  turn: number
  checkedAt: number
  /** When something changed that it may wait for; null once it was looked at since. */
  wokenAt: number | null
  /** What the last look found to wait for. */
  next: NextCheck
  /** How many rows were taken on. */
  takenOn: number
  /** Or a retention has ended it: it is unknown. */
  removed: boolean
  /** Housekeeping erased it. */
  forgotten: boolean
}

export interface RowEntry {
  row: Omit<NewCampaignRow, "to"> & { readonly to: RowRecipient | null }
  /** Null until it was taken on, and once that was erased. */
  message: MessageRow | null
  numberId: NumberId | null
  takenOnAt: number | null
  /** Of its message, once that was erased. */
  lastStatus: RowStatus | null
}

/** A person as a number knows it. */
export interface PersonRow {
  known: Person
}

export interface ChatRow {
  chat: Chat
  readonly lane: Lane
  readonly mode: Mode
  /** Null for a group. */
  person: PersonRow | null
  /** Null for a person. */
  readonly group: string | null
  removed: boolean
  /** How far the remote knows it as read, and since when. */
  marked: { readonly upTo: ReceivedMessageId | null; readonly at: number | null }
  /** When the remote is to learn of the mark; null once it has. */
  markDue: number | null
}

export interface ReceivedRow {
  message: Omit<ReceivedMessage, "number" | "chat" | "from" | "reactions">
  readonly lane: Lane
  chat: ChatRow
  /** Null for what the number's owner wrote. */
  author: PersonRow | null
  readonly remoteId: string
  address: string | null
  /** The positions of its events in the outbox. */
  readonly eventPositions: Array<number>
}

export interface CopyWait {
  readonly message: UnreadableMessage
  readonly toldAt: number
}

/** The latest reaction of a person, or of the number's owner, to a message. */
export interface ReactionRow {
  readonly to: ReceivedRow | MessageRow
  readonly fromMe: boolean
  /** Who reacted, or the person of the chat if the owner did; null for the owner in a group. */
  person: PersonRow | null
  /** The chat of that group; null in a chat with one person. */
  readonly group: string | null
  emoji: string | null
  at: number
  /** When it was committed. */
  storedAt: number
  /** The positions of its events in the outbox, where it is to a message of this service. */
  readonly eventPositions: Array<number>
}

/** A received file that may still be fetched, or is kept. */
export interface ReceivedFileRow {
  readonly row: ReceivedRow
  /** Sealed; null once it is kept. */
  source: string | null
  mediaId: MediaId | null
  /** While a worker has it, the end of its lease; null: once its link is called, or never. */
  nextDue: number | null
  lease: number
  leaseUntil: number | null
  wantedAt: number | null
}

export interface ReminderRow {
  reminder: Reminder
  /** Its value at creation. */
  readonly original: ReminderContent
  removedAt: number | null
  /** When a held run was due. */
  blockedRunAt: number | null
  forgotten: boolean
  /** The number of its latest message. */
  previousNumberId: NumberId | null
  /** Oldest first. */
  runs: Array<LoggedRun>
}

export interface MediaRow {
  readonly file: MediaFile
  state: FileState
  /** Since when no message waits for an attachment, as far as the sweep has seen. */
  unusedSince: number | null
  /** Whether there may be bytes. */
  hasBytes: boolean
  forgotten: boolean
}

export interface KeyRow {
  key: ApiKey
  readonly hash: string
  minute: RequestWindow
  day: RequestWindow
}

export interface MessageRow {
  message: Message
  readonly lane: Lane
  /** The campaign of the row that it was made of. */
  readonly campaign: CampaignEntry | null
  /** The chat that it left in. */
  chat: ChatRow | null
  /** Whether its acceptance took one from the plan's allowance. */
  readonly tookAllowance: boolean
  interruptions: number
  /** Null while it waits. */
  endedAt: number | null
  /** The position of its event in the outbox; null while it waits. */
  eventPosition: number | null
  /** When a tick moved it there. */
  deliveredAt: number | null
  readAt: number | null
  /** Those that did not end it, oldest first. */
  readonly attempts: Array<StoredAttempt>
}

/** A number with its waiting messages and its sends. */
export interface Lane extends InAgenda {
  number: SendingNumber
  proxy: SealedProxy | null
  /** That of the latest received message. */
  receivedSequence: number
  /** By their sequence, without erased ones. */
  readonly received: Array<ReceivedRow>
  /** Whom it knows, the first known first. */
  readonly people: Set<PersonRow>
  /** What tells its received messages apart, with when one was erased; null while it is stored. */
  readonly receivedMarks: Map<string, { readonly id: ReceivedMessageId; erasedAt: number | null }>
  /** Messages that could not be read and wait for a copy, the first first. */
  readonly copyWaits: Set<CopyWait>
  readonly reactions: Set<ReactionRow>
  /** Since when it is not connected; null while it is, and before it was for the first time. */
  awaySince: number | null
  /** Whether the latest event of its pauses told of a begin. */
  isPauseReported: boolean
  /** What the platform lets it do with new chats; null: nothing is stored. */
  restrictions: StoredRestrictions | null
  /** Since when the number has its status, and why; null when it never had another one. */
  changed: ConnectionFacts["changed"]
  report: ConnectionFacts["report"]
  readonly workspace: WorkspaceRow
  /** The URL for reports of the number's connection. */
  callbackUrl: string | null
  /** The number was removed or its workspace deleted. */
  removed: boolean
  removedAt: number | null
  /** Of the latest claim; grows with each. */
  lease: number
  inFlight: InFlight | null
  /**
   * A message with an attempt of unknown outcome. It precedes all others, also those that are due
   * earlier since the clock was set back.
   */
  inDoubt: MessageRow | null
  /** Live messages, in flight or not, in the order in which they leave. */
  readonly waiting: Sorted<MessageRow>
  readonly waitingTest: Set<MessageRow>
  /** Of both modes: messages that are held by a restore, by their campaign, or because new chats are closed. */
  readonly held: Set<MessageRow>
  /** Of those the ones that wait for new chats. */
  readonly setAside: Set<MessageRow>
  /** Until when messages to new recipients wait; null: they do not. */
  newChatsUntil: number | null
  /** The result of the core's `nextDueAfter`; null: nothing to send. */
  nextDue: number | null
  control: LaneControl
  /** When it was last paused for a restriction. */
  restrictedAt: number | null
  /** The lane is not claimed before, whatever falls due; null: it does not rest. */
  pacedUntil: number | null
  /** Until when its limits, or a full disk, block its first message; see `LaneDue`. */
  limitedUntil: number | null
  /** Consecutive attempts that found the disk full; above zero, `limitedUntil` comes from them. */
  diskFailuresInARow: number
  /** Live messages that are not cancelled or expired, by planned time. */
  readonly counting: Sorted<MessageRow>
  /** Planned times before this have no room for one more message; null when unknown. */
  fullUntil: number | null
  /** How many messages gave their place in the quota back. */
  givenBack: number
  /** The longest window in which the quota was ever counted. */
  quotaWindowMillis: number
  /** When its messages were sent, ascending. */
  readonly sentTimes: Array<number>
  /** When each of its recipients first got a message. */
  readonly recipients: Map<string, number>
}

export interface StoredRestrictions {
  readonly restrictions: Restrictions
  /** Until when messages to new recipients wait where the workspace holds them (see the core's `newChatsUntil`). */
  readonly waitsUntil: number | null
  /** Whether the latest event was `number.restricted`. */
  readonly isReported: boolean
}

interface InFlight {
  /** The message in flight. */
  readonly row: MessageRow
  readonly leaseUntil: number
  /** The messages of its turn, those that were sent included. What is cancelled or expires leaves it. */
  readonly turn: ReadonlyArray<MessageRow>
  /** When the last of them was due; null once something happened that ends the turn. */
  readonly turnDue: number | null
}

export interface CheckRow {
  check: NumberCheck
  readonly lane: Lane
  /** By ascending id. */
  results: ReadonlyArray<NumberCheckResult>
  nextDue: number
  /** Of the latest claim; grows with each. */
  lease: number
  /** Null while no worker holds it. */
  leaseUntil: number | null
  tries: number
  /** Housekeeping dropped it. */
  forgotten: boolean
}

/** A connecting number. */
export interface LinkingRow {
  attempt: LinkingAttempt
  /** Of the latest claim; grows with each. */
  lease: number
  /** Null until a worker claims it. */
  leaseUntil: number | null
}

/** A number's stored session for a live transport. */
export interface SessionRow {
  credentials: string
  leavingSince: number | null
  /** By type and id. */
  readonly keys: Map<string, Map<string, { readonly value: string; readonly writtenAt: number }>>
}

/** A claim on an `Idempotency-Key`, and after its acceptance the result. */
interface IdempotencyRow {
  readonly fingerprint: string
  readonly token: string
  readonly claimedAt: number
  madeIds: ReadonlyArray<number> | null
  shown: FirstAnswer | null
}

/** A lane and the moment at which it can next be claimed. */
interface Turn<OfLane> {
  readonly at: number
  readonly lane: OfLane
}

/** A lane's time in its agenda; null when no worker could claim it. */
interface InAgenda {
  agendaAt: number | null
}

export const placeInAgenda = <OfLane extends InAgenda>(
  agenda: Sorted<Turn<OfLane>>,
  lane: OfLane,
  at: number | null,
): void => {
  if (at === lane.agendaAt) return
  if (lane.agendaAt !== null) agenda.delete({ at: lane.agendaAt, lane })
  if (at !== null) agenda.add({ at, lane })
  lane.agendaAt = at
}

/** The deliveries to one target. */
export interface TargetLane extends InAgenda {
  readonly workspaceId: WorkspaceId
  /** Pending deliveries, in flight or not. */
  readonly pending: Sorted<DeliveryRow>
  /** Of an endpoint that gets what people write: the other events among them. */
  readonly besideReceived: Sorted<DeliveryRow>
  readonly inFlight: Map<number, DeliveryInFlight>
}

export interface EndpointRow extends TargetLane {
  readonly kind: "webhook"
  readonly id: WebhookEndpoint["id"]
  endpoint: Omit<WebhookEndpoint, "lastAttempt">
  /** What it was created with, until it is erased. */
  original: Required<EndpointChange> | null
  removed: boolean
  removedAt: number | null
  /** When it was created, resumed, or last received a delivery: the latest of them. */
  deliveredSince: number
  /** Oldest first. */
  log: Array<LoggedAttempt>
}

/** It exists while deliveries are pending. */
export interface CallbackLane extends TargetLane {
  readonly kind: "callback"
  /** Below zero: no endpoint has it. */
  readonly id: number
  readonly origin: string
}

export type DeliveryLane = EndpointRow | CallbackLane

/** An event or a callback as delivered. */
export interface FrozenEvent {
  readonly id: EventId
  readonly type: WebhookEventType | CallbackType
  readonly body: string
  /** Of a callback; an event uses its endpoint's. */
  readonly url: string | null
}

export interface DeliveryRow {
  readonly id: number
  readonly lane: DeliveryLane
  event: FrozenEvent
  dueAt: number
  /** The number of failed attempts, and the latest of them. */
  attempts: number
  lastAttempt: LoggedAttempt | null
  /** See `PutOff`. */
  isForward: boolean | null
  /** A redelivery took over while it was in flight: it is logged, and not retried. */
  isReplaced: boolean
  /** See `besideReceived`. */
  readonly isBesideReceived: boolean
}

interface DeliveryInFlight {
  readonly delivery: DeliveryRow
  readonly lease: number
  readonly leaseUntil: number
}

export interface LoggedAttempt {
  attempt: DeliveryAttempt<FrozenEvent["type"]>
  readonly responseBody: string | null
  /** Without its body once what it reports is erased. */
  readonly event: Omit<FrozenEvent, "body"> & { readonly body: string | null }
}

/** What a message has that was just accepted. */
export const newMessageRow = () => ({
  chat: null,
  interruptions: 0,
  endedAt: null,
  eventPosition: null,
  deliveredAt: null,
  readAt: null,
  attempts: [],
})

/** The message as read: while it waits it shows its number's current phone, and its campaign while that is known. */
export const toMessage = ({ campaign, lane, message }: MessageRow): Message => {
  const { phone } = lane.number
  const isRenamed = message.state === "waiting" && message.from.phone !== phone
  if (!isRenamed && campaign?.removed !== true) return message
  return {
    ...message,
    from: isRenamed ? { ...message.from, phone } : message.from,
    campaign: campaign?.removed === true ? null : message.campaign,
  }
}

/** In the order in which messages fall due, then by id. */
export const byDue = (a: MessageRow, b: MessageRow): number =>
  a.message.dueAt - b.message.dueAt || a.message.id - b.message.id

/** Of messages that have an `expiresAt`. */
const byExpiry = (a: MessageRow, b: MessageRow): number =>
  (a.message.expiresAt ?? 0) - (b.message.expiresAt ?? 0) || a.message.id - b.message.id

/** The longest due first. */
const byTurn = (a: Turn<Lane>, b: Turn<Lane>): number =>
  a.at - b.at || a.lane.number.id - b.lane.number.id

const byDeliveryTurn = (a: Turn<DeliveryLane>, b: Turn<DeliveryLane>): number =>
  a.at - b.at || a.lane.id - b.lane.id

export const byDueDelivery = (a: DeliveryRow, b: DeliveryRow): number =>
  a.dueAt - b.dueAt || a.id - b.id

/** Of reminders that have a next run. */
const byNextRun = (a: ReminderRow, b: ReminderRow): number =>
  (a.reminder.nextRunAt ?? 0) - (b.reminder.nextRunAt ?? 0) || a.reminder.id - b.reminder.id

export interface BrowserSessionRow {
  readonly session: NewBrowserSession
  /** What it began with; null: the operator token. */
  readonly link: SignInLinkRow | null
  lastUsedAt: number
  minute: RequestWindow
}

export interface SignInLinkRow {
  readonly id: SignInLinkId
  readonly link: NewSignInLink
  usedAt: number | null
  /** Of its session; null until it was used. */
  expiresAt: number | null
  revokedAt: number | null
}

/** An event; its reference is the message's. */
export type StoredEvent = Omit<OutboxEvent, "reference">

/** What figures do not count yet of a stream, oldest first. */
interface UncountedFigures {
  /** How far it is counted. */
  place: number
  /** The latest position. */
  last: number
  entries: Array<FigureEntry>
}

export class Tables {
  readonly workspaces = new Table<WorkspaceId, WorkspaceRow>()
  readonly keys = new Table<KeyId, KeyRow>()
  readonly keysByHash = new Map<string, KeyRow>()
  readonly lanes = new Table<NumberId, Lane>()
  readonly agenda = new Sorted(byTurn)
  /** Lanes that callers' transactions hold until they end: each with its transaction. */
  readonly heldByCallers = new Map<Lane, object>()
  readonly inFlight = new Set<NumberId>()
  readonly linkings = new Map<NumberId, LinkingRow>()
  readonly sessions = new Map<NumberId, SessionRow>()
  readonly shards = Array.from(
    { length: shardCount },
    (): Pick<ShardState, "workerId" | "term"> => ({
      workerId: null,
      term: 0,
    }),
  )
  readonly contacts = new Table<ContactId, Contact>()
  readonly media = new Table<MediaId, MediaRow>()
  readonly checks = new Table<NumberCheckId, CheckRow>()
  /** Those that are not completed. */
  readonly openChecks = new Set<CheckRow>()
  lastCheckResultId = 0
  readonly messages = new ErasableTable<MessageId, MessageRow>()
  /** The furthest tick that came while a message waited, until it is erased or was read. */
  readonly earlyTicks = new Map<MessageRow, Tick>()
  /** Test messages that are to be delivered and read where conversations are on. */
  readonly readByTestPhones = new Set<MessageRow>()
  /** By `transportKey` of the number and its message's id. */
  readonly messagesByTransportId = new Map<string, MessageRow>()
  readonly messagesByAttachment = new Map<MediaId, Array<MessageRow>>()
  /** Waiting and not in flight, by `expiresAt`. */
  readonly expiring = new Sorted(byExpiry)
  /** Waiting test messages of numbers that are not removed, by due time. */
  readonly dueTest = new Sorted(byDue)
  /** The same, by workspace. */
  readonly dueTestByWorkspace = new Map<WorkspaceId, Sorted<MessageRow>>()
  /** Waiting and not in flight, of removed numbers. */
  readonly orphaned = new Set<MessageRow>()
  /** Oldest claim first. */
  readonly idempotency = new Map<string, IdempotencyRow>()
  /** By workspace, mode and hour. */
  readonly hourlyFigures = new Map<string, HourlyFigures>()
  readonly uncounted: Readonly<Record<FigureStream, UncountedFigures>> = {
    messages: { place: 0, last: 0, entries: [] },
    events: { place: 0, last: 0, entries: [] },
    attempts: { place: 0, last: 0, entries: [] },
  }
  /** Null where an event was erased. */
  readonly outbox: Array<StoredEvent | null> = []
  /** By name. */
  readonly subscriptions = new Map<string, StoredSubscription>()
  /** Number of events dropped from the front of the outbox. */
  outboxDropped = 0
  readonly endpoints = new Table<WebhookId, EndpointRow>()
  /** By their ids, which are below zero. */
  readonly callbackLanes = new Map<number, CallbackLane>()
  lastCallbackLaneId = 0
  readonly deliveryQueue = new Sorted(byDeliveryTurn)
  lastDeliveryId = 0
  lastDeliveryLease = 0
  lastAttemptId = 0
  readonly reminders = new Table<ReminderId, ReminderRow>()
  /** Those that have a next run, by its due time. */
  readonly dueReminders = new Sorted(byNextRun)
  lastRunId = 0
  readonly campaigns = new Table<CampaignId, CampaignEntry>()
  lastCampaignTurn = 0
  readonly chats = new ErasableTable<ChatId, ChatRow>()
  /** Oldest first, without those that were erased. */
  readonly received = new Map<ReceivedMessageId, ReceivedRow>()
  readonly receivedFiles = new Map<ReceivedMessageId, ReceivedFileRow>()
  lastReceivedId = 0
  /** Chats with read marks on their way to the remote. */
  readonly unmarked = new Set<ChatRow>()
  lastChatActivity = 0
  /** Runs after deliveries were queued. */
  readonly queuedListeners = new Set<() => void>()
  readonly secrets = new Map<string, string>()
  /** By the hash of their id, oldest first. */
  readonly browserSessions = new Map<string, BrowserSessionRow>()
  /** By the hash of their code, oldest first. */
  readonly signInLinks = new Map<string, SignInLinkRow>()
  lastLinkId = 0
  readonly processes = new Map<string, ProcessReport>()
  clockOffset = 0
  epoch = 1
  firstMessageOfEpoch = 1

  /** Ids of later records are greater by `step` at least, and than `above`. */
  moveIdsOn(step: number, above: number): void {
    for (const table of [
      this.workspaces,
      this.keys,
      this.lanes,
      this.contacts,
      this.media,
      this.checks,
      this.messages,
      this.endpoints,
      this.reminders,
      this.campaigns,
      this.chats,
    ]) {
      table.moveOn(step, above)
    }
    const movedOn = (latest: number) => Math.max(latest, above) + step
    this.lastCheckResultId = movedOn(this.lastCheckResultId)
    this.lastDeliveryId = movedOn(this.lastDeliveryId)
    this.lastAttemptId = movedOn(this.lastAttemptId)
    this.lastRunId = movedOn(this.lastRunId)
    this.lastLinkId = movedOn(this.lastLinkId)
    this.lastReceivedId = movedOn(this.lastReceivedId)
    this.lastChatActivity = movedOn(this.lastChatActivity)
    for (const lane of this.lanes.rows) if (!lane.removed) lane.receivedSequence += step
  }
}

/** Adds a test message to those that wait to fall due. */
export const addDueTest = (tables: Tables, row: MessageRow): void => {
  const { workspaceId } = row.message
  const own = tables.dueTestByWorkspace.get(workspaceId) ?? new Sorted(byDue)
  tables.dueTestByWorkspace.set(workspaceId, own)
  own.add(row)
  tables.dueTest.add(row)
}

export const deleteDueTest = (tables: Tables, row: MessageRow): void => {
  const { workspaceId } = row.message
  const own = tables.dueTestByWorkspace.get(workspaceId)
  own?.delete(row)
  if (own?.size === 0) tables.dueTestByWorkspace.delete(workspaceId)
  tables.dueTest.delete(row)
}

/** Signals queued deliveries once the present step has ended. */
export const reportQueued = ({ queuedListeners }: Tables): void => {
  for (const announce of queuedListeners) announce()
}

/** The workspace, unless it is unknown or deleted. */
export const findWorkspace = (tables: Tables, id: WorkspaceId): WorkspaceRow | undefined => {
  const row = tables.workspaces.get(id)
  return row === undefined || row.workspace.deletedAt !== null ? undefined : row
}

/** What campaigns that run wait for may have changed: a look at them follows at once. */
export const checkCampaigns = (owner: WorkspaceRow, now: number): void => {
  for (const entry of owner.campaigns) {
    const { campaign, removed } = entry
    if (removed || campaign.state !== "running") continue
    entry.campaign = { ...campaign, lookAt: now }
    entry.wokenAt = now
  }
}

/** The same, whatever comes of a call: one that changes nothing wakes them too. */
export const wakeCampaigns = (tables: Tables, id: WorkspaceId | undefined, now: number): void => {
  const owner = id === undefined ? undefined : tables.workspaces.get(id)
  if (owner !== undefined) checkCampaigns(owner, now)
}

/** The number's lane, unless the number is unknown or removed. */
export const findLane = (tables: Tables, id: NumberId): Lane | undefined => {
  const lane = tables.lanes.get(id)
  return lane === undefined || lane.removed ? undefined : lane
}

/** The number's lane, if it is one of that workspace. */
export const laneIn = (
  tables: Tables,
  workspaceId: WorkspaceId,
  id: NumberId,
): Lane | undefined => {
  const lane = findLane(tables, id)
  return lane?.number.workspaceId === workspaceId ? lane : undefined
}

/** The workspace's contact, unless it was deleted. */
export const findContact = (owner: WorkspaceRow, id: ContactId): Contact | undefined => {
  const contact = owner.contacts[turningPoint(owner.contacts, (other) => other.id < id)]
  return contact?.id === id ? contact : undefined
}

/** A number's message by its transport id: two numbers may use the same one. */
export const transportKey = (numberId: NumberId, transportId: TransportId): string =>
  `${numberId} ${transportId}`

// Claims on `Idempotency-Key`s: the holder of a key, and its first request's result.

const identity = (claim: IdempotencyClaim) => `${claim.keyId} ${claim.key}`

/** What an existing row is: a claim until its request has finished, then its record. */
const getStanding = (row: IdempotencyRow | undefined): KeyStanding => {
  if (row === undefined) return { claim: null, record: null }
  const { claimedAt, fingerprint, madeIds, shown } = row
  if (madeIds === null) return { claim: row, record: null }
  const record = { fingerprint, madeIds, createdAt: claimedAt }
  return { claim: null, record: shown === null ? record : { ...record, shown } }
}

const isVoid = ({ claimedAt, madeIds }: IdempotencyRow, now: number): boolean =>
  madeIds === null ? isClaimVoid(claimedAt, now) : isRecordVoid(claimedAt, now)

/** Claims the key, unless another request holds it or has finished. */
export const claim = (tables: Tables, request: IdempotencyClaim, now: number): ClaimOutcome => {
  forgetVoid(tables, now)
  const key = identity(request)
  const outcome = claimOutcome(getStanding(tables.idempotency.get(key)), request.token, now)
  if (outcome._tag !== "Claimed") return outcome
  // At the end, because the collection is kept in the order of claims.
  tables.idempotency.delete(key)
  tables.idempotency.set(key, {
    fingerprint: request.fingerprint,
    token: request.token,
    claimedAt: now,
    madeIds: null,
    shown: null,
  })
  return outcome
}

/** The unfinished claim, if no other request took it over meanwhile. */
const held = (tables: Tables, request: IdempotencyClaim): IdempotencyRow | undefined => {
  const row = tables.idempotency.get(identity(request))
  return row?.token === request.token && row.madeIds === null ? row : undefined
}

/** Whether another request took the claim over; a request without a key has none to lose. */
export const isLost = (tables: Tables, request: IdempotencyClaim | null): boolean =>
  request !== null && held(tables, request) === undefined

export const finishClaim = (
  tables: Tables,
  request: IdempotencyClaim | null,
  madeIds: ReadonlyArray<number>,
  shown: FirstAnswer | null = null,
): void => {
  const row = request === null ? undefined : held(tables, request)
  if (row !== undefined) Object.assign(row, { madeIds, shown })
}

/** First answers show nothing more of those numbers; campaigns have theirs negative. */
export const forgetShown = (tables: Tables, ids: ReadonlySet<number>): Effect.Effect<void> =>
  visitInSteps(tables.idempotency.values(), (row) => {
    if (row.shown !== null && ids.has(row.madeIds?.[0] ?? 0)) row.shown = null
  })

export const releaseClaim = (tables: Tables, request: IdempotencyClaim): void => {
  if (!isLost(tables, request)) tables.idempotency.delete(identity(request))
}

/** Drops expired records from the front, so a long run does not keep every key. */
const forgetVoid = (tables: Tables, now: number): void => {
  for (const [key, row] of tables.idempotency) {
    if (!isRecordVoid(row.claimedAt, now)) return
    tables.idempotency.delete(key)
  }
}

/** `IdempotencyStore` in memory. */
export const idempotencyStore = (tables: Tables): Steps<IdempotencyStore> => ({
  claimKey: (request, now) => claim(tables, request, now),
  releaseClaim: (request) => releaseClaim(tables, request),
  forgetVoidClaims: (now) =>
    visitInSteps(tables.idempotency, ([key, row]) => {
      if (isVoid(row, now)) tables.idempotency.delete(key)
    }),
})
