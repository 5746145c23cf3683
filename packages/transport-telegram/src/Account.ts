/** What an account's connection is while it is open. */
import {
  logFailure,
  makeHold,
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
  LiveConnection,
  LiveNumber,
  LiveNumbers,
  NumberId,
  TransportId,
} from "@messaging-service/core"
import type { IPeersRepository, TelegramClient, tl } from "@mtcute/node"
import { Clock, Context, Deferred, Effect, Layer, Queue, Random } from "effect"
import { asked, endingOf, isWorthless, makeClient, makeQuestions } from "./Client.ts"
import type { Questions } from "./Client.ts"
import type { TelegramSettings } from "./TelegramSettings.ts"
import { heldMillis, isHeld, makeHeldLogins, makeLoginClients } from "./Login.ts"
import {
  fromText,
  hasEnded,
  keptKeyPlace,
  keptKeys,
  makeStorage,
  nameType,
  remembering,
  reseal,
  sentType,
} from "./storage.ts"
import type { KeyPlace, LoginCredentials, Remembering } from "./storage.ts"

// Whose a username was when Telegram was last asked. Names change hands, so the answer is believed for an
// hour. It is kept before anything is sent on the strength of it: a repeat of an attempt goes to the account
// that the attempt was made for, also when another has the name by then.

/** For how long an answer is believed. */
const believedMillis = 60 * 60_000

/** An account that had the name. */
export interface NameOwner {
  readonly userId: number
  /** Decimal digits, perhaps with a sign. */
  readonly accessHash: string
  /** When Telegram said so, in service time. */
  readonly at: number
  /** The same by this machine's clock, by which the library notes when it saw people. */
  readonly seenAt: number
}

interface Usernames {
  readonly ownerOf: (username: string) => Promise<NameOwner | null>
  /** Done once it is stored. */
  readonly keep: (username: string, owner: NameOwner | null) => Promise<void>
  /** Whether the owner need not be asked for again. */
  readonly isBelieved: (username: string, owner: NameOwner, now: number) => Promise<boolean>
}

const makeUsernames = (
  { read, write }: Pick<KeyPlace, "read" | "write">,
  peers: Pick<IPeersRepository, "getById">,
): Usernames => {
  const idOf = (username: string) => username.toLowerCase()

  /** The library has seen the account without the name since. */
  const hasLost = async (username: string, { seenAt, userId }: NameOwner) => {
    const peer = await peers.getById(userId)
    if (peer === null || peer.updated <= seenAt) return false
    return !peer.usernames.some((each) => idOf(each) === idOf(username))
  }

  return {
    ownerOf: async (username) => {
      const text = await read(nameType, idOf(username))
      return text === null ? null : (JSON.parse(text) as NameOwner)
    },
    keep: (username, owner) => {
      const value = owner === null ? null : JSON.stringify(owner)
      return write([{ type: nameType, id: idOf(username), value }])
    },
    isBelieved: async (username, owner, now) =>
      Math.abs(now - owner.at) < believedMillis && !(await hasLost(username, owner)),
  }
}

/** Messages to each person that were sent and not read yet. */
interface SentMessages {
  /** The read receipt may have come already: then it is reported at once. */
  readonly add: (peerId: number, messageId: number, transportId: TransportId) => void
  /** The person has read up to a message: those that were sent by then, which are forgotten. */
  readonly readUpTo: (peerId: number, messageId: number) => Promise<ReadonlyArray<TransportId>>
}

/** How an account's own messages change its box, as the library counts it. */
interface OwnChanges {
  /** The far side's answer to a message. */
  readonly add: (answer: tl.TypeUpdates) => void
  /** The library hears of all that waits, as it must before it hears of what came later. */
  readonly handOver: () => void
}

/** An open connection, with what sending over it needs. */
export interface OpenAccount extends LiveConnection {
  readonly client: TelegramClient
  readonly sent: SentMessages
  readonly usernames: Usernames
  readonly ownChanges: OwnChanges
  /** The person has read up to that message. */
  readonly hasRead: (peerId: number, upTo: number) => void
  /** Takes note of the far side's word, which ends the account's session. */
  readonly ended: (reason: ClosedReason) => void
  readonly questions: Questions
}

