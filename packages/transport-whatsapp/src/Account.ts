/**
 * Linked numbers and their connections: opens one connection for each number, handles its events until
 * it closes, and logs out a device if the core did not accept its link.
 */
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
import { Context, Deferred, Effect, Layer, Queue, Semaphore } from "effect"
import { confirm, fromText, isUnconfirmed, keptKeys, openDevice, sentType } from "./authState.ts"
import { afterClose, openConnection } from "./Connection.ts"
import type { Connection, ConnectionEvent } from "./Connection.ts"
import type { WhatsAppSettings } from "./WhatsAppSettings.ts"
import { messageFromText, textContent, withQuote } from "./content.ts"
import type { Own } from "./incoming.ts"
import { toDigits, makeGroups, withoutDevice } from "./recipients.ts"
import type { Groups } from "./recipients.ts"
import { makeRestrictionChecks } from "./restrictions.ts"
import type { RestrictionChecks } from "./restrictions.ts"
import { sweepLeftFiles } from "./retryReceipts.ts"
import type { RetryRequests } from "./retryReceipts.ts"

export interface OpenSession extends LiveConnection {
  readonly connection: Connection
  readonly groups: Groups
  /** Cached addresses of recipients. */
  readonly addresses: Map<Phone, string>
  readonly restrictions: RestrictionChecks
}

const sessionOver = (
  connection: Connection,
  live: LiveNumber<OpenSession>,
  { take }: Connecting<OpenSession>,
): OpenSession => ({
  connection,
  restrictions: makeRestrictionChecks(connection.socket, live, (restrictions) =>
    take({ _tag: "RestrictionsChanged", numberId: live.numberId, restrictions }),
  ),
  over: connection.over,
  lastWordAt: connection.lastWordAt,
  groups: makeGroups(connection.socket),
  addresses: new Map(),
})

/** Removes the linked device at WhatsApp; false when WhatsApp did not answer. */
const removeDevice = ({ connection }: OpenSession): Effect.Effect<boolean> => {
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

type ReceiptEvent = Extract<ConnectionEvent, { readonly _tag: "Receipt" }>

/** The status that a receipt reports; null when it is not about the recipient. */
const findTick = (
  { by, type }: ReceiptEvent,
  { credentials }: Connection,
): "delivered" | "read" | null => {
  const { id = "", lid = "" } = credentials.me ?? {}
  const own = [id, lid].filter((address) => address !== "").map(withoutDevice)
  // From another device of the number's own account.
  if (own.includes(withoutDevice(by))) return null
  if (type === null) return "delivered"
  return type === "read" || type === "played" ? "read" : null
}

// Connecting

/** The pause between two tries to save credentials, in real time. */
const againMillis = 250

/** Saves changed credentials until the store has them; several changes share one write. */
const makeSaver = (save: Effect.Effect<void>) => {
  const semaphore = Semaphore.makeUnsafe(1)
  let isDirty = false
  const once = Effect.suspend(() => {
    isDirty = false
    return Effect.catchDefect(save, (defect) => {
      isDirty = true
      return Effect.andThen(
        logFailure("could not save credentials, retrying", defect, Effect.logError),
        sleepInRealTime(againMillis),
      )
    })
  })
  return {
    changed: () => {
      isDirty = true
    },
    isUnsaved: () => isDirty,
    saved: semaphore.withPermits(1)(
      Effect.whileLoop({ while: () => isDirty, body: () => once, step: () => undefined }),
    ),
  }
}

/** Reports a receipt, and confirms it to WhatsApp once it is stored. */
const takeReceipt = (
  event: ReceiptEvent,
  numberId: NumberId,
  connecting: Connecting<OpenSession>,
  connection: Connection,
) => {
  const status = findTick(event, connection)
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
  ).pipe(Effect.andThen(Effect.sync(event.claimed)), Effect.forkScoped)
}

/** Handles a connection's events until it closes; returns how it closed. */
const listen = Effect.fnUntraced(function* listen(
  numberId: NumberId,
  connecting: Connecting<OpenSession>,
  session: OpenSession,
  { changed, isUnsaved, saved }: ReturnType<typeof makeSaver>,
) {
  const { connection, groups } = session
  let wasOpen = false

  for (;;) {
    const event = yield* Queue.take(connection.events)
    switch (event._tag) {
      case "CredentialsChanged":
        changed()
        break
      case "Opened":
        wasOpen = true
        yield* connecting.opened(session, toDigits(connection.credentials.me?.id ?? ""))
        yield* Effect.forkScoped(
          Effect.raceFirst(session.restrictions.run, Deferred.await(connection.over)),
        )
        break
      case "Restricted":
        yield* session.restrictions.told(event.told)
        break
      case "GroupsChanged":
        groups.forget()
        break
      case "Receipt":
        yield* takeReceipt(event, numberId, connecting, connection)
        break
      case "Closed":
        yield* saved
        return { closed: event.closed, wasOpen }
      default:
        break
    }
    // Save after the last event in the queue, so that several changes share one write.
    if (isUnsaved() && Queue.sizeUnsafe(connection.events) === 0) yield* Effect.forkScoped(saved)
  }
})

