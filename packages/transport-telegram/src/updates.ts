/**
 * How the library's updates reach the inbox, with what Telegram skips. The library reports neither skips nor
 * differences that it could not read, so its own steps are wrapped. It bounds nothing that it takes: what is
 * above the bound is asked for again, once what came before is stored.
 */
import { isBacklogFull } from "@messaging-service/core"
import { BaseTelegramClient, tl } from "@mtcute/node"
import type { RpcCallMiddleware } from "@mtcute/node"
import { toggleChannelIdMark } from "@mtcute/node/utils.js"
import type { Inbox } from "./Inbox.ts"
import { isSupergroup } from "./incoming.ts"

interface Bounds {
  readonly backlog: Backlog
  /** Channels that Telegram named without their updates, until they are read. */
  readonly tooLong: Set<number>
  /** Channels with a difference that was not read to its end; for one without a state, where to read from. */
  readonly unfinished: Map<number, number | undefined>
}

export interface Hearing extends Bounds {
  readonly inbox: Inbox
}

/** What came and is not stored: it waits for a turn of the library, or for the commit at the end of one. */
interface Backlog {
  readonly add: (updates: Counted) => void
  readonly isFull: () => boolean
  /** A turn has stored everything else. */
  readonly keepOnly: (waiting: ReadonlyArray<Counted>) => void
}

type Counted = tl.TypeUpdates | tl.updates.TypeDifference | tl.updates.TypeChannelDifference

/** About what a value takes in memory: two bytes for each character, and a word for each field. */
const getBytes = (value: unknown): number => {
  if (typeof value === "string") return 2 * value.length
  if (typeof value !== "object" || value === null) return 8
  if (ArrayBuffer.isView(value)) return value.byteLength
  return Object.values(value).reduce((sum: number, each) => sum + 8 + getBytes(each), 0)
}

const countUpdates = (counted: Counted): number => {
  if ("updates" in counted) return counted.updates.length
  return "newMessages" in counted ? counted.newMessages.length + counted.otherUpdates.length : 1
}

const makeBacklog = (): Backlog => {
  let [messages, bytes] = [0, 0]
  const add = (counted: Counted) => {
    messages += countUpdates(counted)
    bytes += getBytes(counted)
  }
  return {
    add,
    isFull: () => isBacklogFull({ messages, bytes }),
    keepOnly: (waiting) => {
      ;[messages, bytes] = [0, 0]
      waiting.forEach(add)
    },
  }
}

const makeBounds = (): Bounds => ({
  backlog: makeBacklog(),
  tooLong: new Set(),
  unfinished: new Map(),
})

export const makeHearing = (inbox: Inbox): Hearing => ({ inbox, ...makeBounds() })

type UpdatesManager = NonNullable<BaseTelegramClient["updates"]>

/**
 * Stores the state of a box that was never read before the library listens. It would keep its first state in
 * memory until the end of a turn: updates before a process died in that time would not come again.
 */
const listenFromStoredState = (client: BaseTelegramClient): void => {
  const { storage } = client
  const listen = client.startUpdatesLoop.bind(client)
  client.startUpdatesLoop = async () => {
    if ((await storage.updates.getState()) === null) {
      const { date, pts, qts, seq } = await client.call({ _: "updates.getState" })
      await storage.updates.setPts(pts)
      await storage.updates.setQts(qts)
      await storage.updates.setDate(date)
      await storage.updates.setSeq(seq)
      await client.mt.storage.save()
      await client.updates?.prepare()
    }
    return listen()
  }
}

const isTooLong = (update: tl.TypeUpdate): update is tl.RawUpdateChannelTooLong =>
  update._ === "updateChannelTooLong"

/**
 * Drops what comes while the backlog is full: in its next turn the library asks for the difference, which has
 * it. `tooLong` receives channels that Telegram names without their updates.
 */
const boundWaitingUpdates = (
  updates: UpdatesManager,
  { backlog, tooLong }: Bounds,
  inbox: Pick<Inbox, "addOwnIn"> | undefined,
): void => {
  const handleUpdate = updates.handleUpdate.bind(updates)
  const { raw: waiting } = updates.pendingUpdateContainers
  updates.handleUpdate = (update) => {
    const isDropped = backlog.isFull()
    if (isDropped && waiting.some(({ upd }) => upd._ === "updatesTooLong")) return
    if (isDropped) return handleUpdate({ _: "updatesTooLong" })
    const named = "updates" in update ? update.updates : []
    for (const { channelId } of named.filter(isTooLong)) tooLong.add(channelId)
    inbox?.addOwnIn(named)
    backlog.add(update)
    handleUpdate(update)
  }
}

