/**
 * The connections of linked numbers: each is kept open for as long as the service runs, opened again
 * when it is lost, and given up when the far side says so. Numbers begin side by side a few at a
 * time, so that many of them load neither this machine nor the far side at once.
 */
import { NumberOwnership, SessionVault } from "@messaging-service/core/ports"
import type { NumberId, TransportEvent, TransportId } from "@messaging-service/core/ports"
import {
  Clock,
  Context,
  Deferred,
  Effect,
  FiberMap,
  Layer,
  Queue,
  Random,
  References,
  Semaphore,
} from "effect"
import { digitsOf } from "./addresses.ts"
import { keptKeys, openDevice, sentType } from "./authState.ts"
import { afterClose, pauseMillis } from "./closing.ts"
import type { ClosedReason } from "./closing.ts"
import { openConnection } from "./Connection.ts"
import type { ConnectionEvent } from "./Connection.ts"
import { makeGroups } from "./groups.ts"
import { messageFromText } from "./content.ts"
import { takePlace, tickOf } from "./OpenSession.ts"
import type { Held, OpenSession, SessionStatus } from "./OpenSession.ts"
import type { WhatsAppSettings } from "./settings.ts"

export class Sessions extends Context.Service<
  Sessions,
  {
    /** Keeps all linked numbers connected until interrupted, and looks after removed ones. */
    readonly run: Effect.Effect<never>
    readonly events: Queue.Dequeue<TransportEvent>
    /**
     * The number's open session, waited for while it is being opened; why there is none; null when
     * the number is not linked.
     */
    open(numberId: NumberId): Effect.Effect<OpenSession | ClosedReason | null>
    /**
     * Connects a number that was just linked, and tells how that ended. What becomes of it is told to
     * no one else before `announce`.
     */
    connectLinked(numberId: NumberId): Effect.Effect<OpenSession | ClosedReason>
    announce(numberId: NumberId): Effect.Effect<void>
    /** Ends the number's connection; its credentials stay. */
    release(numberId: NumberId): Effect.Effect<void>
    /** Logs the device out at the far side, as far as that answers, and wipes its credentials. */
    logOut(numberId: NumberId): Effect.Effect<void>
    status(numberId: NumberId): SessionStatus | null
  }
>()("transport-whatsapp/Sessions") {
  static readonly layer = (settings: WhatsAppSettings) => Layer.effect(Sessions, make(settings))
}

/** How often it is asked whether numbers are this worker's, and which are linked and removed. */
const askMillis = 1000
const lookMillis = 30_000

/** How long a goodbye to the far side may take. */
const goodbyeMillis = 5000

/** A connection that stood for less is one more failure: the next pause is longer. */
const steadyMillis = 60_000

/** How often the keys of a number are trimmed, beside each time that it connects. */
const trimMillis = 60 * 60_000

