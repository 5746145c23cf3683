/**
 * Logged-in accounts and their connections: opens one connection for each account, handles its events
 * until Telegram ends the session, and ends sessions that unfinished logins may have left.
 */
import {
  logFailure,
  makeSessionAccess,
  makeLiveNumbers,
  NumberOwnership,
  NumberProxies,
  SessionVault,
  sleepInRealTime,
} from "@messaging-service/core"
import type {
  AfterClose,
  ClosedReason,
  Connecting,
  Incoming,
  LiveConnection,
  LiveNumber,
  LiveNumbers,
  NumberId,
  ChatContext,
  TransportId,
} from "@messaging-service/core"
import type { IPeersRepository, TelegramClient, tl } from "@mtcute/node"
import { getMarkedPeerId, toggleChannelIdMark } from "@mtcute/node/utils.js"
import { Clock, Context, Deferred, Effect, Layer, Queue, Random } from "effect"
import type { Scope } from "effect"
import {
  requested,
  toClosedReason,
  isUnanswered,
  isWorthless,
  makeClient,
  makeQuestions,
} from "./Client.ts"
import type { Questions } from "./Client.ts"
import { isSupergroup, toMessageId } from "./incoming.ts"
import { makeInbox } from "./Inbox.ts"
import type { Inbox } from "./Inbox.ts"
import type { TelegramSettings } from "./TelegramSettings.ts"
import { askForChannels } from "./updates.ts"
import { heldMillis, isHeld, makeOwnedLogins, makeLoginClients } from "./Login.ts"
import {
  archiveType,
  dateKey,
  fromText,
  hasEnded,
  vaultKeyStorage,
  storedKeys,
  makeStorage,
  nameType,
  neverFailing,
  writeBehind,
  reseal,
  sentType,
  toPosition,
} from "./storage.ts"
import type { KeyStorage, LoginCredentials, WriteBehind } from "./storage.ts"

// Usernames change hands, so an answer holds for an hour. It is stored before anything is sent to it:
// a repeat goes to the account of the first attempt, also when another account has the name by then.

/** How long an answer holds. */
const believedMillis = 60 * 60_000

export interface NameOwner {
  readonly userId: number
  /** Decimal digits, perhaps with a sign. */
  readonly accessHash: string
  /** When Telegram answered, in service time. */
  readonly at: number
  /** The same by this machine's clock, which the library uses for people. */
  readonly seenAt: number
}

interface Usernames {
  readonly getOwner: (username: string) => Promise<NameOwner | null>
  readonly keep: (username: string, owner: NameOwner | null) => Promise<void>
  /** Whether the stored owner still holds. */
  readonly isBelieved: (username: string, owner: NameOwner, now: number) => Promise<boolean>
}

const makeUsernames = (
  { read, write }: Pick<KeyStorage, "read" | "write">,
  peers: Pick<IPeersRepository, "getById">,
): Usernames => {
  const toId = (username: string) => username.toLowerCase()

  /** Whether the library has since seen the account without the name. */
  const hasLost = async (username: string, { seenAt, userId }: NameOwner) => {
    const peer = await peers.getById(userId)
    if (peer === null || peer.updated <= seenAt) return false
    return !peer.usernames.some((each) => toId(each) === toId(username))
  }

  return {
    getOwner: async (username) => {
      const text = await read(nameType, toId(username))
      return text === null ? null : (JSON.parse(text) as NameOwner)
    },
    keep: (username, owner) => {
      const value = owner === null ? null : JSON.stringify(owner)
      return write([{ type: nameType, id: toId(username), value }])
    },
    isBelieved: async (username, owner, now) =>
      Math.abs(now - owner.at) < believedMillis && !(await hasLost(username, owner)),
  }
}