/** What tells the library to read these channels on, each from the state in the box or from this one. */
export const askForChannels = (
  channels: Iterable<readonly [channelId: number, pts: number | undefined]>,
): tl.RawUpdates => ({
  _: "updates",
  updates: Array.from(channels, ([channelId, pts]) => ({
    _: "updateChannelTooLong" as const,
    channelId,
    ...(pts === undefined ? {} : { pts }),
  })),
  users: [],
  chats: [],
  date: 0,
  seq: 0,
})

/** At the end of a turn everything is stored that did not come since: what was put off is asked for. */
const countStored = (updates: UpdatesManager, { backlog, unfinished }: Bounds): void => {
  const save = updates._saveUpdatesStorage.bind(updates)
  const handleUpdate = updates.handleUpdate.bind(updates)
  updates._saveUpdatesStorage = async (isTurnOver) => {
    await save(isTurnOver)
    backlog.keepOnly(updates.pendingUpdateContainers.raw.map(({ upd }) => upd))
    if (unfinished.size > 0) handleUpdate(askForChannels(unfinished))
    unfinished.clear()
  }
}

/** The library reads where a channel was left only while it starts: otherwise it learns of no gap before that. */
const readStoredChannels = (updates: UpdatesManager): void => {
  updates.onCatchingUp(() => undefined)
  Object.defineProperty(updates, "catchingUp", {
    get: () => true,
    set: (_isStarting: boolean) => {},
  })
}

/** The box counts from another state, whatever came after the former one. */
const hearSkippedStates = (updates: UpdatesManager, inbox: Inbox): void => {
  const fetchState = updates._fetchUpdatesState.bind(updates)
  updates._fetchUpdatesState = async () => {
    const { date, pts } = updates
    await fetchState()
    if (date !== undefined && pts !== undefined) inbox.addGap(date)
  }
}

const hearStoredDate = (updates: UpdatesManager, { channels }: Inbox): void => {
  const start = updates.startLoop.bind(updates)
  updates.startLoop = () => {
    channels.passDate(updates.oldDate ?? 0)
    return start()
  }
}

/** The library saves a state that changed, and reactions change none: their commit then has the same one again. */
const saveWithInbox = (updates: UpdatesManager, inbox: Inbox): void => {
  const save = updates._saveUpdatesStorage.bind(updates)
  updates._saveUpdatesStorage = (isTurnOver) => {
    if (!inbox.isEmpty()) Object.assign(updates, { oldPts: undefined })
    return save(isTurnOver)
  }
}

/** Only members may read it. */
const isNoMember = (error: unknown): boolean =>
  tl.RpcError.is(error, "CHANNEL_PRIVATE") || tl.RpcError.is(error, "CHANNEL_INVALID")

/** Events of a supergroup that is read for the first time; its difference has one more at most. */
const maxFirstEvents = 99

/**
 * Where the library begins to read a channel without a stored state. It would begin after all that came
 * meanwhile.
 */
const makeFirstReads = (
  { storage }: BaseTelegramClient,
  { cpts }: UpdatesManager,
  { inbox, tooLong }: Hearing,
) => {
  const starts = new Map<number, number>()
  return {
    begin: async (channelId: number, fallback: number | undefined) => {
      const isNamed = tooLong.delete(channelId)
      if (cpts.has(channelId) || (await storage.updates.getChannelPts(channelId))) return undefined
      const start = starts.get(channelId)
      if (start !== undefined || !isNamed) return start ?? fallback
      const chat = await storage.peers.getCompleteById(toggleChannelIdMark(channelId))
      if (chat?._ !== "channel" || !isSupergroup(chat)) return fallback
      const first = Math.max(1, (fallback ?? 1) - maxFirstEvents)
      starts.set(channelId, first)
      inbox.channels.readSince(channelId, inbox.channels.stateDate())
      return first
    },
    /** Whether what came before those events and after that date is not known. */
    end: (channelId: number): boolean => {
      const first = starts.get(channelId) ?? 1
      starts.delete(channelId)
      return first > 1 && !inbox.channels.hasReached(channelId)
    },
  }
}

/** Channels that are read at once; each brings its answer, however full the backlog is by then. */
const readAtOnce = 4

