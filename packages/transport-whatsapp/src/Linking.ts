/**
 * Links a number. One stream is one connection with a new device. It ends when its codes expire (QR codes
 * after about 160 s, a pairing code after three minutes), and the core opens the next. Once the phone
 * accepts a code, the device replaces the number's former one and connects as its session.
 *
 * No device is orphaned: WhatsApp gets the confirmation only after the device is stored. The device is
 * marked until the core accepts the link. A process that finds the mark resumes the link, or logs the
 * device out when the attempt is over.
 */
import { randomBytes } from "node:crypto"
import {
  NumberLinking,
  NumberProxies,
  pairingCodeMillis,
  retryUntilStoreAnswers,
  SessionVault,
  Store,
} from "@messaging-service/core"
import type { NumberStore, LinkingEvent, LinkingRequest } from "@messaging-service/core"
import { Browsers } from "baileys"
import { Cause, Clock, Effect, Layer, Queue, Redacted, Stream } from "effect"
import { Sessions } from "./Account.ts"
import { credentialsText, isLinked, newDevice } from "./authState.ts"
import type { NewDevice } from "./authState.ts"
import { afterClose, openConnection } from "./Connection.ts"
import type { Closed, Connection } from "./Connection.ts"
import type { WhatsAppSettings } from "./WhatsAppSettings.ts"
import { toDigits } from "./recipients.ts"

/** Linking fails when an older secrets key sealed the proxy: never connect around a proxy. */
const proxyUnreadable = "proxy_unreadable" as const

type View = Queue.Enqueue<LinkingEvent, Cause.Done>

/** The index of the secret in a QR code's text. */
const secretPart = 3

const withSecret = (text: string, secret: string): string =>
  text
    .split(",")
    .map((part, index) => (index === secretPart ? secret : part))
    .join(",")

/** WhatsApp accepts a pairing code only from a device that names a usual system. */
const getDevice = ({ deviceName }: WhatsAppSettings, method: LinkingRequest["method"]) =>
  method === "qr" ? ([deviceName, "Chrome", "1.0"] as const) : Browsers.macOS("Chrome")

type Step =
  /** Another connection is needed. */
  | "ended"
  /** The phone accepted the code. */
  | "paired"
  | { readonly failed: string }

const failed = (reason: string): Step => ({ failed: reason })

/** What to do when the connection ends before anything is linked. */
const stepAfter = (closed: Closed): Step => {
  const after = afterClose(closed, 0)
  return after._tag === "Stop" && after.reason !== "logged_out" ? failed(after.reason) : "ended"
}

interface Services {
  readonly settings: WhatsAppSettings
  readonly sessions: typeof Sessions.Service
  readonly vault: typeof SessionVault.Service
  readonly proxies: typeof NumberProxies.Service
  readonly numbers: NumberStore
}

/** The validity of a connection's first QR code and of each later one, by the library. */
const firstQrMillis = 60_000
const nextQrMillis = 20_000

/** Shows codes until the phone accepts one. */
const showCodes = Effect.fnUntraced(function* showCodes(
  { method, phone }: LinkingRequest,
  connection: Connection,
  visible: View,
) {
  const { credentials, events, socket } = connection
  let lastQr: { readonly text: string; readonly expiresAt: number } | null = null
  let isCodeRequested = false
  const showQr = ({ expiresAt, text }: { readonly text: string; readonly expiresAt: number }) =>
    Queue.offer(visible, {
      _tag: "QrShown",
      text: withSecret(text, credentials.advSecretKey),
      expiresAt,
    })
  const askCode = Effect.gen(function* askCode() {
    const code = yield* Effect.promise(() => socket.requestPairingCode(phone ?? ""))
    const now = yield* Clock.currentTimeMillis
    yield* Queue.offer(visible, {
      _tag: "PairingCodeShown",
      pairingCode: { code, expiresAt: now + pairingCodeMillis },
    })
  })
  for (;;) {
    const event = yield* Queue.take(events)
    switch (event._tag) {
      case "QrShown":
        lastQr = {
          text: event.text,
          expiresAt:
            (yield* Clock.currentTimeMillis) + (lastQr === null ? firstQrMillis : nextQrMillis),
        }
        if (method === "qr") yield* showQr(lastQr)
        else if (!isCodeRequested) {
          isCodeRequested = true
          yield* askCode
        }
        break
      case "SecretAsked":
        credentials.advSecretKey = randomBytes(32).toString("base64")
        if (method === "qr" && lastQr !== null) yield* showQr(lastQr)
        break
      case "PasskeyAsked":
        return failed("passkey_required")
      case "RequestRefused":
        if (isCodeRequested) return failed(`pairing_code_refused (${event.code})`)
        break
      case "Paired":
        if (isLinked(credentials)) return "paired"
        break
      case "Closed":
        return stepAfter(event.closed)
      default:
        break
    }
  }
})

/** A pairing code expires with its stream; WhatsApp itself ends a stream of QR codes. */
const showCodesInTime = (
  request: LinkingRequest,
  connection: Connection,
  visible: View,
): Effect.Effect<Step> =>
  showCodes(request, connection, visible).pipe(
    request.method === "qr"
      ? (codes) => codes
      : Effect.timeoutOrElse({
          duration: pairingCodeMillis,
          orElse: () => Effect.succeed<Step>("ended"),
        }),
  )

