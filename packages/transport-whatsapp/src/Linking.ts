/**
 * Linking a number: one stream is one connection with a device of its own, which is made anew for each.
 * The far side's QR codes run out after some 160 s, a pairing code after three minutes; then the
 * stream ends and the next one goes on. Once the phone has taken the code, the device replaces what
 * the number had, connects as its session, and is the number's from then on.
 *
 * No device is left behind: the far side hears that the code was taken only once the device is kept
 * here. It is marked until the core has taken the link; a process that finds the mark goes on from
 * there, or logs the device out when the attempt is over.
 */
import { randomBytes } from "node:crypto"
import {
  NumberLinking,
  NumberProxies,
  NumberStore,
  pairingCodeMillis,
  retryUntilStoreAnswers,
  SessionVault,
} from "@messaging-service/core"
import type { LinkingEvent, LinkingRequest } from "@messaging-service/core"
import { Browsers } from "baileys"
import { Cause, Clock, Effect, Layer, Queue, Redacted, Stream } from "effect"
import { Sessions } from "./Account.ts"
import { credentialsText, isLinked, newDevice } from "./authState.ts"
import type { NewDevice } from "./authState.ts"
import { afterClose, openConnection } from "./Connection.ts"
import type { Closed, Connection } from "./Connection.ts"
import type { WhatsAppSettings } from "./WhatsAppSettings.ts"
import { digitsOf } from "./recipients.ts"

/** Why linking fails where an older secrets key sealed the number's proxy: it is not connected past that. */
const proxyUnreadable = "proxy_unreadable" as const

type Shown = Queue.Enqueue<LinkingEvent, Cause.Done>

/** The place of the secret among the parts of a QR code's text. */
const secretPart = 3

/** The text of a QR code with another secret. */
const withSecret = (text: string, secret: string): string =>
  text
    .split(",")
    .map((part, index) => (index === secretPart ? secret : part))
    .join(",")

/** The far side takes a pairing code only from a device that names a usual system. */
const deviceOf = ({ deviceName }: WhatsAppSettings, method: LinkingRequest["method"]) =>
  method === "qr" ? ([deviceName, "Chrome", "1.0"] as const) : Browsers.macOS("Chrome")

/** How an attempt goes on. */
type Step =
  /** Another connection is needed. */
  | "ended"
  /** The phone has taken the code. */
  | "paired"
  | { readonly failed: string }

const failed = (reason: string): Step => ({ failed: reason })

/** What the end of a connection means before anything is linked. */
const stepAfter = (closed: Closed): Step => {
  const after = afterClose(closed, 0)
  return after._tag === "Stop" && after.reason !== "logged_out" ? failed(after.reason) : "ended"
}

