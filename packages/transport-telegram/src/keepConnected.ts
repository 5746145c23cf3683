/**
 * Connecting one account. The library connects again by itself; what is done here is to see how the
 * connection stands, to ask at each new one whether the session still holds (the far side does not say
 * so by itself), to hand over what was read, and to tell when the far side has ended the session.
 */
import {
  NumberOwnership,
  SessionVault,
  logTrouble,
  makeHold,
  sleepInRealTime,
} from "@messaging-service/core"
import type {
  AfterClose,
  ClosedReason,
  Connecting,
  LiveNumber,
  TransportId,
} from "@messaging-service/core"
import type { TelegramClient } from "@mtcute/node"
import { Clock, Deferred, Effect, Queue, Random } from "effect"
import { asked, makeClient, makeQuestions } from "./Client.ts"
import { endingOf, isWorthless } from "./closing.ts"
import { fromText } from "./credentials.ts"
import { makeOwnChanges, makeSentMessages } from "./OpenAccount.ts"
import type { OpenAccount, SentMessages } from "./OpenAccount.ts"
import { remembering } from "./remembering.ts"
import type { Remembering } from "./remembering.ts"
import type { TelegramSettings } from "./settings.ts"
import { keptKeyPlace, makeStorage, reseal } from "./storage.ts"
import { makeUsernames } from "./usernames.ts"

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
export const makeConnect = Effect.fnUntraced(function* (settings: TelegramSettings) {
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
          logTrouble("an account is connected to again, since the library could not begin", failed),
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