/** What was sent to each person and group. */
export interface SentMessages {
  /** Reports the read at once when the read receipt came first. Settles when the id is written later. */
  readonly add: (peerId: number, messageId: number, transportId: TransportId) => Promise<void>
  /** Removes and returns the messages that the person has read. */
  readonly readUpTo: (peerId: number, messageId: number) => Promise<ReadonlyArray<TransportId>>
  /** Null for what another app sent. */
  readonly find: (peerId: number, messageId: number) => Promise<TransportId | null>
  /** Telegram's id of a message that was sent not long ago; else null. */
  readonly findMessageId: (peerId: number, transportId: TransportId) => Promise<number | null>
}

/** Tells the library how the account's own messages change its box. */
interface OwnChanges {
  /** Telegram's answer to a message. */
  readonly add: (answer: tl.TypeUpdates) => void
  /** Hands over what waits; call it before any later update. */
  readonly handOver: () => void
}

export interface OpenAccount extends LiveConnection {
  readonly client: TelegramClient
  readonly sent: SentMessages
  /** Whether people's messages are stored, which may quote what was sent. */
  readonly isConversing: () => boolean
  readonly storeNow: WriteBehind["storeNow"]
  readonly usernames: Usernames
  readonly ownChanges: OwnChanges
  readonly inbox: Pick<Inbox, "addOwn" | "isEmpty" | "channels">
  readonly hasRead: (peerId: number, upTo: number) => void
  /** Ends the session, as Telegram said. */
  readonly ended: (reason: ClosedReason) => void
  readonly questions: Questions
}

/** Stored unread messages of one person. */
const maxUnread = 200

/** Cached readers, for answers that come after their read receipt. */
const maxReaders = 1000

/** Stored read messages of one person: the latest that are quoted or reacted to. */
const maxRead = 50

/** Messages that may come above a bound: older ones are archived together. */
const archivedAtOnce = 25

/** How many ids in a row have one key of the archive. */
const archivedIds = 256

type Sent = ReadonlyArray<readonly [messageId: number, transportId: TransportId, isRead?: 1]>

/** Those of one kind that may be archived: none before there are enough. */
const toArchive = (sent: Sent, most: number): Sent =>
  sent.length < most + archivedAtOnce ? [] : sent.slice(0, -most)

/** The latest ones, and the older ones of each key of the archive. */
const divided = (peerId: number, sent: Sent) => {
  const isUnread = ([, , isRead]: Sent[number]) => isRead === undefined
  const old = new Set([
    ...toArchive(
      sent.filter((each) => !isUnread(each)),
      maxRead,
    ),
    ...toArchive(sent.filter(isUnread), maxUnread),
  ])
  const archived = Map.groupBy(old, ([messageId]) => toArchiveId(peerId, messageId))
  return { latest: sent.filter((each) => !old.has(each)), archived }
}

const toArchiveId = (peerId: number, messageId: number): string =>
  `${peerId}/${Math.floor(messageId / archivedIds)}`

/** Lists that are written a little later; reads see a change at once. */
const makeSentLists = ({ later, read }: Pick<WriteBehind, "later" | "read">, type: string) => {
  /** Unwritten changes. */
  const changed = new Map<string, Sent>()
  return {
    get: async (id: string): Promise<Sent> => {
      const sent = changed.get(id)
      if (sent !== undefined) return sent
      const text = await read(type, id)
      return text === null ? [] : (JSON.parse(text) as Sent)
    },
    keep: (id: string, sent: Sent) => {
      changed.set(id, sent)
      later(type, id, () => {
        changed.delete(id)
        return JSON.stringify(sent)
      })
    },
  }
}

