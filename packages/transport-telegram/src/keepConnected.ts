/**
 * Keeping one account connected. The library connects again by itself; what is done here is to see how
 * the connection stands, to ask at each new one whether the session still holds (the far side does not
 * say so by itself), to hand over what was read, and to give the session up when the far side says so.
 */
import {
  NumberMoved,
  NumberOwnership,
  NumberProxies,
  SessionVault,
  sleepInRealTime,
} from "@messaging-service/core/ports"
import type { NumberId, TakeEvent } from "@messaging-service/core/ports"
import type { TelegramClient } from "@mtcute/node"
import { Clock, Deferred, Effect, Queue, Random, Redacted, Semaphore } from "effect"
import { makeClient, asked } from "./Client.ts"
import { endingOf, isWorthless } from "./closing.ts"
import type { ClosedReason } from "./closing.ts"
import { fromText } from "./credentials.ts"
import { closeAccount, makeSentMessages } from "./OpenAccount.ts"
import type { AccountStatus, Held, OpenAccount, SentMessages } from "./OpenAccount.ts"
import type { TelegramSettings } from "./settings.ts"
import { keptKeyPlace, keptKeys, makeStorage, reseal } from "./storage.ts"

/** How often the keys of a number are trimmed, beside each time that it begins or has written so many. */
const trimMillis = 60 * 60_000
const trimKeys = 10_000

/** Between two tries of a store that does not answer, in real time. */
const againMillis = 250

/** How long others wait for a number that is being connected. */
const placeMillis = 10_000

/** Asks until the store answers; what it says of a number that moved is an answer. */
export const patiently = <A, E>(
  work: Effect.Effect<A, E>,
): Effect.Effect<A, Extract<E, NumberMoved>> =>
  Effect.retry(
    Effect.tapError(work, () => sleepInRealTime(againMillis)),
    { until: (error): error is Extract<E, NumberMoved> => error instanceof NumberMoved },
  )

type AccountEvent =
  /** The connection is there, at first or again. */
  | { readonly _tag: "Usable" }
  | { readonly _tag: "Lost" }
  | { readonly _tag: "Read"; readonly peerId: number; readonly upTo: number }
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

export interface Keeper {
  /** Keeps the number connected until it is over for good, or its session could not be read. */
  keep(numberId: NumberId, state: Held): Effect.Effect<"over" | "unreadable">
  /** Drops the keys above the number that is kept: once an hour, and after many writes. */
  trim(numberId: NumberId, state: Held): Effect.Effect<void>
}