/** So many unread messages of one person are remembered. */
const mostUnread = 200

/** Of so many people is known how far they have read, in case the answer to a message comes behind that. */
const mostReaders = 1000

type Unread = Array<readonly [messageId: number, transportId: TransportId]>

/** One change at a time, since each goes on from what the one before has left. */
export const makeSentMessages = (
  { later, read }: Pick<Remembering, "later" | "read">,
  isRead: (transportId: TransportId) => void,
): SentMessages => {
  const readers = new Map<number, number>()
  const hasReadUpTo = (peerId: number, messageId: number) => {
    const before = readers.get(peerId) ?? 0
    readers.delete(peerId)
    readers.set(peerId, Math.max(before, messageId))
    const [oldest] = readers.keys()
    if (readers.size > mostReaders && oldest !== undefined) readers.delete(oldest)
  }
  /** What waits to be written, by person. */
  const changed = new Map<number, Unread>()
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <A>(change: () => Promise<A>): Promise<A> => {
    const done = last.then(change)
    last = done.catch(() => undefined)
    return done
  }
  const unreadOf = async (peerId: number): Promise<Unread> => {
    const unread = changed.get(peerId)
    if (unread !== undefined) return unread
    const text = await read(sentType, String(peerId))
    return text === null ? [] : (JSON.parse(text) as Unread)
  }
  const keep = (peerId: number, unread: Unread) => {
    changed.set(peerId, unread)
    later(sentType, String(peerId), () => {
      changed.delete(peerId)
      return unread.length === 0 ? null : JSON.stringify(unread)
    })
  }
  return {
    add: (peerId, messageId, transportId) => {
      inTurn(async () => {
        if (messageId <= (readers.get(peerId) ?? 0)) return isRead(transportId)
        const unread = await unreadOf(peerId)
        unread.push([messageId, transportId])
        if (unread.length > mostUnread) unread.shift()
        keep(peerId, unread)
      }).catch(() => undefined)
    },
    readUpTo: (peerId, messageId) =>
      inTurn(async () => {
        hasReadUpTo(peerId, messageId)
        const unread = await unreadOf(peerId)
        const found = unread.filter(([id]) => id <= messageId)
        if (found.length === 0) return []
        keep(
          peerId,
          unread.filter(([id]) => id > messageId),
        )
        return found.map(([, transportId]) => transportId)
      }),
  }
}

/** The library hears of the account's own messages so late at the latest, in real milliseconds. */
const ownMillis = 1000

/** One after the other they are one step for the library, which takes as long for it as for any other. */
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
    client.handleClientUpdate({
      _: "updates",
      updates: [{ _: "mtcute.dummyUpdate", channelId: 0, pts, ptsCount }],
      users: [],
      chats: [],
      date,
      seq: 0,
    })
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

// Connecting one account. The library connects again by itself; what is done here is to see how the
// connection stands, to ask at each new one whether the session still holds (the far side does not say
// so by itself), to hand over what was read, and to tell when the far side has ended the session.

/** How long others wait for a number that is being connected, in real time. */
const placeMillis = 10_000

type AccountEvent =
  /** What the far side says of the account's box is heard from now on. */
  | { readonly _tag: "Listening" }
  /** The library could not begin. */
  | { readonly _tag: "Failed" }
  /** The connection is there, at first or again. */
  | { readonly _tag: "Usable" }
  | { readonly _tag: "Lost" }
  | { readonly _tag: "Read"; readonly peerId: number; readonly upTo: number }
  /** The answer to a message came behind the word that it was read. */
  | { readonly _tag: "ReadBefore"; readonly transportId: TransportId }
  | { readonly _tag: "Ended"; readonly reason: ClosedReason }