/** Applies changes one at a time: each continues from the one before. */
export const makeSentMessages = (
  keyStorage: Pick<WriteBehind, "later" | "read">,
  isRead: (transportId: TransportId) => void,
): SentMessages => {
  const readers = new Map<number, number>()
  const hasReadUpTo = (peerId: number, messageId: number) => {
    const before = readers.get(peerId) ?? 0
    readers.delete(peerId)
    readers.set(peerId, Math.max(before, messageId))
    const [oldest] = readers.keys()
    if (readers.size > maxReaders && oldest !== undefined) readers.delete(oldest)
  }
  const latest = makeSentLists(keyStorage, sentType)
  const archive = makeSentLists(keyStorage, archiveType)
  let last: Promise<unknown> = Promise.resolve()
  const sequentially = <A>(change: () => Promise<A>): Promise<A> => {
    const done = last.then(change)
    last = done.catch(() => undefined)
    return done
  }
  const getSent = (peerId: number) => latest.get(String(peerId))
  const keep = async (peerId: number, sent: Sent) => {
    const { archived, latest: rest } = divided(peerId, sent)
    const before = new Map<string, Sent>()
    for (const id of archived.keys()) before.set(id, await archive.get(id))
    // In one step, and so in one write.
    latest.keep(String(peerId), rest)
    for (const [id, more] of archived) archive.keep(id, [...(before.get(id) ?? []), ...more])
  }
  return {
    add: (peerId, messageId, transportId) =>
      sequentially(async () => {
        const isReadBefore = messageId <= (readers.get(peerId) ?? 0)
        if (isReadBefore) isRead(transportId)
        const sent = [messageId, transportId] as const
        await keep(peerId, [...(await getSent(peerId)), isReadBefore ? [...sent, 1] : sent])
      }).catch(() => undefined),
    readUpTo: (peerId, messageId) =>
      sequentially(async () => {
        hasReadUpTo(peerId, messageId)
        const sent = await getSent(peerId)
        const isFound = ([id, , wasRead]: Sent[number]) => id <= messageId && wasRead !== 1
        const found = sent.filter(isFound)
        if (found.length === 0) return []
        await keep(
          peerId,
          sent.map((each) => (isFound(each) ? [each[0], each[1], 1] : each)),
        )
        return found.map(([, transportId]) => transportId)
      }),
    find: (peerId, messageId) =>
      sequentially(async () => {
        const isIt = ([id]: Sent[number]) => id === messageId
        const found =
          (await getSent(peerId)).find(isIt) ??
          (await archive.get(toArchiveId(peerId, messageId))).find(isIt)
        return found?.[1] ?? null
      }),
    findMessageId: (peerId, transportId) =>
      sequentially(async () => {
        const found = (await getSent(peerId)).find(([, id]) => id === transportId)
        return found?.[0] ?? null
      }),
  }
}

/** The longest delay before the library learns of own messages, in real milliseconds. */
const ownMillis = 1000

/** Merges consecutive own messages into one step, which costs the library as much as any other. */
export const makeOwnChanges = (
  client: Pick<TelegramClient, "handleClientUpdate">,
  laterMillis = ownMillis,
): OwnChanges => {
  let waiting: { pts: number; ptsCount: number; date: number } | null = null
  let timer: NodeJS.Timeout | undefined
  const handOver = () => {
    clearTimeout(timer)
    timer = undefined
    if (waiting === null) return
    const { date, pts, ptsCount } = waiting
    waiting = null
    client.handleClientUpdate(
      {
        _: "updates",
        updates: [{ _: "mtcute.dummyUpdate", channelId: 0, pts, ptsCount }],
        users: [],
        chats: [],
        date,
        seq: 0,
      },
      // It reports nothing, so the library has no message to keep to itself.
      false,
    )
  }
  return {
    add: (answer) => {
      if (answer._ !== "updateShortSentMessage") {
        handOver()
        return client.handleClientUpdate(answer)
      }
      const { date, pts, ptsCount } = answer
      if (waiting !== null && pts - ptsCount === waiting.pts) {
        waiting = { pts, ptsCount: waiting.ptsCount + ptsCount, date }
      } else {
        handOver()
        waiting = { pts, ptsCount, date }
      }
      timer ??= setTimeout(handOver, laterMillis)
    },
    handOver,
  }
}

// Connecting: the library reconnects by itself. This checks at each new connection whether the session
// still holds, which Telegram does not report by itself.

