/**
 * Connecting one number: a connection is opened, and listened to until it is over. What it says by itself
 * is handed over until it is stored; only then does the far side hear that it has come.
 */
import {
  logTrouble,
  NumberOwnership,
  retryUntilStoreAnswers,
  SentTexts,
  SessionVault,
  sleepInRealTime,
} from "@messaging-service/core"
import type { Connecting, LiveNumber, NumberId, TransportId } from "@messaging-service/core"
import { Effect, Queue, Semaphore } from "effect"
import { digitsOf } from "./addresses.ts"
import type { AskedAgain } from "./askedAgain.ts"
import { isUnconfirmed, openDevice, sentType } from "./authState.ts"
import { afterClose } from "./closing.ts"
import { openConnection } from "./Connection.ts"
import type { ConnectionEvent } from "./Connection.ts"
import { messageFromText, textContent } from "./content.ts"
import { sessionOver, tickOf } from "./OpenSession.ts"
import type { OpenSession } from "./OpenSession.ts"
import type { WhatsAppSettings } from "./settings.ts"

/** Between two tries to save what has changed, in real time. */
const againMillis = 250

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

/** How numbers are connected. */
export const makeConnect = Effect.fnUntraced(function* (settings: WhatsAppSettings) {
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
  const texts = yield* SentTexts
  const run = Effect.runPromiseWith(yield* Effect.context<never>())

  /**
   * A text stands in its message; what was uploaded, and what earlier versions kept of texts, in the vault.
   * A message that is not found now is not asked for again: the store is waited for.
   */
  const sentMessage = (numberId: NumberId, id: string) =>
    run(
      retryUntilStoreAnswers(
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
    connecting: Connecting<OpenSession>,
    session: OpenSession,
    { changed, isUnsaved, saved }: ReturnType<typeof makeSaver>,
  ) {
    const { connection, groups } = session
    let wasOpen = false

    const receipt = (event: Extract<ConnectionEvent, { readonly _tag: "Receipt" }>) => {
      const status = tickOf(event, connection)
      const ticks = status === null ? [] : event.ids
      return Effect.forEach(
        ticks,
        (id) =>
          connecting.take({
            _tag: "Tick",
            numberId,
            transportId: id as TransportId,
            status: status ?? "read",
          }),
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
          wasOpen = true
          yield* connecting.opened(session, digitsOf(connection.credentials.me?.id ?? ""))
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

  /** One connection from its beginning to its end, and what its end means. */
  const connectOnce = Effect.fnUntraced(function* (
    live: LiveNumber<OpenSession>,
    connecting: Connecting<OpenSession>,
    before: { badSessions: number; readonly askedAgain: AskedAgain },
  ) {
    const { numberId } = live
    const device = yield* openDevice(vault, numberId, run, () => ownership.owns(numberId))
    // It is not linked any more.
    if (device === null) return { _tag: "Stop", reason: "logged_out", wipe: false } as const
    yield* Effect.addFinalizer(() => Effect.sync(device.letGo))
    // What becomes of a new link is told once the core has taken it.
    if (isUnconfirmed(device.auth.creds)) live.told = false
    const { proxy } = yield* connecting.ready
    const connection = yield* openConnection(settings, {
      auth: device.auth,
      device: [settings.deviceName, "Chrome", "1.0"],
      qrMillis: null,
      sentMessage: (id) => sentMessage(numberId, id),
      proxy,
      askedAgain: before.askedAgain,
    })
    const saver = makeSaver(Effect.promise(device.saveCredentials))
    const { closed, wasOpen } = yield* listen(numberId, connecting, sessionOver(connection), saver)
    yield* Effect.logInfo(`connection ended with ${closed.code}`)
    before.badSessions = closed.code === 500 && !wasOpen ? before.badSessions + 1 : 0
    return afterClose(closed, before.badSessions)
  })

  return (live: LiveNumber<OpenSession>, connecting: Connecting<OpenSession>) =>
    connectOnce(live, connecting, { badSessions: 0, askedAgain: new Map() })
})
