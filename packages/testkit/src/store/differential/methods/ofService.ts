/** Live sessions and shards, news, figures, the lists of version 1, and the service as a whole. */
import { figureStreams, toShard, tallyFigures } from "@messaging-service/core"
import type {
  Fence,
  FigureEntry,
  FigureStream,
  ShardLease,
  KeyChange,
  Message,
  NumberId,
  SendingNumber,
  Shard,
  WorkerId,
  WorkspaceId,
} from "@messaging-service/core"
import { day, hour } from "../../Records.ts"
import { PassedOver } from "../Chooser.ts"
import type { Chooser } from "../Chooser.ts"
import type { Methods } from "../Method.ts"
import { aReceivingNumber, learnReceiving, someReceived } from "./ofChats.ts"
import { someEvents } from "./ofNumbers.ts"
import type { Side } from "../Side.ts"

const keyTypes = ["session", "pre-key"] as const

const someKeys = (c: Chooser): ReadonlyArray<KeyChange> =>
  [...new Set(c.some(3, () => c.one(["1", "2", "3"])))].map((id) => ({
    type: c.one(keyTypes),
    id,
    value: c.once(3) ? null : `value ${c.fresh()}`,
  }))

/** Of few, and of no number: stores may leave ids out, and so have other ones. */
const aShard = (c: Chooser): Shard => toShard(c.below(4) as NumberId)

const aFence = (c: Chooser): Fence =>
  c.maybe(() => {
    const { shard, term } = c.record<ShardLease>("heldShard") ?? { shard: aShard(c), term: 1 }
    return { shard, term: term + (c.once(6) ? 1 : 0) }
  })

/** They are taken in no order. */
const inOrder = (leases: ReadonlyArray<ShardLease>) => leases.toSorted((a, b) => a.shard - b.shard)

const someShards = (c: Chooser): ReadonlyArray<Shard> => [
  ...new Set([0, ...c.some(2, () => 0)].map(() => aShard(c))),
]

/** Credentials that a number was given. */
interface Written {
  readonly credentials: string | null
}

export const ofSessions: Methods<"sessions"> = {
  list: { input: () => [] },
  credentials: { weight: 1, input: (c) => [c.id("number")] },
  keys: { weight: 1, input: (c) => [c.id("number"), c.one(keyTypes), ["1", "2", "3"]] },
  write: {
    weight: 3,
    input: (c) => {
      const numberId = c.id<NumberId>("number")
      const credentials = c.maybe(() => `credentials ${c.fresh()}`)
      return [numberId, credentials, someKeys(c), c.now, aFence(c)]
    },
    learn: (_, [id, credentials], c) => {
      if (credentials !== null) c.side.learn("written", { id, credentials })
    },
  },
  receive: {
    weight: 2,
    kind: "received",
    input: (c) => {
      const numberId = aReceivingNumber(c)
      const credentials = c.maybe(() => `credentials ${c.fresh()}`)
      return [numberId, credentials, someKeys(c), c.now, aFence(c), someReceived(c)]
    },
    learn: (outcomes, [numberId, credentials, , , , received], c) => {
      if (credentials !== null) c.side.learn("written", { id: numberId, credentials })
      if (outcomes !== null) learnReceiving(outcomes, numberId, received, c)
    },
  },
  replace: {
    input: (c) => {
      const id = c.id<NumberId>("number")
      return [id, `credentials ${c.fresh()}`, someKeys(c), c.now, aFence(c)]
    },
    learn: (_, [id, credentials], c) => c.side.learn("written", { id, credentials }),
  },
  exchange: {
    weight: 3,
    input: (c) => {
      const numberId = c.needed<SendingNumber>("number").id
      const written = c.recordWith<Written>("written", numberId)?.credentials ?? null
      const before = c.one([written, written, null])
      const next = `credentials ${c.fresh()}`
      const after = before === null ? next : c.one([next, null])
      const account = c.maybe(() => ({
        phone: c.one([c.phone().slice(1), null]),
        ...(c.once(5) ? {} : { events: someEvents(c) }),
      }))
      // A login replaces credentials that it wrote when it began.
      const loggedIn = before === null || after === null ? null : account
      return [numberId, before, after, someKeys(c), c.now, loggedIn]
    },
    learn: (_, [id, , credentials], c) => c.side.learn("written", { id, credentials }),
  },
  trim: {
    weight: 1,
    input: (c) => [c.id("number"), c.one(keyTypes), c.one([2, 0, 1]), null],
  },
  markLeaving: { weight: 1, input: (c) => [c.id("number"), c.now, null] },
  wipe: { weight: 1, input: (c) => [c.id("number"), null] },
  addWorker: {
    kind: "worker",
    input: (c) => [`worker ${c.fresh()}`, c.one([1000, 1])],
    learn: (id, _, c) => c.side.learn("worker", { id }),
  },
  beat: {
    weight: 1,
    kind: "worker",
    input: (c) => [c.id("worker")],
    compared: (table) =>
      table && {
        workers: table.workers,
        shards: table.shards.flatMap((shard, place) =>
          shard.term + shard.linked + shard.linking === 0 ? [] : { ...shard, place },
        ),
      },
  },
  endWorkers: { weight: 1, input: (c) => [[{ id: c.id<WorkerId>("worker"), beat: c.below(3) }]] },
  takeShards: {
    input: (c) => [c.id("worker"), someShards(c)],
    learn: (leases, _, c) => {
      for (const one of inOrder(leases)) c.side.learn("heldShard", one)
    },
    compared: inOrder,
  },
  releaseShards: {
    weight: 1,
    input: (c) => {
      const leases = c.record<ShardLease>("heldShard")
      return [c.id("worker"), leases === undefined ? [] : [leases]]
    },
  },
  removeWorker: { weight: 1, input: (c) => [c.id("worker")] },
  findOwner: { weight: 1, input: (c) => [aShard(c)] },
  holders: { weight: 1, input: () => [] },
}