/** How long a connecting number keeps its place in the queue, in real time. */
const placeMillis = 10_000

type AccountEvent =
  /** The updates have started. */
  | { readonly _tag: "Listening" }
  | { readonly _tag: "Failed"; readonly isRefused: boolean }
  | { readonly _tag: "Usable" }
  | { readonly _tag: "Lost" }
  | { readonly _tag: "Read"; readonly peerId: number; readonly upTo: number }
  /** The answer to a message came after its read receipt. */
  | { readonly _tag: "ReadBefore"; readonly transportId: TransportId }
  | { readonly _tag: "Ended"; readonly reason: ClosedReason }

/** The library's callbacks as events. */
const report = (
  client: TelegramClient,
  events: Queue.Queue<AccountEvent>,
  heard: () => void,
): void => {
  client.onConnectionState.add((state) => {
    if (state === "connected") Queue.offerUnsafe(events, { _tag: "Usable" })
    if (state === "connecting" || state === "offline") Queue.offerUnsafe(events, { _tag: "Lost" })
  })
  client.onServerUpdate.add(heard)
  const read = (peerId: number, upTo: number) =>
    void Queue.offerUnsafe(events, { _tag: "Read", peerId, upTo })
  client.onRawUpdate.add(({ update }) => {
    if (update._ === "updateReadHistoryOutbox") read(getMarkedPeerId(update.peer), update.maxId)
    if (update._ === "updateReadChannelOutbox") {
      read(toggleChannelIdMark(update.channelId), update.maxId)
    }
  })
}

/** Asks for the box's state. Returns why the session is over; null if it holds or no answer comes. */
const checkSession = (client: TelegramClient, heard: () => void) =>
  // This answer names no people, which would be written to the vault each time.
  requested((abortSignal) => client.call({ _: "updates.getState" }, { abortSignal })).pipe(
    Effect.map(() => {
      heard()
      return null
    }),
    Effect.catch((failed) => Effect.succeed(toClosedReason(failed))),
  )

const stop = (reason: ClosedReason): AfterClose => ({
  _tag: "Stop",
  reason,
  wipe: isWorthless(reason),
})

const reportRead = Effect.fnUntraced(function* reportRead(
  { peerId, upTo }: Extract<AccountEvent, { readonly _tag: "Read" }>,
  sent: SentMessages,
  { numberId }: LiveNumber<OpenAccount>,
  { take }: Connecting<OpenAccount>,
) {
  const ids = yield* Effect.promise(() => sent.readUpTo(peerId, upTo))
  for (const transportId of ids) {
    yield* take({ _tag: "Tick", numberId, transportId, status: "read" })
  }
})

interface Listening extends Pick<
  OpenAccount,
  "client" | "sent" | "storeNow" | "usernames" | "ownChanges" | "inbox" | "lastWordAt"
> {
  readonly live: LiveNumber<OpenAccount>
  readonly connecting: Connecting<OpenAccount>
  readonly events: Queue.Queue<AccountEvent>
  readonly heard: () => void
  readonly phone: string
}

/** Connects, and starts the library's updates. */
const startUpdates = ({ client, events }: Listening) =>
  requested(() => client.connect()).pipe(
    Effect.andThen(requested(() => client.startUpdatesLoop())),
    Effect.as<AccountEvent>({ _tag: "Listening" }),
    Effect.catch((failed) =>
      Effect.as(logFailure("could not start the account's updates, reconnecting", failed), {
        _tag: "Failed",
        isRefused: !isUnanswered(failed),
      } as const),
    ),
    Effect.flatMap((event) => Queue.offer(events, event)),
  )

/** Asks for what came meanwhile, and for what could not be read of channels. */
const askAgain = ({ client, inbox }: Listening): void => {
  client.handleClientUpdate({ _: "updatesTooLong" }, false)
  const { unread } = inbox.channels
  if (unread.size === 0) return
  const channels = Array.from(unread, (channelId) => [channelId, undefined] as const)
  client.handleClientUpdate(askForChannels(channels), false)
}