/** What the library says, as events. */
const eventsOf = Effect.fnUntraced(function* (client: TelegramClient, heard: () => void) {
  const events = yield* Queue.unbounded<AccountEvent>()
  client.onConnectionState.add((state) => {
    if (state === "connected") Queue.offerUnsafe(events, { _tag: "Usable" })
    if (state === "connecting" || state === "offline") Queue.offerUnsafe(events, { _tag: "Lost" })
  })
  client.onServerUpdate.add(heard)
  client.onRawUpdate.add(({ update }) => {
    if (update._ !== "updateReadHistoryOutbox" || update.peer._ !== "peerUser") return
    const { userId } = update.peer
    Queue.offerUnsafe(events, { _tag: "Read", peerId: userId, upTo: update.maxId })
  })
  return events
})

/** Asks the far side for the state of the account's box: why it does not say, or null when it does or did not answer. */
const checkSession = (client: TelegramClient, heard: () => void) =>
  // An answer that names no people: those would be written to the vault each time.
  asked((abortSignal) => client.call({ _: "updates.getState" }, { abortSignal })).pipe(
    Effect.map(() => {
      heard()
      return null
    }),
    Effect.catch((failed) => Effect.succeed(endingOf(failed))),
  )

const ends = (reason: ClosedReason | "failed"): AfterClose =>
  reason === "failed" ? { _tag: "Again" } : { _tag: "Stop", reason, wipe: isWorthless(reason) }