/** Connects a number and keeps the connection until it closes. */
const makeConnect = Effect.fnUntraced(function* makeConnect(settings: WhatsAppSettings) {
  const vault = yield* SessionVault
  const ownership = yield* NumberOwnership
  const texts = yield* SentTexts
  const run = Effect.runPromiseWith(yield* Effect.context<never>())

  /**
   * The content of a sent message. The library asks once, so this waits for the store. The message has
   * its text; the vault has the uploaded media.
   */
  const sentMessage = (numberId: NumberId, id: string, own: Own) =>
    run(
      retryUntilStoreAnswers(
        Effect.gen(function* () {
          const sent = yield* texts.of(numberId, id as TransportId)
          const { quote = null, text = null } = sent ?? {}
          if (text !== null) return withQuote(textContent(text), quote, own)
          const found = yield* vault.keys(numberId, sentType, [id])
          const content = messageFromText(found.get(id))
          return content && withQuote(content, quote, own)
        }).pipe(Effect.catchTag("CannotOpen", () => Effect.succeed(undefined))),
      ),
    )

  /** Runs one connection to its end; returns what to do after it. */
  const connectOnce = Effect.fnUntraced(function* connectOnce(
    live: LiveNumber<OpenSession>,
    connecting: Connecting<OpenSession>,
    before: { badSessions: number; readonly retryRequests: RetryRequests },
  ) {
    const { numberId } = live
    const device = yield* openDevice(vault, numberId, run, () => ownership.owns(numberId))
    if (device === null) return { _tag: "Stop", reason: "logged_out", wipe: false } as const
    yield* Effect.addFinalizer(() => Effect.sync(device.letGo))
    // Report a new link's fate only once the core has accepted the link.
    if (isUnconfirmed(device.auth.creds)) live.isReported = false
    const { proxy } = yield* connecting.ready
    const connection = yield* openConnection(settings, {
      auth: device.auth,
      device: [settings.deviceName, "Chrome", "1.0"],
      qrMillis: null,
      sentMessage: (id) => sentMessage(numberId, id, device.auth.creds.me ?? {}),
      inbox: device.inbox,
      proxy,
      retryRequests: before.retryRequests,
    })
    const saver = makeSaver(Effect.promise(device.saveCredentials))
    const { closed, wasOpen } = yield* listen(
      numberId,
      connecting,
      sessionOver(connection, live, connecting),
      saver,
    )
    yield* Effect.logInfo(`connection ended with ${closed.code}`)
    before.badSessions = closed.code === 500 && !wasOpen ? before.badSessions + 1 : 0
    return afterClose(closed, before.badSessions)
  })

  return (live: LiveNumber<OpenSession>, connecting: Connecting<OpenSession>) =>
    connectOnce(live, connecting, { badSessions: 0, retryRequests: new Map() })
})

// Linked numbers

interface LinkedNumbers extends LiveNumbers<OpenSession> {
  /**
   * The digits of the phone that was linked but that the core has not accepted, because the process
   * ended or the store failed; null when there is none.
   */
  unconfirmed(numberId: NumberId): Effect.Effect<string | null>
  /** Confirms that the core accepted the link; until then only the linking caller learns of it. */
  announce(numberId: NumberId): Effect.Effect<void>
}

export class Sessions extends Context.Service<Sessions, LinkedNumbers>()(
  "transport-whatsapp/Sessions",
) {
  static readonly layer = (settings: WhatsAppSettings) => Layer.effect(Sessions, make(settings))
}

const make = Effect.fnUntraced(function* makeSessions(settings: WhatsAppSettings) {
  const vault = yield* SessionVault

  const announce = Effect.fnUntraced(function* announce(numberId: NumberId) {
    const live = numbers.find(numberId)
    if (live === undefined || live.isReported || live.leaves) return
    live.isReported = true
    const { reason, state } = live.status
    if (live.open !== null) {
      confirm(live.open.connection.credentials)
      live.open.connection.credentialsChanged()
    } else if (state === "disconnected" && reason !== null) {
      // It ended before the core accepted the link, so nothing has reported the end.
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

  /** Finishes a link if its acceptance by the core is unknown here. */
  const settleLink = (numberId: NumberId, status: NumberStatus) =>
    status === "connected" ? announce(numberId) : numbers.logOut(numberId)

  const numbers: LiveNumbers<OpenSession> = yield* makeLiveNumbers({
    platform: "whatsapp",
    settings,
    keptKeys,
    connect: yield* makeConnect(settings),
    remembersWiped: true,
    meansLoggedOut: [],
    logOut: removeDevice,
    instead: ({ leavingSince, numberId, status }, live) => {
      // The linking attempt owns it.
      if (status === "connecting") return Effect.void
      const isNew = leavingSince === null && live?.isReported === false
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
          return isUnconfirmed(credentials) ? toDigits(credentials.me?.id ?? "") : null
        }),
        // An older secrets key sealed it: nothing to resume.
        Effect.catchTag("CannotOpen", () => Effect.succeed(null)),
      ),
    announce,
  })
})