/** Asks regularly: an unanswered question makes the library notice a dead connection soon. */
const keepAlive = (listening: Listening, millis: number) =>
  Effect.forever(
    Effect.gen(function* askOnce() {
      const { client, events, heard, inbox, live } = listening
      yield* sleepInRealTime(millis)
      const reason = live.open === null ? null : yield* checkSession(client, heard)
      if (reason !== null) yield* Queue.offer(events, { _tag: "Ended", reason })
      // A turn of the library that failed has stored nothing, and the next one waits for an update.
      if (!inbox.isEmpty() || inbox.channels.unread.size > 0) askAgain(listening)
    }),
  )

/** Opens the account for sending; returns why the session is over, if it is. */
const openAccount = Effect.fnUntraced(function* openAccount(
  listening: Listening,
  isReopened: boolean,
) {
  const { client, connecting, events, heard, inbox, lastWordAt, live, ownChanges, phone, sent } =
    listening
  const reason = yield* checkSession(client, heard)
  if (reason !== null) return reason
  // A restarted remote server does not send what came meanwhile: ask for it.
  ownChanges.handOver()
  if (isReopened) askAgain(listening)
  const over = yield* Deferred.make<void>()
  const questions = makeQuestions()
  yield* Deferred.await(over).pipe(
    Effect.ensuring(Effect.sync(questions.end)),
    Effect.forkScoped({ startImmediately: true }),
  )
  const account: OpenAccount = {
    client,
    sent,
    isConversing: () => live.conversing.isOpen(),
    storeNow: listening.storeNow,
    usernames: listening.usernames,
    inbox,
    hasRead: (peerId, upTo) => void Queue.offerUnsafe(events, { _tag: "Read", peerId, upTo }),
    over,
    ownChanges,
    questions,
    lastWordAt,
    ended: (why) => void Queue.offerUnsafe(events, { _tag: "Ended", reason: why }),
  }
  yield* connecting.opened(account, phone)
  return null
})

/** Handles events until the client is to be closed; returns what to do after it. */
const handleEvents = Effect.fnUntraced(function* handleEvents(
  listening: Listening,
): Effect.fn.Return<AfterClose, never, Scope.Scope> {
  const { connecting, events, live, sent } = listening
  let [isThere, isListening, wasThere] = [false, false, false]
  for (;;) {
    const event = yield* Queue.take(events)
    switch (event._tag) {
      case "Usable":
      case "Listening": {
        if (event._tag === "Usable") isThere = true
        else isListening = true
        if (!isThere || !isListening || live.open !== null) break
        const reason = yield* openAccount(listening, wasThere)
        if (reason !== null) return stop(reason)
        wasThere = true
        break
      }
      case "Lost":
        isThere = false
        yield* connecting.lost
        break
      case "Read":
        yield* Effect.forkScoped(reportRead(event, sent, live, connecting))
        break
      case "ReadBefore": {
        const { numberId } = live
        const { transportId } = event
        yield* Effect.forkScoped(
          connecting.take({ _tag: "Tick", numberId, transportId, status: "read" }),
        )
        break
      }
      case "Failed":
        return { _tag: "Again", isRefused: event.isRefused }
      case "Ended":
        return stop(event.reason)
    }
  }
})

/** Connects, and listens; returns what to do after the connection. */
const listen = Effect.fnUntraced(function* listen(
  { keepAliveMillis }: TelegramSettings,
  clock: Clock.Clock,
  account: Omit<Listening, "ownChanges" | "heard" | "lastWordAt">,
) {
  let lastAnswerAt: number | null = null
  const heard = () => {
    lastAnswerAt = clock.currentTimeMillisUnsafe()
  }
  const ownChanges = makeOwnChanges(account.client)
  yield* Effect.addFinalizer(() => Effect.sync(ownChanges.handOver))
  report(account.client, account.events, () => {
    heard()
    ownChanges.handOver()
  })
  const listening: Listening = { ...account, ownChanges, heard, lastWordAt: () => lastAnswerAt }
  yield* Effect.forkScoped(startUpdates(listening))
  yield* Effect.forkScoped(keepAlive(listening, keepAliveMillis))
  return yield* handleEvents(listening)
})