/** No port says what there is of a deleted one. */
const passOverDeleted = (c: Chooser, id: WorkspaceId): void => {
  if (c.recordWith("deleted", id) !== undefined) throw new PassedOver()
}

const ofMessage = (c: Chooser) => {
  const message = c.message()
  return { workspaceId: c.getWorkspaceId(message), mode: c.getMode(message) }
}

export const ofNews: Methods<"news"> = {
  marks: "Marks are each store's own; only whether they change is promised.",
  changedMessages: {
    kind: "message",
    compared: (ids) => new Set(ids),
    input: (c) => {
      const workspaceId = c.getWorkspaceId(c.message())
      passOverDeleted(c, workspaceId)
      const position = c.record("place")?.id ?? 0
      return [{ workspaceId, position, notBefore: c.now - c.one([day, hour]), limit: c.limit() }]
    },
  },
}

const withoutPosition = (entry: FigureEntry) => ({ ...entry, position: 0 })

/** What lies before it may be gone. */
export const countedUntil = (side: Side, stream: FigureStream): number =>
  (
    side.known("counted") as ReadonlyArray<{ readonly stream: FigureStream; readonly to: number }>
  ).findLast((one) => one.stream === stream)?.to ?? 0

export const ofFigures: Methods<"figures"> = {
  readUncounted: {
    weight: 3,
    input: (c) => [c.one(figureStreams), c.whole().limit],
    learn: (uncounted, [stream], c) => c.side.learn("uncounted", { ...uncounted, stream }),
    compared: ({ entries }) => entries.map(withoutPosition),
  },
  count: {
    weight: 3,
    input: (c) => {
      const read = c.record<{
        readonly stream: (typeof figureStreams)[number]
        readonly from: number
        readonly to: number
        readonly entries: ReadonlyArray<FigureEntry>
      }>("uncounted")
      return read === undefined
        ? ["messages", { from: 0, to: 0 }, []]
        : [read.stream, { from: read.from, to: read.to }, tallyFigures(read.entries)]
    },
    learn: (isCounted, [stream, { to }], c) => {
      if (isCounted) c.side.learn("counted", { stream, to })
    },
  },
  hours: {
    input: (c) => [{ ...ofMessage(c), from: c.now - 100 * day, until: c.now + day }],
    compared: ({ hours }) => hours,
  },
  entriesAfter: {
    input: (c) => {
      const stream = c.one(figureStreams)
      return [
        stream,
        { ...ofMessage(c), after: countedUntil(c.side, stream), limit: c.whole().limit },
      ]
    },
    compared: (entries) => entries.map(withoutPosition),
  },
  presentFigures: {
    input: (c) => {
      const query = { ...ofMessage(c), now: c.now, countAtMost: 1000 }
      passOverDeleted(c, query.workspaceId)
      return [query]
    },
  },
  forgetFigures: { weight: 1, input: (c) => [c.now - c.one([day, hour])] },
}

const offsets = (c: Chooser) => ({ offset: c.below(3), limit: c.limit() })

