/**
 * Linking a number: one stream is one connection with a device of its own, which is made anew for each.
 * The far side's QR codes run out after some 160 s, a pairing code after three minutes; then the
 * stream ends and the next one goes on. Once the phone has taken the code, the device replaces what
 * the number had, connects as its session, and is the number's from then on.
 */
import {
  NumberLinking,
  NumberStore,
  SessionVault,
  pairingCodeMillis,
} from "@messaging-service/core/ports"
import type { LinkingEvent, LinkingRequest } from "@messaging-service/core/ports"
import { Browsers } from "baileys"
import { Cause, Clock, Effect, Layer, Queue, Stream } from "effect"
import { randomBytes } from "node:crypto"
import { digitsOf } from "./addresses.ts"
import { credentialsText, isLinked, newDevice } from "./authState.ts"
import type { NewDevice } from "./authState.ts"
import { afterClose } from "./closing.ts"
import type { Closed } from "./closing.ts"
import { openConnection } from "./Connection.ts"
import type { Connection } from "./Connection.ts"
import { Sessions } from "./Sessions.ts"
import type { WhatsAppSettings } from "./settings.ts"

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
): Layer.Layer<NumberLinking, never, Sessions | SessionVault | NumberStore> =>
  Layer.effect(
    NumberLinking,
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const vault = yield* SessionVault
      const numbers = yield* NumberStore

      /** Shows codes until the phone has taken one. */
      const showCodes = Effect.fnUntraced(function* (
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
        const askCode = Effect.gen(function* () {
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

      /** The device becomes the number's, and the far side closes the connection that linked it. */
      const keep = Effect.fnUntraced(function* (
        { numberId }: LinkingRequest,
        { auth, keys }: NewDevice,
        { events }: Connection,
      ) {
        yield* vault.replace(numberId, credentialsText(auth.creds), keys())
        for (;;) {
          if ((yield* Queue.take(events))._tag === "Closed") break
        }
        yield* vault.replace(numberId, credentialsText(auth.creds), keys())
      })

      const pair = (request: LinkingRequest, shown: Shown) =>
        Effect.scoped(
          Effect.gen(function* () {
            const device = newDevice()
            const connection = yield* openConnection(settings, {
              auth: device.auth,
              device: deviceOf(settings, request.method),
              qrMillis: request.method === "qr" ? null : pairingCodeMillis,
              sentMessage: () => Promise.resolve(undefined),
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
            yield* keep(request, device, connection).pipe(Effect.timeoutOption(closingMillis))
            return step
          }),
        )

      /** The core has not taken the phone, because another number has it: the device goes again. */
      const unlessWanted = Effect.fnUntraced(function* ({ numberId }: LinkingRequest) {
        const number = yield* Effect.result(numbers.find(numberId))
        if (number._tag === "Success" && number.success?.status === "disconnected") {
          yield* sessions.logOut(numberId)
        } else {
          yield* sessions.announce(numberId)
        }
      })

      const link = (request: LinkingRequest, shown: Shown) =>
        Effect.gen(function* () {
          yield* sessions.release(request.numberId)
          const step = yield* pair(request, shown)
          if (step === "ended") return
          if (step !== "paired") {
            yield* Queue.offer(shown, { _tag: "Failed", reason: step.failed })
            return
          }
          const session = yield* sessions.connectLinked(request.numberId)
          if (typeof session === "string") {
            yield* Queue.offer(shown, { _tag: "Failed", reason: session })
            return
          }
          yield* Effect.addFinalizer(() => unlessWanted(request))
          const phone = digitsOf(session.connection.credentials.me?.id ?? "")
          yield* Queue.offer(shown, { _tag: "Linked", phone })
        }).pipe(
          Effect.catch((error) => Effect.logWarning("a link could not be kept", error)),
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