/** People have positive ids, groups negative ones. */
const toPeerId = ({ group, person }: Pick<ChatContext, "group" | "person">): number =>
  group === null ? Number(person?.userId) : -Math.abs(Number(group.remoteId))

/** What was collected, as the store takes it: what this service sent has the ids that the store knows. */
const takeReceived = async (
  inbox: Inbox,
  sent: SentMessages,
  isKept: (channelId: number) => Promise<boolean>,
): Promise<ReadonlyArray<Incoming>> => {
  const findSent = (place: ChatContext, remoteId: string) =>
    sent.find(toPeerId(place), toMessageId(remoteId))
  const received: Array<Incoming> = []
  for (const incoming of inbox.take()) {
    switch (incoming._tag) {
      case "Message": {
        const { fromMe, quote, remoteId } = incoming
        // Telegram may tell own messages again after a break.
        if (fromMe && (await findSent(incoming, remoteId)) !== null) break
        const quoted = quote?.remoteId == null ? null : await findSent(incoming, quote.remoteId)
        received.push(
          quote === null || quoted === null
            ? incoming
            : { ...incoming, quote: { ...quote, remoteId: quoted } },
        )
        break
      }
      case "Change": {
        const { change, target } = incoming
        const isReaction = change.type === "reaction"
        const found = isReaction ? await findSent(incoming, target.remoteId) : null
        received.push(
          found === null ? incoming : { ...incoming, target: { remoteId: found, fromMe: true } },
        )
        break
      }
      case "Gap": {
        const { channelId, ...gap } = incoming
        if (channelId === null || (await isKept(channelId))) received.push(gap)
        break
      }
      case "Unreadable":
        received.push(incoming)
    }
  }
  return received
}

/** Connects an account until Telegram ends its session. */
const makeConnect = Effect.fnUntraced(function* makeConnect(settings: TelegramSettings) {
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
  const clock = yield* Clock.Clock
  const run = Effect.runPromiseWith(yield* Effect.context<never>())

  return Effect.fnUntraced(function* connectAccount(
    live: LiveNumber<OpenAccount>,
    connecting: Connecting<OpenAccount>,
  ) {
    const { numberId } = live
    const { application } = settings
    const text = yield* vault.credentials(numberId)
    const credentials = text === null ? null : fromText(text)
    // A login is unfinished, or no application is configured.
    if (text === null || credentials?.kind !== "account" || application === null) return null
    yield* reseal(vault, numberId, text)
    const { releaseSlot, proxy } = yield* connecting.ready
    // The last writes come after the number was released and before another worker has it.
    const mayFinish = () => ownership.finishes(numberId)
    const access = makeSessionAccess(mayFinish, vault.takeReceived(numberId))
    yield* Effect.addFinalizer(() => Effect.sync(access.letGo))
    const keyStorage = writeBehind(vaultKeyStorage(vault, numberId, run, access, connecting.wrote))
    yield* Effect.addFinalizer(() => Effect.promise(() => keyStorage.end(mayFinish())))
    const events = yield* Queue.unbounded<AccountEvent>()
    const sent = makeSentMessages(keyStorage, (transportId) => {
      Queue.offerUnsafe(events, { _tag: "ReadBefore", transportId })
    })
    /** Whether the store keeps what is written in a channel: only in supergroups, and not without groups. */
    const isKept = async (channelId: number): Promise<boolean> => {
      const markedId = toggleChannelIdMark(channelId)
      const chat = await client.storage.peers.getCompleteById(markedId)
      if (chat?._ === "channel" && !isSupergroup(chat)) return false
      const group = { remoteId: String(markedId), name: null }
      const any = { mode: "live", fromMe: false, group, person: null, remoteId: "" } as const
      return !(await run(access.read(vault.needsNoCopy(numberId, any))))
    }
    const inbox = makeInbox({
      selfId: credentials.userId,
      now: () => clock.currentTimeMillisUnsafe(),
    })
    const storage = makeStorage(neverFailing(keyStorage), {
      set: (change) => {
        // By the date Telegram names the channels that changed.
        const isDate = change.id === dateKey && change.value !== null
        if (!isDate || inbox.channels.passDate(toPosition(change.value)))
          keyStorage.setState(change)
      },
      save: () =>
        keyStorage.save(async () => {
          const received = await takeReceived(inbox, sent, isKept)
          for (const _ of received) await run(access.takeReceived)
          return received
        }),
    })
    const client = yield* makeClient(settings, {
      application,
      storage,
      proxy,
      drawn: yield* Random.next,
      mayWrite: () => ownership.owns(numberId),
      failed: () => void Queue.offerUnsafe(events, { _tag: "Failed", isRefused: false }),
      inbox,
    })
    // The library keeps trying while Telegram is away; others need not wait for that.
    yield* Effect.forkScoped(Effect.andThen(sleepInRealTime(placeMillis), releaseSlot))
    const usernames = makeUsernames(keyStorage, storage.peers)
    const { phone } = credentials
    const { storeNow } = keyStorage
    const account = { live, connecting, client, usernames, sent, storeNow, inbox, phone, events }
    return yield* listen(settings, clock, account)
  })
})

