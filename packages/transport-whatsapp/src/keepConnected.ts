/**
 * Keeping one number connected: a connection is opened, listened to until it is over, and opened again
 * as its end demands. What it says by itself is handed over until it is stored; only then does the far
 * side hear that it has come.
 */
import {
  logTrouble,
  NumberMoved,
  NumberOwnership,
  NumberProxies,
  SentTexts,
  SessionVault,
  sleepInRealTime,
} from "@messaging-service/core/ports"
import type { NumberId, TakeEvent, TransportId } from "@messaging-service/core/ports"
import { Clock, Deferred, Effect, Queue, Random, Redacted, Semaphore } from "effect"
import { digitsOf } from "./addresses.ts"
import { isUnconfirmed, keptKeys, openDevice, sentType } from "./authState.ts"
import { afterClose, pauseMillis } from "./closing.ts"
import type { AfterClose, Closed, ClosedReason } from "./closing.ts"
import { openConnection } from "./Connection.ts"
import type { ConnectionEvent } from "./Connection.ts"
import { messageFromText, textContent } from "./content.ts"
import { makeGroups } from "./groups.ts"
import { closeSession, takePlace, tickOf } from "./OpenSession.ts"
import type { Held, OpenSession, SessionStatus } from "./OpenSession.ts"
import type { WhatsAppSettings } from "./settings.ts"

/** A connection that stood for less is one more failure: the next pause is longer. */
const steadyMillis = 60_000

/** How often the keys of a number are trimmed, beside each time that it connects. */
const trimMillis = 60 * 60_000

/** Between two tries of a store that does not answer, in real time. */
const againMillis = 250

/** Asks until the store answers; what it says of a number that moved is an answer. */
export const patiently = <A, E>(
  work: Effect.Effect<A, E>,
): Effect.Effect<A, Extract<E, NumberMoved>> =>
  Effect.retry(
    Effect.tapError(work, () => sleepInRealTime(againMillis)),
    { until: (error): error is Extract<E, NumberMoved> => error instanceof NumberMoved },
  )

/** Saves what has changed, many changes in a row at once, until the store has it. */
const makeSaver = (save: Effect.Effect<void>) => {
  const turn = Semaphore.makeUnsafe(1)
  let isDirty = false
  const once = Effect.suspend(() => {
    isDirty = false
    return Effect.catchDefect(save, (defect) => {
      isDirty = true
      return Effect.andThen(
        logTrouble("credentials are saved again", defect, Effect.logError),
        sleepInRealTime(againMillis),
      )
    })
  })
  return {
    changed: () => {
      isDirty = true
    },
    isUnsaved: () => isDirty,
    /** Done once nothing is unsaved. */
    saved: turn.withPermits(1)(
      Effect.whileLoop({ while: () => isDirty, body: () => once, step: () => undefined }),
    ),
  }
}

export interface Keeper {
  /** Keeps the number connected until it is over for good, or its session could not be read. */
  keep(numberId: NumberId, state: Held): Effect.Effect<"over" | "unreadable">
  /** Drops the keys above the number that is kept, at most once an hour. */
  trim(numberId: NumberId, state: Held): Effect.Effect<void>
}