/** Runs so many at once, in the order of the calls. */
const makeLanes = (count: number) => {
  const lanes = Array.from({ length: count }, () => Promise.resolve())
  let calls = 0
  return <A>(work: () => Promise<A>): Promise<A> => {
    const lane = calls++ % count
    const done = (lanes[lane] ?? Promise.resolve()).then(work)
    lanes[lane] = done.then(
      () => undefined,
      () => undefined,
    )
    return done
  }
}

/**
 * With a full backlog a channel's difference is put off until the end of the turn, whole or its rest: the
 * library would read all channels to their ends before it stores anything.
 */
const boundChannelReads = (updates: UpdatesManager, { backlog, inbox, unfinished }: Hearing) => {
  const fetchDifference = updates._fetchChannelDifference.bind(updates)
  const inLane = makeLanes(readAtOnce)
  updates._fetchChannelDifference = (channelId, fallback) => {
    inbox.channels.unread.add(channelId)
    return inLane(async () => {
      if (!backlog.isFull()) return fetchDifference(channelId, fallback)
      unfinished.set(channelId, fallback)
      return true
    })
  }
}

const hearSkippedChannels = (
  client: BaseTelegramClient,
  updates: UpdatesManager,
  hearing: Hearing,
): void => {
  const { inbox, unfinished } = hearing
  const { stateDate, unread } = inbox.channels
  const fetchDifference = updates._fetchChannelDifference.bind(updates)
  const firstReads = makeFirstReads(client, updates, hearing)
  const skip = (channelId: number) => inbox.addGap(stateDate(), channelId)
  updates._fetchChannelDifference = async (channelId, fallback) => {
    try {
      const isRead = await fetchDifference(channelId, await firstReads.begin(channelId, fallback))
      if (firstReads.end(channelId)) skip(channelId)
      if (!unfinished.has(channelId)) unread.delete(channelId)
      return isRead
    } catch (error) {
      const isLost = tl.RpcError.is(error, "PERSISTENT_TIMESTAMP_INVALID")
      if (isLost || isNoMember(error)) {
        unread.delete(channelId)
        firstReads.end(channelId)
        await client.storage.updates.setChannelPts(channelId, 0)
      }
      if (isLost) skip(channelId)
      throw error
    }
  }
}

/** `hearing`: null for a login, which hears nothing. */
export const hearUpdates = (client: BaseTelegramClient, hearing: Hearing | null): void => {
  const { updates } = client
  listenFromStoredState(client)
  if (updates === undefined) return
  const bounds = hearing ?? makeBounds()
  countStored(updates, bounds)
  boundWaitingUpdates(updates, bounds, hearing?.inbox)
  if (hearing === null) return
  const { inbox } = hearing
  readStoredChannels(updates)
  hearStoredDate(updates, inbox)
  saveWithInbox(updates, inbox)
  hearSkippedStates(updates, inbox)
  hearSkippedChannels(client, updates, hearing)
  boundChannelReads(updates, hearing)
  // Before the library's own listener: its failure would keep an update from those behind it.
  client.onRawUpdate.add(({ peers, update }) => inbox.addUpdate(update, peers))
}

const isAnswer = <A extends { readonly _: string }>(answer: unknown): answer is A =>
  typeof answer === "object" && answer !== null && "_" in answer && answer._ !== "mt_rpc_error"

/** Hears the answers to differences before the library does. */
export const hearDifferences =
  ({ backlog, inbox, tooLong, unfinished }: Hearing): RpcCallMiddleware =>
  async (call, next) => {
    const answer: unknown = await next(call)
    const { request } = call
    if (request._ === "updates.getDifference" && isAnswer<tl.updates.TypeDifference>(answer)) {
      backlog.add(answer)
      if (answer._ === "updates.differenceTooLong") inbox.addGap(request.date)
      else inbox.addDifference(answer)
      const others = "otherUpdates" in answer ? answer.otherUpdates : []
      for (const { channelId } of others.filter(isTooLong)) tooLong.add(channelId)
    }
    if (
      request._ === "updates.getChannelDifference" &&
      request.channel._ === "inputChannel" &&
      isAnswer<tl.updates.TypeChannelDifference>(answer)
    ) {
      const { channelId } = request.channel
      backlog.add(answer)
      if (answer._ === "updates.channelDifferenceTooLong")
        inbox.addGap(inbox.channels.stateDate(), channelId)
      else inbox.addDifference(answer)
      if (answer._ === "updates.channelDifference" && !answer.final && backlog.isFull()) {
        unfinished.set(channelId, undefined)
        return { ...answer, final: true }
      }
    }
    return answer
  }