// Linked numbers

export class Sessions extends Context.Service<Sessions, LiveNumbers<OpenAccount>>()(
  "transport-telegram/Sessions",
) {
  static readonly layer = (settings: TelegramSettings) => Layer.effect(Sessions, make(settings))
}

const make = Effect.fnUntraced(function* makeSessions(settings: TelegramSettings) {
  const vault = yield* SessionVault
  const logins = makeLoginClients(settings, yield* NumberProxies)
  const ownedLogins = makeOwnedLogins(vault)

  /** Logs out the session that a dead or cancelled login may have left. */
  const endLogin = Effect.fnUntraced(function* endLogin(
    numberId: NumberId,
    text: string,
    login: LoginCredentials,
    now: number,
  ) {
    const stepUntil = now + heldMillis
    const owned = yield* ownedLogins.take(numberId, text, login, { ...login, stepUntil })
    if (owned === null) return
    if (!(yield* ownedLogins.whileOwned(owned, logins.end(numberId, login.keys)))) {
      yield* ownedLogins.goOn(owned, { ...login, stepUntil: null })
    } else if (login.isCancelled) {
      yield* ownedLogins.forget(numberId, owned.text)
    } else {
      yield* ownedLogins.goOn(owned, { ...login, keys: [], mayBeIn: false, stepUntil: null })
    }
  })

  return yield* makeLiveNumbers({
    platform: "telegram",
    settings,
    keptKeys: storedKeys,
    connect: yield* makeConnect(settings),
    remembersWiped: false,
    meansLoggedOut: ["logged_out", "replaced", "banned"],
    // Telegram refuses a restricted account's log-out as if it were logged out.
    refusesLogOut: ["restricted"],
    logOut: ({ client }: OpenAccount) =>
      requested(() => client.call({ _: "auth.logOut" })).pipe(
        Effect.as(true),
        Effect.orElseSucceed(() => false),
      ),
    logins: {
      isLogin: (text) => fromText(text).kind === "login",
      end: (numberId, text) => {
        const login = fromText(text)
        return login.kind === "login" && login.mayBeIn
          ? logins.end(numberId, login.keys)
          : Effect.succeed(true)
      },
      settle: (numberId, text, now) => {
        const login = fromText(text)
        if (login.kind !== "login" || !login.mayBeIn || isHeld(login, now)) return null
        return hasEnded(login, now) ? endLogin(numberId, text, login, now) : null
      },
    },
  })
})