export const makeKeeper = Effect.fnUntraced(function* (
  settings: TelegramSettings,
  take: TakeEvent,
) {
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
  const proxies = yield* NumberProxies
  const starts = yield* Semaphore.make(settings.startsAtOnce)
  const clock = yield* Clock.Clock
  const run = Effect.runPromiseWith(yield* Effect.context<never>())

  const change = (state: Held, of: Partial<AccountStatus>) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const changes = of.state !== undefined && of.state !== state.status.state
      state.status = { ...state.status, ...(changes ? { since: now } : {}), ...of }
    })

  const tell = (
    numberId: NumberId,
    state: Held,
    news:
      | { readonly status: "connected"; readonly phone: string; readonly reason: null }
      | { readonly status: "disconnected"; readonly phone: null; readonly reason: ClosedReason },
  ) =>
    Effect.suspend(() =>
      state.leaves ? Effect.void : take({ _tag: "ConnectionChanged", numberId, ...news }),
    )

  const trim = Effect.fnUntraced(
    function* (numberId: NumberId, state: Held) {
      const now = yield* Clock.currentTimeMillis
      if (now - state.trimmedAt < trimMillis && state.wroteSince < trimKeys) return
      state.trimmedAt = now
      state.wroteSince = 0
      for (const [type, most] of Object.entries(keptKeys)) yield* vault.trim(numberId, type, most)
    },
    Effect.catch((error) => Effect.logWarning("keys are trimmed another time", error)),
  )

  /** No connection is opened again by itself. What is worth nothing any more is wiped once that is told. */
  const giveUp = Effect.fnUntraced(function* (
    numberId: NumberId,
    state: Held,
    reason: ClosedReason,
  ) {
    // Another worker has the number by now; what is true is told there.
    if (!ownership.owns(numberId)) return yield* Effect.never
    yield* Effect.logWarning(`number disconnected: ${reason}`)
    closeAccount(state)
    yield* change(state, { state: "disconnected", reason })
    yield* Deferred.succeed(state.turn, reason)
    yield* tell(numberId, state, { status: "disconnected", phone: null, reason })
    // The same, found out by the store.
    if (isWorthless(reason)) {
      yield* patiently(vault.wipe(numberId)).pipe(Effect.catch(() => Effect.never))
    }
  })

  const opened = Effect.fnUntraced(function* (
    numberId: NumberId,
    state: Held,
    open: OpenAccount,
    phone: string,
  ) {
    state.open = open
    state.lostAt = null
    yield* change(state, { state: "connected", reason: null })
    yield* Deferred.succeed(state.turn, open)
    yield* Effect.logInfo("number connected")
    yield* Effect.forkScoped(tell(numberId, state, { status: "connected", phone, reason: null }))
  })

  /** A number that stays away for long is not connected, whatever it will be. */
  const lost = Effect.fnUntraced(function* (numberId: NumberId, state: Held) {
    closeAccount(state)
    const { state: before } = state.status
    if (before === "connected") {
      yield* change(state, { reconnects: state.status.reconnects + 1 })
    }
    yield* change(state, { state: "waiting", reason: "connection_lost" })
    if (state.lostAt !== null) return
    const lostAt = yield* Clock.currentTimeMillis
    state.lostAt = lostAt
    const tellLater = Effect.gen(function* () {
      yield* Effect.sleep(settings.lostMillis)
      if (state.lostAt !== lostAt) return
      const reason = "connection_lost"
      yield* tell(numberId, state, { status: "disconnected", phone: null, reason })
    })
    yield* Effect.forkScoped(tellLater)
  })

  const read = Effect.fnUntraced(function* (
    { peerId, upTo }: Extract<AccountEvent, { readonly _tag: "Read" }>,
    sent: SentMessages,
  ) {
    const ids = yield* Effect.promise(() => sent.readUpTo(peerId, upTo))
    for (const transportId of ids) yield* take({ _tag: "Tick", transportId, status: "read" })
  })

  /** Takes what the connection says until the session is over; why it is. */
  const listen = Effect.fnUntraced(function* (
    numberId: NumberId,
    state: Held,
    client: TelegramClient,
    sent: SentMessages,
    phone: string,
  ) {
    const heard = () => {
      state.lastWordAt = clock.currentTimeMillisUnsafe()
    }
    const events = yield* eventsOf(client, heard)
    yield* Effect.addFinalizer(() => Effect.sync(() => closeAccount(state)))
    const connects = asked(() => client.connect()).pipe(
      Effect.andThen(asked(() => client.startUpdatesLoop())),
      Effect.ignore,
    )
    yield* Effect.forkScoped(connects)
    // A question that stays without an answer is what makes the library notice a dead connection soon.
    const asks = Effect.gen(function* () {
      yield* sleepInRealTime(settings.keepAliveMillis)
      const reason = state.open === null ? null : yield* checkSession(client, heard)
      if (reason !== null) yield* Queue.offer(events, { _tag: "Ended", reason })
    })
    yield* Effect.forkScoped(Effect.forever(asks))
    for (;;) {
      const event = yield* Queue.take(events)
      switch (event._tag) {
        case "Usable": {
          if (state.open !== null) break
          const reason = yield* checkSession(client, heard)
          if (reason !== null) return reason
          const ended = (why: ClosedReason) =>
            void Queue.offerUnsafe(events, { _tag: "Ended", reason: why })
          const over = yield* Deferred.make<void>()
          yield* opened(numberId, state, { client, sent, over, ended, waiting: 0 }, phone)
          break
        }
        case "Lost":
          yield* lost(numberId, state)
          break
        case "Read":
          yield* Effect.forkScoped(read(event, sent))
          break
        case "Ended":
          return event.reason
      }
    }
  })

  const keepOpen = (numberId: NumberId, state: Held) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { application } = settings
        const text = yield* vault.credentials(numberId)
        const credentials = text === null ? null : fromText(text)
        // A login goes on, or nothing can be connected without an application.
        if (text === null || credentials?.kind !== "account" || application === null) return null
        yield* reseal(vault, numberId, text)
        yield* trim(numberId, state)
        const proxy = yield* proxies.of(numberId)
        let isHeld = true
        const place = keptKeyPlace(vault, numberId, run, {
          isHeld: () => isHeld,
          isOwned: () => ownership.owns(numberId),
          wrote: (keys) => {
            state.wroteSince += keys
          },
        })
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            isHeld = false
          }),
        )
        const client = yield* makeClient(settings, {
          application,
          storage: makeStorage(place),
          proxy: proxy === null ? null : Redacted.value(proxy),
          drawn: yield* Random.next,
          mayWrite: () => ownership.owns(numberId),
        })
        const waitsForPlace = Effect.raceFirst(
          Effect.asVoid(Deferred.await(state.turn)),
          sleepInRealTime(placeMillis),
        )
        yield* Effect.forkScoped(starts.withPermits(1)(waitsForPlace))
        return yield* listen(numberId, state, client, makeSentMessages(place), credentials.phone)
      }),
    )

  const keep = Effect.fnUntraced(
    function* (numberId: NumberId, state: Held) {
      yield* change(state, { state: "connecting", reason: null })
      const reason = yield* keepOpen(numberId, state)
      if (reason !== null) yield* giveUp(numberId, state, reason)
      return "over" as const
    },
    Effect.catch((error) =>
      Effect.as(
        Effect.logWarning("a number's session could not be read, and is tried again", error),
        "unreadable" as const,
      ),
    ),
    (effect, numberId) => Effect.annotateLogs(effect, { number: numberId }),
  )

  const keeper: Keeper = { keep, trim }
  return keeper
})