const make = Effect.fnUntraced(function* (settings: WhatsAppSettings) {
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
  const events = yield* Queue.unbounded<TransportEvent>()
  const fibers = yield* FiberMap.make<NumberId>()
  const starts = yield* Semaphore.make(settings.startsAtOnce)
  const context = yield* Effect.context<never>()
  const run = Effect.runPromiseWith(context)
  const held = new Map<NumberId, Held>()

  const tell = (event: TransportEvent) => {
    Queue.offerUnsafe(events, event)
  }

  const change = (numberId: NumberId, of: Partial<SessionStatus>) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const known = held.get(numberId)
      if (known === undefined) return
      const changes = of.state !== undefined && of.state !== known.status.state
      known.status = { ...known.status, ...(changes ? { since: now } : {}), ...of }
    })

  const trim = Effect.fnUntraced(
    function* (numberId: NumberId, state: Held) {
      const now = yield* Clock.currentTimeMillis
      if (now - state.trimmedAt < trimMillis) return
      state.trimmedAt = now
      for (const [type, most] of Object.entries(keptKeys)) yield* vault.trim(numberId, type, most)
    },
    Effect.catch((error) => Effect.logWarning("keys are trimmed another time", error)),
  )

  const sentMessage = (numberId: NumberId, id: string) =>
    run(
      Effect.map(vault.keys(numberId, sentType, [id]), (found) => messageFromText(found.get(id))),
    ).catch(() => undefined)

  const close = (state: Held, session: OpenSession) => {
    if (state.open !== session) return
    state.status = { ...state.status, lastSeenAt: session.connection.lastWordAt() }
    state.open = null
    state.turn = Deferred.makeUnsafe()
  }

  /** Takes what one connection says until it is over; what it ended with. */
  const listen = (
    numberId: NumberId,
    state: Held,
    session: OpenSession,
    save: Effect.Effect<void>,
    leavePlace: Effect.Effect<void>,
  ) =>
    Effect.gen(function* () {
      const { connection, groups } = session
      let wasOpen = false
      let isDirty = false
      const take = Effect.fnUntraced(function* (event: ConnectionEvent) {
        switch (event._tag) {
          case "CredentialsChanged":
            isDirty = true
            return
          case "Opened": {
            wasOpen = true
            state.open = session
            yield* leavePlace
            yield* change(numberId, { state: "connected", reason: null })
            yield* Deferred.succeed(state.turn, session)
            const phone = digitsOf(connection.credentials.me?.id ?? "")
            if (state.told) {
              tell({
                _tag: "ConnectionChanged",
                numberId,
                status: "connected",
                phone,
                reason: null,
              })
            }
            yield* Effect.logInfo("number connected")
            return
          }
          case "GroupsChanged":
            groups.forget()
            return
          case "Receipt": {
            const status = tickOf(event, connection)
            if (status === null) return
            for (const id of event.ids) {
              tell({ _tag: "Tick", transportId: id as TransportId, status })
            }
            return
          }
        }
      })
      for (;;) {
        const event = yield* Queue.take(connection.events)
        if (event._tag === "Closed") {
          if (isDirty) yield* save
          return { closed: event.closed, wasOpen }
        }
        yield* take(event)
        // Many changes in a row are one write.
        if (isDirty && Queue.sizeUnsafe(connection.events) === 0) {
          isDirty = false
          yield* save
        }
      }
    })

  const giveUp = Effect.fnUntraced(function* (
    numberId: NumberId,
    state: Held,
    reason: ClosedReason,
    wipe: boolean,
  ) {
    yield* Effect.logWarning(`number disconnected: ${reason}`)
    yield* change(numberId, { state: "disconnected", reason })
    if (wipe) yield* Effect.ignore(vault.wipe(numberId))
    yield* Deferred.succeed(state.turn, reason)
    if (state.told) {
      tell({ _tag: "ConnectionChanged", numberId, status: "disconnected", phone: null, reason })
    }
  })

  /** One connection from its beginning to its end; null when the number is not linked any more. */
  const connectOnce = (numberId: NumberId, state: Held) =>
    Effect.scoped(
      Effect.gen(function* () {
        const device = yield* openDevice(vault, numberId, run)
        if (device === null) return null
        yield* trim(numberId, state)
        yield* Effect.addFinalizer(() => Effect.sync(device.letGo))
        const save = Effect.promise(() => device.saveCredentials()).pipe(
          Effect.catchDefect((error) => Effect.logError("credentials were not saved", error)),
        )
        const leavePlace = yield* takePlace(starts)
        const connection = yield* openConnection(settings, {
          auth: device.auth,
          device: [settings.deviceName, "Chrome", "1.0"],
          qrMillis: null,
          sentMessage: (id) => sentMessage(numberId, id),
        })
        const session: OpenSession = {
          connection,
          groups: makeGroups(connection.socket),
          addresses: new Map(),
        }
        return yield* listen(numberId, state, session, save, leavePlace).pipe(
          Effect.ensuring(Effect.sync(() => close(state, session))),
        )
      }),
    )

  const keepConnected = (numberId: NumberId, state: Held) =>
    Effect.gen(function* () {
      let failures = 0
      let badSessions = 0
      for (;;) {
        yield* change(numberId, { state: "connecting" })
        const end = yield* connectOnce(numberId, state)
        if (end === null) {
          yield* giveUp(numberId, state, "logged_out", false)
          return
        }
        const { closed, wasOpen } = end
        const stood = (yield* Clock.currentTimeMillis) - state.status.since
        if (wasOpen && stood >= steadyMillis) failures = 0
        badSessions = closed.code === 500 && !wasOpen ? badSessions + 1 : 0
        const after = afterClose(closed, badSessions)
        yield* Effect.logInfo(`connection ended with ${closed.code}`)
        yield* change(numberId, { reconnects: state.status.reconnects + 1 })
        if (after._tag === "Restart" && failures === 0) {
          failures++
          continue
        }
        switch (after._tag) {
          case "Stop":
            yield* giveUp(numberId, state, after.reason, after.wipe)
            return
          case "Pause":
            yield* change(numberId, { state: "waiting", reason: after.reason })
            yield* Effect.sleep(after.millis)
            continue
          case "Restart":
          case "Again": {
            yield* change(numberId, { state: "waiting", reason: "connection_lost" })
            const drawn = yield* Random.next
            yield* Effect.sleep(
              pauseMillis(failures, drawn, {
                first: settings.firstPauseMillis,
                longest: settings.longestPauseMillis,
              }),
            )
            failures++
          }
        }
      }
    }).pipe(
      Effect.catch((error) =>
        Effect.andThen(
          Effect.logWarning("a number's session could not be read, and is tried again", error),
          Effect.andThen(
            Effect.sync(() => held.delete(numberId)),
            Deferred.succeed(state.turn, "connection_lost"),
          ),
        ),
      ),
      Effect.annotateLogs({ number: numberId }),
    )

  const start = Effect.fnUntraced(function* (numberId: NumberId, told: boolean) {
    const state: Held = {
      status: {
        state: "connecting",
        reason: null,
        since: yield* Clock.currentTimeMillis,
        lastSeenAt: null,
        reconnects: 0,
      },
      open: null,
      turn: yield* Deferred.make<OpenSession | ClosedReason>(),
      told,
      trimmedAt: 0,
    }
    held.set(numberId, state)
    // It outlives whoever asked for it first, and lives by the service's own clock.
    const kept = keepConnected(numberId, state).pipe(
      Effect.provideService(References.CurrentLogAnnotations, {}),
      Effect.provideContext(context),
    )
    yield* FiberMap.run(fibers, numberId, kept)
    return state
  })

  const release = Effect.fnUntraced(function* (numberId: NumberId) {
    yield* FiberMap.remove(fibers, numberId)
    held.delete(numberId)
  })

  const releaseAll = Effect.suspend(() => {
    held.clear()
    return FiberMap.clear(fibers)
  })

  const isHolder = Effect.map(ownership.owned, (owned) => owned === "all")

  const logOut = Effect.fnUntraced(function* (numberId: NumberId) {
    const open = held.get(numberId)?.open ?? null
    if (open !== null) {
      yield* Effect.promise(() => open.connection.socket.logout().catch(() => undefined)).pipe(
        Effect.andThen(Deferred.await(open.connection.over)),
        Effect.timeoutOption(goodbyeMillis),
      )
    }
    yield* release(numberId)
    yield* Effect.ignore(vault.wipe(numberId))
  })

  const settled = (state: Held) =>
    Effect.suspend(() => {
      // A connection may be over before that was heard from it.
      const { open } = state
      if (open !== null && Deferred.isDoneUnsafe(open.connection.over)) close(state, open)
      return state.open === null ? Deferred.await(state.turn) : Effect.succeed(state.open)
    })

  /** Connects what is linked, and logs out what was removed. */
  const look = Effect.gen(function* () {
    for (const { numberId, platform, removed, status } of yield* vault.list) {
      if (platform !== "whatsapp") continue
      const state = held.get(numberId)
      if (removed) yield* Effect.forkChild(removeNumber(numberId))
      else if (state !== undefined) yield* trim(numberId, state)
      else if (status !== "connecting") yield* start(numberId, true)
    }
  }).pipe(Effect.catch((error) => Effect.logWarning("linked numbers are read later", error)))

  /** Its goodbye needs a connection. */
  const removeNumber = Effect.fnUntraced(function* (numberId: NumberId) {
    const state = held.get(numberId) ?? (yield* start(numberId, false))
    state.told = false
    yield* Effect.timeoutOption(settled(state), goodbyeMillis)
    yield* logOut(numberId)
  })

  return Sessions.of({
    events: Queue.asDequeue(events),
    run: Effect.gen(function* () {
      let nextLook = 0
      for (;;) {
        const now = yield* Clock.currentTimeMillis
        if (!(yield* isHolder)) {
          nextLook = 0
          yield* releaseAll
        } else if (now >= nextLook) {
          nextLook = now + lookMillis
          yield* look
        }
        yield* Effect.sleep(askMillis)
      }
    }).pipe(Effect.ensuring(releaseAll)),
    open: Effect.fnUntraced(function* (numberId) {
      // Another worker has its connection.
      if (!(yield* isHolder)) return yield* Effect.never
      const known = held.get(numberId)
      if (known !== undefined) {
        return known.status.state === "disconnected" ? known.status.reason : yield* settled(known)
      }
      const linked = yield* Effect.result(vault.credentials(numberId))
      if (linked._tag === "Failure") return "connection_lost"
      if (linked.success === null) return null
      return yield* settled(held.get(numberId) ?? (yield* start(numberId, true)))
    }),
    connectLinked: Effect.fnUntraced(function* (numberId) {
      yield* release(numberId)
      return yield* settled(yield* start(numberId, false))
    }),
    announce: (numberId) =>
      Effect.sync(() => {
        const known = held.get(numberId)
        if (known !== undefined) known.told = true
      }),
    release,
    logOut,
    status: (numberId) => {
      const known = held.get(numberId)
      if (known === undefined) return null
      return known.open === null
        ? known.status
        : { ...known.status, lastSeenAt: known.open.connection.lastWordAt() }
    },
  })
})