export const makeKeeper = Effect.fnUntraced(function* (
  settings: WhatsAppSettings,
  take: TakeEvent,
) {
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
  const proxies = yield* NumberProxies
  const texts = yield* SentTexts
  const starts = yield* Semaphore.make(settings.startsAtOnce)
  const run = Effect.runPromiseWith(yield* Effect.context<never>())

  const change = (state: Held, of: Partial<SessionStatus>) =>
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
      state.told ? take({ _tag: "ConnectionChanged", numberId, ...news }) : Effect.void,
    )

  const trim = Effect.fnUntraced(
    function* (numberId: NumberId, state: Held) {
      const now = yield* Clock.currentTimeMillis
      if (now - state.trimmedAt < trimMillis) return
      state.trimmedAt = now
      for (const [type, most] of Object.entries(keptKeys)) yield* vault.trim(numberId, type, most)
    },
    Effect.catch((error) => logTrouble("keys are trimmed another time", error)),
  )

  /**
   * A text stands in its message; what was uploaded, and what earlier versions kept of texts, in the vault.
   * A message that is not found now is not asked for again: the store is waited for.
   */
  const sentMessage = (numberId: NumberId, id: string) =>
    run(
      patiently(
        Effect.gen(function* () {
          const text = yield* texts.of(numberId, id as TransportId)
          if (text !== null) return textContent(text)
          const found = yield* vault.keys(numberId, sentType, [id])
          return messageFromText(found.get(id))
        }).pipe(Effect.catchTag("CannotOpen", () => Effect.succeed(undefined))),
      ),
    )

  /** Takes what one connection says until it is over; what it ended with. */
  const listen = Effect.fnUntraced(function* (
    numberId: NumberId,
    state: Held,
    session: OpenSession,
    { changed, isUnsaved, saved }: ReturnType<typeof makeSaver>,
    leavePlace: Effect.Effect<void>,
  ) {
    const { connection, groups } = session
    let wasOpen = false

    const opened = Effect.gen(function* () {
      wasOpen = true
      state.open = session
      state.lostAt = null
      yield* leavePlace
      yield* change(state, { state: "connected", reason: null })
      yield* Deferred.succeed(state.turn, session)
      yield* Effect.logInfo("number connected")
      const phone = digitsOf(connection.credentials.me?.id ?? "")
      yield* Effect.forkScoped(tell(numberId, state, { status: "connected", phone, reason: null }))
    })

    const receipt = (event: Extract<ConnectionEvent, { readonly _tag: "Receipt" }>) => {
      const status = tickOf(event, connection)
      const ticks = status === null ? [] : event.ids
      return Effect.forEach(
        ticks,
        (id) => take({ _tag: "Tick", transportId: id as TransportId, status: status ?? "read" }),
        { discard: true },
      ).pipe(Effect.andThen(Effect.sync(event.taken)), Effect.forkScoped)
    }

    for (;;) {
      const event = yield* Queue.take(connection.events)
      switch (event._tag) {
        case "CredentialsChanged":
          changed()
          break
        case "Opened":
          yield* opened
          break
        case "GroupsChanged":
          groups.forget()
          break
        case "Receipt":
          yield* receipt(event)
          break
        case "Closed":
          yield* saved
          return { closed: event.closed, wasOpen }
        default:
          break
      }
      // Many changes in a row are one write, whatever comes behind the last of them.
      if (isUnsaved() && Queue.sizeUnsafe(connection.events) === 0) yield* Effect.forkScoped(saved)
    }
  })

  /** One connection from its beginning to its end; null when the number is not linked any more. */
  const connectOnce = (numberId: NumberId, state: Held) =>
    Effect.scoped(
      Effect.gen(function* () {
        const device = yield* openDevice(vault, numberId, run, () => ownership.owns(numberId))
        if (device === null) return null
        const proxy = yield* proxies.of(numberId)
        state.proxyUrl = proxy === null ? null : Redacted.value(proxy)
        // What becomes of a new link is told once the core has taken it.
        if (isUnconfirmed(device.auth.creds)) state.told = false
        yield* trim(numberId, state)
        yield* Effect.addFinalizer(() => Effect.sync(device.letGo))
        const leavePlace = yield* takePlace(starts)
        const connection = yield* openConnection(settings, {
          auth: device.auth,
          device: [settings.deviceName, "Chrome", "1.0"],
          qrMillis: null,
          sentMessage: (id) => sentMessage(numberId, id),
          proxy: state.proxyUrl,
        })
        const session: OpenSession = {
          connection,
          groups: makeGroups(connection.socket),
          addresses: new Map(),
        }
        const saver = makeSaver(Effect.promise(device.saveCredentials))
        return yield* listen(numberId, state, session, saver, leavePlace).pipe(
          Effect.ensuring(Effect.sync(() => closeSession(state, session))),
        )
      }),
    )

  /** No connection is opened again by itself. What is worth nothing any more is wiped once that is told. */
  const giveUp = Effect.fnUntraced(function* (
    numberId: NumberId,
    state: Held,
    reason: ClosedReason,
    wipe: boolean,
  ) {
    // Another worker has the number by now and has replaced this one; what is true is told there.
    if (!ownership.owns(numberId)) return yield* Effect.never
    yield* Effect.logWarning(`number disconnected: ${reason}`)
    yield* change(state, { state: "disconnected", reason })
    yield* Deferred.succeed(state.turn, reason)
    yield* tell(numberId, state, { status: "disconnected", phone: null, reason })
    state.isGivenUp = true
    // The same, found out by the store.
    if (wipe) yield* patiently(vault.wipe(numberId)).pipe(Effect.catch(() => Effect.never))
  })

  const wait = Effect.fnUntraced(function* (failures: number) {
    const drawn = yield* Random.next
    const { firstPauseMillis: first, longestPauseMillis: longest } = settings
    yield* Effect.sleep(pauseMillis(failures, drawn, { first, longest }))
  })

  /** A number that stays away for long is not connected, whatever it will be. */
  const tellIfLost = Effect.fnUntraced(function* (numberId: NumberId, state: Held) {
    const now = yield* Clock.currentTimeMillis
    state.lostAt ??= now
    if (now - state.lostAt < settings.lostMillis) return
    const reason = "connection_lost"
    yield* tell(numberId, state, { status: "disconnected", phone: null, reason })
  })

  const keep = Effect.fnUntraced(
    function* (numberId: NumberId, state: Held) {
      let failures = 0
      let badSessions = 0

      const judge = (closed: Closed, wasOpen: boolean, stood: number): AfterClose => {
        if (wasOpen && stood >= steadyMillis) failures = 0
        badSessions = closed.code === 500 && !wasOpen ? badSessions + 1 : 0
        return afterClose(closed, badSessions)
      }

      for (;;) {
        yield* change(state, { state: "connecting" })
        const end = yield* connectOnce(numberId, state)
        if (end === null) {
          yield* giveUp(numberId, state, "logged_out", false)
          return "over" as const
        }
        const stood = (yield* Clock.currentTimeMillis) - state.status.since
        const after = judge(end.closed, end.wasOpen, stood)
        yield* Effect.logInfo(`connection ended with ${end.closed.code}`)
        yield* change(state, { reconnects: state.status.reconnects + 1 })
        switch (after._tag) {
          case "Stop":
            yield* giveUp(numberId, state, after.reason, after.wipe)
            return "over" as const
          case "Pause": {
            const { millis, reason } = after
            yield* change(state, { state: "waiting", reason })
            yield* tell(numberId, state, { status: "disconnected", phone: null, reason })
            yield* Effect.sleep(millis)
            break
          }
          case "Restart":
          case "Again":
            if (after._tag === "Again" || failures > 0) {
              yield* change(state, { state: "waiting", reason: "connection_lost" })
              yield* tellIfLost(numberId, state)
              yield* wait(failures)
            }
            failures++
        }
      }
    },
    Effect.catch((error) =>
      Effect.as(
        logTrouble("a number's session could not be read, and is tried again", error),
        "unreadable" as const,
      ),
    ),
    (effect, numberId) => Effect.annotateLogs(effect, { number: numberId }),
  )

  const keeper: Keeper = { keep, trim }
  return keeper
})