export const layerLinking = (
  settings: WhatsAppSettings,
): Layer.Layer<NumberLinking, never, Sessions | SessionVault | NumberStore | NumberProxies> =>
  Layer.effect(
    NumberLinking,
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const vault = yield* SessionVault
      const proxies = yield* NumberProxies
      const numbers = yield* NumberStore

      /** Shows codes until the phone has taken one. */
      const showCodes = Effect.fnUntraced(function* showCodes(
        { method, phone }: LinkingRequest,
        connection: Connection,
        shown: Shown,
      ) {
        const { credentials, events, socket } = connection
        let lastQr: string | null = null
        let isCodeAsked = false
        const showQr = (text: string) =>
          Queue.offer(shown, {
            _tag: "QrShown",
            text: withSecret(text, credentials.advSecretKey),
          })
        const askCode = Effect.gen(function* askCode() {
          const code = yield* Effect.promise(() => socket.requestPairingCode(phone ?? ""))
          const now = yield* Clock.currentTimeMillis
          yield* Queue.offer(shown, {
            _tag: "PairingCodeShown",
            pairingCode: { code, expiresAt: now + pairingCodeMillis },
          })
        })
        for (;;) {
          const event = yield* Queue.take(events)
          switch (event._tag) {
            case "QrShown":
              lastQr = event.text
              if (method === "qr") yield* showQr(event.text)
              else if (!isCodeAsked) {
                isCodeAsked = true
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
              if (isCodeAsked) return failed(`pairing_code_refused (${event.code})`)
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

      /** Waits until the far side closes the connection; whether it did. */
      const closed = ({ events }: Connection) =>
        Queue.take(events).pipe(
          Effect.repeat({ until: ({ _tag }) => _tag === "Closed" }),
          Effect.as(true),
        )

      /**
       * The device becomes the number's, and the far side hears of it. False when the connection was
       * over before that: then no device was made.
       */
      const keep = Effect.fnUntraced(function* keep(
        { numberId }: LinkingRequest,
        { auth, keys }: NewDevice,
        connection: Connection,
      ) {
        const kept = retryUntilStoreAnswers(
          Effect.suspend(() => vault.replace(numberId, credentialsText(auth.creds), keys())),
        )
        const isKept = yield* Effect.raceFirst(
          Effect.as(kept, true),
          Effect.as(closed(connection), false),
        )
        if (!isKept) return false
        connection.goOn()
        yield* Effect.timeoutOption(closed(connection), closingMillis)
        return true
      })

      const pair = (request: LinkingRequest, shown: Shown) =>
        Effect.scoped(
          Effect.gen(function* () {
            const device = newDevice()
            const proxy = yield* retryUntilStoreAnswers(
              Effect.catchTag(proxies.of(request.numberId), "CannotOpen", () =>
                Effect.succeed(proxyUnreadable),
              ),
            )
            if (proxy === proxyUnreadable) return failed(proxyUnreadable)
            const connection = yield* openConnection(settings, {
              auth: device.auth,
              device: deviceOf(settings, request.method),
              qrMillis: request.method === "qr" ? null : pairingCodeMillis,
              sentMessage: () => Promise.resolve(undefined),
              holdsBack: true,
              proxy: proxy === null ? null : Redacted.value(proxy),
            })
            const step: Step = yield* showCodes(request, connection, shown).pipe(
              request.method === "qr"
                ? (codes) => codes
                : Effect.timeoutOrElse({
                    duration: pairingCodeMillis,
                    orElse: () => Effect.succeed<Step>("ended"),
                  }),
            )
            if (step !== "paired") return step
            yield* Queue.offer(shown, { _tag: "Taken" })
            return (yield* keep(request, device, connection)) ? step : "ended"
          }),
        )

      /** The core may not have taken the phone, because another number has it: the device goes again. */
      const settle = Effect.fnUntraced(function* settle({ numberId }: LinkingRequest) {
        const number = yield* Effect.result(numbers.find(numberId))
        // A store that does not say is asked again when it is looked which numbers are linked.
        if (number._tag === "Failure") return
        yield* number.success?.status === "connected"
          ? sessions.announce(numberId)
          : sessions.logOut(numberId)
      })

      /** Connects the device, and tells so. False when the far side does not know it. */
      const connect = Effect.fnUntraced(function* connect(request: LinkingRequest, shown: Shown) {
        const session = yield* sessions.connectQuietly(request.numberId)
        if (session === "logged_out") return false
        if (typeof session === "string") {
          yield* Queue.offer(shown, { _tag: "Failed", reason: session })
          return true
        }
        yield* Effect.addFinalizer(() => settle(request))
        const phone = digitsOf(session.connection.credentials.me?.id ?? "")
        yield* Queue.offer(shown, { _tag: "Linked", phone })
        return true
      })

      /** Goes on with a link that was made before the process ended; false when there is none. */
      const goOn = Effect.fnUntraced(function* goOn(request: LinkingRequest, shown: Shown) {
        const phone = yield* sessions.unconfirmed(request.numberId)
        if (phone === null) return false
        if (request.phone !== null && request.phone !== phone) {
          yield* sessions.makeRoom(request.numberId, true)
          return false
        }
        yield* Queue.offer(shown, { _tag: "Taken" })
        return yield* connect(request, shown)
      })

      const begin = Effect.fnUntraced(function* begin(request: LinkingRequest, shown: Shown) {
        const step = yield* pair(request, shown)
        if (step === "ended") return
        if (step !== "paired") {
          yield* Queue.offer(shown, { _tag: "Failed", reason: step.failed })
        } else if (!(yield* connect(request, shown))) {
          yield* Queue.offer(shown, { _tag: "Failed", reason: "logged_out" })
        }
      })

      const link = (request: LinkingRequest, shown: Shown) =>
        Effect.gen(function* () {
          yield* sessions.makeRoom(request.numberId, false)
          if (!(yield* goOn(request, shown))) yield* begin(request, shown)
        }).pipe(
          // The worker that has the number now goes on.
          Effect.ignore,
          Effect.catchDefect((defect) =>
            Effect.logWarning("a connection for linking broke", defect),
          ),
          Effect.andThen(Queue.end(shown)),
          Effect.annotateLogs({ number: request.numberId }),
        )

      return NumberLinking.of({
        link: (request) => Stream.callback((shown) => link(request, shown)),
      })
    }),
  )

/** How long the far side may take to close the connection that linked. */
const closingMillis = 10_000