/** How accounts are connected: each connection lasts until the far side has ended the session. */
const makeConnect = Effect.fnUntraced(function* (settings: TelegramSettings) {
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
  const clock = yield* Clock.Clock
  const run = Effect.runPromiseWith(yield* Effect.context<never>())

  const read = Effect.fnUntraced(function* (
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

  /** Takes what the connection says until the session is over; why it is. */
  const listen = Effect.fnUntraced(function* (
    live: LiveNumber<OpenAccount>,
    connecting: Connecting<OpenAccount>,
    client: TelegramClient,
    kept: Pick<OpenAccount, "usernames"> & { readonly place: Remembering },
    phone: string,
  ) {
    let lastWordAt: number | null = null
    const heard = () => {
      lastWordAt = clock.currentTimeMillisUnsafe()
    }
    const ownChanges = makeOwnChanges(client)
    yield* Effect.addFinalizer(() => Effect.sync(ownChanges.handOver))
    const events = yield* eventsOf(client, () => {
      heard()
      ownChanges.handOver()
    })
    const sent = makeSentMessages(kept.place, (transportId) => {
      Queue.offerUnsafe(events, { _tag: "ReadBefore", transportId })
    })
    const connects = asked(() => client.connect()).pipe(
      Effect.andThen(asked(() => client.startUpdatesLoop())),
      Effect.as<AccountEvent>({ _tag: "Listening" }),
      Effect.catch((failed) =>
        Effect.as(
          logFailure("an account is connected to again, since the library could not begin", failed),
          { _tag: "Failed" } as const,
        ),
      ),
      Effect.flatMap((event) => Queue.offer(events, event)),
    )
    yield* Effect.forkScoped(connects)
    // A question that stays without an answer is what makes the library notice a dead connection soon.
    const asks = Effect.gen(function* () {
      yield* sleepInRealTime(settings.keepAliveMillis)
      const reason = live.open === null ? null : yield* checkSession(client, heard)
      if (reason !== null) yield* Queue.offer(events, { _tag: "Ended", reason })
    })
    yield* Effect.forkScoped(Effect.forever(asks))
    let [isThere, isListening, wasThere] = [false, false, false]
    /** Once the connection is there and all is heard; why the session is over, if it is. */
    const opens = Effect.gen(function* () {
      if (!isThere || !isListening || live.open !== null) return null
      const reason = yield* checkSession(client, heard)
      if (reason !== null) return reason
      // What came while the connection was away is asked for: a far side that was restarted does not tell.
      ownChanges.handOver()
      if (wasThere) client.handleClientUpdate({ _: "updatesTooLong" }, false)
      wasThere = true
      const over = yield* Deferred.make<void>()
      const questions = makeQuestions()
      yield* Deferred.await(over).pipe(
        Effect.ensuring(Effect.sync(questions.end)),
        Effect.forkScoped({ startImmediately: true }),
      )
      const account: OpenAccount = {
        client,
        sent,
        usernames: kept.usernames,
        hasRead: (peerId, upTo) => void Queue.offerUnsafe(events, { _tag: "Read", peerId, upTo }),
        over,
        ownChanges,
        questions,
        lastWordAt: () => lastWordAt,
        ended: (why) => void Queue.offerUnsafe(events, { _tag: "Ended", reason: why }),
      }
      yield* connecting.opened(account, phone)
      return null
    })
    for (;;) {
      const event = yield* Queue.take(events)
      switch (event._tag) {
        case "Usable":
        case "Listening": {
          if (event._tag === "Usable") isThere = true
          else isListening = true
          const reason = yield* opens
          if (reason !== null) return reason
          break
        }
        case "Lost":
          isThere = false
          yield* connecting.lost
          break
        case "Read":
          yield* Effect.forkScoped(read(event, sent, live, connecting))
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
          return "failed"
        case "Ended":
          return event.reason
      }
    }
  })

  return Effect.fnUntraced(function* (
    live: LiveNumber<OpenAccount>,
    connecting: Connecting<OpenAccount>,
  ) {
    const { numberId } = live
    const { application } = settings
    const text = yield* vault.credentials(numberId)
    const credentials = text === null ? null : fromText(text)
    // A login goes on, or nothing can be connected without an application.
    if (text === null || credentials?.kind !== "account" || application === null) return null
    yield* reseal(vault, numberId, text)
    const { leavePlace, proxy } = yield* connecting.ready
    // What was sent last is written when the number is already let go, and no other worker has it yet.
    const mayFinish = () => ownership.finishes(numberId)
    const hold = makeHold(mayFinish)
    yield* Effect.addFinalizer(() => Effect.sync(hold.letGo))
    const place = remembering(keptKeyPlace(vault, numberId, run, hold, connecting.wrote))
    yield* Effect.addFinalizer(() => Effect.promise(() => place.end(mayFinish())))
    const storage = makeStorage(place)
    const client = yield* makeClient(settings, {
      application,
      storage,
      proxy,
      drawn: yield* Random.next,
      mayWrite: () => ownership.owns(numberId),
    })
    // While the far side is away the library goes on trying, and keeps no other number from it.
    yield* Effect.forkScoped(Effect.andThen(sleepInRealTime(placeMillis), leavePlace))
    const kept = { place, usernames: makeUsernames(place, storage.peers) }
    return ends(yield* listen(live, connecting, client, kept, credentials.phone))
  })
})

// The connections of accounts that are logged in, and what logins have left.

export class Sessions extends Context.Service<Sessions, LiveNumbers<OpenAccount>>()(
  "transport-telegram/Sessions",
) {
  static readonly layer = (settings: TelegramSettings) => Layer.effect(Sessions, make(settings))
}

const make = Effect.fnUntraced(function* (settings: TelegramSettings) {
  const vault = yield* SessionVault
  const logins = makeLoginClients(settings, yield* NumberProxies)
  const heldLogins = makeHeldLogins(vault)

  /** What a login may have left when its process died, or when it was given up, is logged out. */
  const endLogin = Effect.fnUntraced(function* (
    numberId: NumberId,
    text: string,
    login: LoginCredentials,
    now: number,
  ) {
    const stepUntil = now + heldMillis
    const held = yield* heldLogins.take(numberId, text, login, { ...login, stepUntil })
    if (held === null) return
    if (!(yield* heldLogins.whileHeld(held, logins.end(numberId, login.keys)))) {
      yield* heldLogins.goOn(held, { ...login, stepUntil: null })
    } else if (login.isCancelled) {
      yield* heldLogins.forget(numberId, held.text)
    } else {
      yield* heldLogins.goOn(held, { ...login, keys: [], mayBeIn: false, stepUntil: null })
    }
  })

  return yield* makeLiveNumbers({
    platform: "telegram",
    settings,
    keptKeys,
    connect: yield* makeConnect(settings),
    // Any process may log an account in.
    remembersWiped: false,
    meansLoggedOut: ["logged_out", "replaced", "banned"],
    // A word that is not known, by which an account is refused as if it were not logged in.
    refusesLogOut: ["restricted"],
    logOut: ({ client }: OpenAccount) =>
      asked(() => client.call({ _: "auth.logOut" })).pipe(
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