export const ofVersion1Lists: Methods<"version1Lists"> = {
  messages: {
    kind: "message",
    input: (c) => [ofMessage(c), { since: c.now - day, until: c.moment() }, offsets(c)],
  },
  media: {
    kind: "media",
    input: (c) => {
      const file = c.record("media")
      const scope = { workspaceId: c.getWorkspaceId(file), mode: c.getMode(file) }
      return [scope, c.one([null, "image", "file"]), offsets(c)]
    },
  },
  reminders: {
    kind: "reminder",
    input: (c) => {
      const reminder = c.record("reminder")
      return [{ workspaceId: c.getWorkspaceId(reminder), mode: c.getMode(reminder) }, offsets(c)]
    },
  },
  checkResults: {
    kind: "result",
    input: (c) => [c.id("check"), c.one([null, "pending", "registered"]), offsets(c)],
  },
}

const heldFilter = (c: Chooser) => ({
  from: c.maybe(() => c.id<NumberId>("number")),
  since: c.maybe(() => c.moment()),
  until: c.maybe(() => c.moment()),
  dueUntil: c.maybe(() => c.moment()),
})

const erasure =
  "What an erasure leaves for a later call is each store's choice: its topic holds it."

export const ofSystem: Methods<"system"> = {
  clockOffset: { weight: 1, input: () => [] },
  raiseClockOffset: { weight: 1, input: (c) => [c.below(1000)] },
  databaseTime: "A store in memory has none.",
  ping: { weight: 1, input: () => [] },
  getOrCreateSecret: { weight: 1, input: (c) => [c.name(), `secret ${c.fresh()}`] },
  getSecret: { weight: 1, input: (c) => [c.name()] },
  replaceSecret: {
    weight: 1,
    input: (c) => [c.name(), `secret ${c.fresh()}`, `secret ${c.fresh()}`],
  },
  figures: {
    input: (c) => [c.now, c.one([1000, 2])],
    compared: ({ deliveries: _d, numbers, queued, scheduled, tables: _t, ...figures }) => ({
      ...figures,
      waiting: queued + scheduled,
      numbers: new Set(
        numbers.flatMap(({ count, platform, status }) =>
          count === 0 ? [] : [`${count} ${platform} ${status}`],
        ),
      ),
    }),
  },
  reportProcess: {
    weight: 1,
    input: (c) => [
      {
        name: c.name(),
        kind: c.one(["server", "worker", "embedded"]),
        works: c.once(2),
        seenAt: c.now,
        numbersHeld: c.maybe(() => c.below(9)),
        shardsHeld: null,
      },
    ],
  },
  processes: { weight: 1, input: () => [100] },
  endProcess: { weight: 1, input: (c) => [c.name()] },
  forgetProcesses: { weight: 1, input: (c) => [c.now - hour] },
  // Of the first epoch `hasAccepted` says nothing.
  epoch: { weight: 1, input: () => [], compared: ({ epoch }) => epoch },
  startEpoch: "Ids move on by a million: the topic of restores holds it.",
  heldCounts: { weight: 1, input: () => [] },
  listHeld: { weight: 1, kind: "message", input: (c) => [c.workspaceId(), c.page("message")] },
  heldMessages: {
    weight: 1,
    kind: "message",
    input: (c) => [c.workspaceId(), { filter: heldFilter(c) }, c.limit()],
  },
  heldReminders: {
    weight: 1,
    kind: "reminder",
    input: (c) => [c.workspaceId(), heldFilter(c), c.limit()],
  },
  releaseHeld: {
    weight: 1,
    kind: "message",
    input: (c) => [[c.message()].filter((one): one is Message => one !== undefined), c.now],
  },
  isHeld: { weight: 1, input: (c) => [c.id("message")] },
  position: "A store in memory has none.",
  retainedWorkspaces: {
    kind: "workspace",
    input: (c) => [c.maybe(() => c.workspaceId()) ?? 0, c.limit()],
  },
  eraseEnded: erasure,
  eraseTestMessages: erasure,
  eraseRemoved: erasure,
  eraseDeleted: erasure,
  joinTransaction: "A store in memory has no transactions of callers.",
}

const phonesTopic = "the topic of simulated phones holds it for all stores"

export const ofPhones: Methods<"phones"> = {
  behaviour: phonesTopic,
  setBehaviour: phonesTopic,
  registered: phonesTopic,
  setRegistered: phonesTopic,
  receive: phonesTopic,
  written: phonesTopic,
  sent: phonesTopic,
}