/** How long WhatsApp may take to close the connection that linked. */
const closingMillis = 10_000

/** Waits until WhatsApp closes the connection. */
const awaitClosed = ({ events }: Connection) =>
  Queue.take(events).pipe(
    Effect.repeat({ until: ({ _tag }) => _tag === "Closed" }),
    Effect.as(true),
  )

/**
 * Stores the device as the number's, then confirms it to WhatsApp. False when the connection closed
 * before: then no device was linked.
 */
const keep = Effect.fnUntraced(function* keep(
  vault: Services["vault"],
  { numberId }: LinkingRequest,
  { auth, keys }: NewDevice,
  connection: Connection,
) {
  const stored = retryUntilStoreAnswers(
    Effect.suspend(() => vault.replace(numberId, credentialsText(auth.creds), keys())),
  )
  const isStored = yield* Effect.raceFirst(
    Effect.as(stored, true),
    Effect.as(awaitClosed(connection), false),
  )
  if (!isStored) return false
  connection.goOn()
  yield* Effect.timeoutOption(awaitClosed(connection), closingMillis)
  return true
})

const pair = ({ proxies, settings, vault }: Services, request: LinkingRequest, visible: View) =>
  Effect.scoped(
    Effect.gen(function* pairDevice() {
      const device = newDevice()
      const proxy = yield* retryUntilStoreAnswers(
        Effect.catchTag(proxies.of(request.numberId), "CannotOpen", () =>
          Effect.succeed(proxyUnreadable),
        ),
      )
      if (proxy === proxyUnreadable) return failed(proxyUnreadable)
      const connection = yield* openConnection(settings, {
        auth: device.auth,
        device: getDevice(settings, request.method),
        qrMillis: request.method === "qr" ? null : pairingCodeMillis,
        sentMessage: () => Promise.resolve(undefined),
        holdsBack: true,
        proxy: proxy === null ? null : Redacted.value(proxy),
      })
      const step = yield* showCodesInTime(request, connection, visible)
      if (step !== "paired") return step
      yield* Queue.offer(visible, { _tag: "Taken" })
      return (yield* keep(vault, request, device, connection)) ? step : "ended"
    }),
  )

/** Logs the device out when the core refused the phone because another number has it. */
const settle = Effect.fnUntraced(function* settle(
  { numbers, sessions }: Services,
  { numberId }: LinkingRequest,
) {
  const number = yield* Effect.result(numbers.find(numberId))
  // When the store fails, the next look at the linked numbers decides.
  if (number._tag === "Failure") return
  yield* number.success?.status === "connected"
    ? sessions.announce(numberId)
    : sessions.logOut(numberId)
})

/** Connects the device and reports it. False when WhatsApp does not know the device. */
const connect = Effect.fnUntraced(function* connect(
  services: Services,
  request: LinkingRequest,
  visible: View,
) {
  const session = yield* services.sessions.connectQuietly(request.numberId)
  if (session === "logged_out") return false
  if (typeof session === "string") {
    yield* Queue.offer(visible, { _tag: "Failed", reason: session })
    return true
  }
  yield* Effect.addFinalizer(() => settle(services, request))
  const phone = toDigits(session.connection.credentials.me?.id ?? "")
  yield* Queue.offer(visible, { _tag: "Linked", phone })
  return true
})

/** Resumes a link that was made before the process ended; false when there is none. */
const goOn = Effect.fnUntraced(function* goOn(
  services: Services,
  request: LinkingRequest,
  visible: View,
) {
  const phone = yield* services.sessions.unconfirmed(request.numberId)
  if (phone === null) return false
  if (request.phone !== null && request.phone !== phone) {
    yield* services.sessions.makeRoom(request.numberId, true)
    return false
  }
  yield* Queue.offer(visible, { _tag: "Taken" })
  return yield* connect(services, request, visible)
})

const begin = Effect.fnUntraced(function* begin(
  services: Services,
  request: LinkingRequest,
  visible: View,
) {
  const step = yield* pair(services, request, visible)
  if (step === "ended") return
  if (step !== "paired") {
    yield* Queue.offer(visible, { _tag: "Failed", reason: step.failed })
  } else if (!(yield* connect(services, request, visible))) {
    yield* Queue.offer(visible, { _tag: "Failed", reason: "logged_out" })
  }
})

const link = (services: Services, request: LinkingRequest, visible: View) =>
  Effect.gen(function* linkNumber() {
    yield* services.sessions.makeRoom(request.numberId, false)
    if (!(yield* goOn(services, request, visible))) yield* begin(services, request, visible)
  }).pipe(
    // Another worker owns the number now and continues.
    Effect.ignore,
    Effect.catchDefect((defect) => Effect.logWarning("linking connection failed", defect)),
    Effect.andThen(Queue.end(visible)),
    Effect.annotateLogs({ number: request.numberId }),
  )

export const layerLinking = (
  settings: WhatsAppSettings,
): Layer.Layer<NumberLinking, never, Sessions | SessionVault | Store | NumberProxies> =>
  Layer.effect(
    NumberLinking,
    Effect.gen(function* makeLinking() {
      const services: Services = {
        settings,
        sessions: yield* Sessions,
        vault: yield* SessionVault,
        proxies: yield* NumberProxies,
        numbers: (yield* Store).numbers,
      }
      return NumberLinking.of({
        link: (request) => Stream.callback((visible) => link(services, request, visible)),
      })
    }),
  )
