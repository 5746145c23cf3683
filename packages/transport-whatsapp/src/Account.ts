/** What a number's connection is while it is open. */
import {
  logFailure,
  makeLiveNumbers,
  NumberOwnership,
  retryUntilStoreAnswers,
  SentTexts,
  SessionVault,
  sleepInRealTime,
} from "@messaging-service/core"
import type {
  Connecting,
  LiveConnection,
  LiveNumber,
  LiveNumbers,
  NumberId,
  NumberStatus,
  Phone,
  TransportId,
} from "@messaging-service/core"
import { S_WHATSAPP_NET } from "baileys"
import { Context, Effect, Layer, Queue, Semaphore } from "effect"
import { confirm, fromText, isUnconfirmed, keptKeys, openDevice, sentType } from "./authState.ts"
import { afterClose, openConnection } from "./Connection.ts"
import type { Connection, ConnectionEvent } from "./Connection.ts"
import type { WhatsAppSettings } from "./WhatsAppSettings.ts"
import { messageFromText, textContent } from "./content.ts"
import { digitsOf, makeGroups, withoutDevice } from "./recipients.ts"
import type { Groups } from "./recipients.ts"
import { sweepLeftFiles } from "./retryReceipts.ts"
import type { AskedAgain } from "./retryReceipts.ts"

/** An open connection, with what sending over it needs. */
export interface OpenSession extends LiveConnection {
  readonly connection: Connection
  readonly groups: Groups
  /** Addresses of phones that were written to. */
  readonly addresses: Map<Phone, string>
}

const sessionOver = (connection: Connection): OpenSession => ({
  connection,
  over: connection.over,
  lastWordAt: connection.lastWordAt,
  groups: makeGroups(connection.socket),
  addresses: new Map(),
})

/** Logs the device out at the far side; whether that has answered. */
const logOutThere = ({ connection }: OpenSession): Effect.Effect<boolean> => {
  const { credentials, socket } = connection
  const device = { jid: credentials.me?.id ?? "", reason: "user_initiated" }
  return Effect.promise(() =>
    socket
      .query({
        tag: "iq",
        attrs: { to: S_WHATSAPP_NET, type: "set", xmlns: "md" },
        content: [{ tag: "remove-companion-device", attrs: device }],
      })
      .then(
        (answer) => answer !== undefined,
        () => false,
      ),
  )
}

/** What a receipt says of a message; null when it says nothing of its recipient. */
const tickOf = (
  { by, type }: Extract<ConnectionEvent, { readonly _tag: "Receipt" }>,
  { credentials }: Connection,
): "delivered" | "read" | null => {
  const { id = "", lid = "" } = credentials.me ?? {}
  const own = [id, lid].filter((address) => address !== "").map(withoutDevice)
  // Other devices of the number's own account.
  if (own.includes(withoutDevice(by))) return null
  if (type === null) return "delivered"
  return type === "read" || type === "played" ? "read" : null
}

// Connecting one number: a connection is opened, and listened to until it is over. What it says by itself
// is handed over until it is stored; only then does the far side hear that it has come.

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
        logFailure("credentials are saved again", defect, Effect.logError),
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
const makeConnect = Effect.fnUntraced(function* (settings: WhatsAppSettings) {
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
  const texts = yield* SentTexts
  const run = Effect.runPromiseWith(yield* Effect.context<never>())

  /**
   * The message has its text; the vault has what was uploaded.
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

// The connections of linked numbers. A device that was linked and that the core has not taken is logged
// out again.

interface LinkedNumbers extends LiveNumbers<OpenSession> {
  /**
   * The phone of a link that was made and that the core does not know of, since the process ended or
   * the store failed meanwhile: its digits; null when there is none.
   */
  unconfirmed(numberId: NumberId): Effect.Effect<string | null>
  /** The core has taken the link. What becomes of a new link is told only to its caller before that. */
  announce(numberId: NumberId): Effect.Effect<void>
}

export class Sessions extends Context.Service<Sessions, LinkedNumbers>()(
  "transport-whatsapp/Sessions",
) {
  static readonly layer = (settings: WhatsAppSettings) => Layer.effect(Sessions, make(settings))
}

const make = Effect.fnUntraced(function* (settings: WhatsAppSettings) {
  const vault = yield* SessionVault

  const announce = Effect.fnUntraced(function* (numberId: NumberId) {
    const live = numbers.find(numberId)
    if (live === undefined || live.told || live.leaves) return
    live.told = true
    const { reason, state } = live.status
    if (live.open !== null) {
      confirm(live.open.connection.credentials)
      live.open.connection.credentialsChanged()
    } else if (state === "disconnected" && reason !== null) {
      // It ended before the core had taken the link, which was not told yet.
      yield* Effect.forkDetach(
        numbers.take({
          _tag: "ConnectionChanged",
          numberId,
          status: state,
          phone: null,
          reason,
        }),
      )
    }
  })

  /** A link that was made, and of which it is not known here whether the core has taken it. */
  const settleLink = (numberId: NumberId, status: NumberStatus) =>
    status === "connected" ? announce(numberId) : numbers.logOut(numberId)

  const numbers: LiveNumbers<OpenSession> = yield* makeLiveNumbers({
    platform: "whatsapp",
    settings,
    keptKeys,
    connect: yield* makeConnect(settings),
    remembersWiped: true,
    meansLoggedOut: [],
    logOut: logOutThere,
    instead: ({ leavingSince, numberId, status }, live) => {
      // The attempt at linking has it.
      if (status === "connecting") return Effect.void
      const isNew = leavingSince === null && live?.told === false
      return isNew ? settleLink(numberId, status) : null
    },
  })

  return Sessions.of({
    ...numbers,
    listen: (take) => Effect.raceFirst(numbers.listen(take), sweepLeftFiles),
    unconfirmed: (numberId) =>
      retryUntilStoreAnswers(vault.credentials(numberId)).pipe(
        Effect.map((text) => {
          if (text === null) return null
          const credentials = fromText(text)
          return isUnconfirmed(credentials) ? digitsOf(credentials.me?.id ?? "") : null
        }),
        // What an older secrets key sealed is gone, and is no link to go on with.
        Effect.catchTag("CannotOpen", () => Effect.succeed(null)),
      ),
    announce,
  })
})
