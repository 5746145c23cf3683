/**
 * What numbers are connected by, as the configuration chooses: simulated phones, or WhatsApp and Telegram
 * for real.
 * The code of live transports is loaded only when they are chosen: it is large.
 */
import {
  ConnectedFromTheStart,
  liveWhatsAppPacing,
  NumberLinking,
  NumberOwnership,
  NumberProxies,
  Secrets,
  SentTexts,
  SessionStore,
  SessionVault,
  StartingPacing,
  TelegramTransport,
} from "@messaging-service/core"
import type {
  LinkingEvent,
  NumberId,
  NumberStore,
  PhoneDirectory,
  StoreUnavailable,
  WhatsAppTransport,
} from "@messaging-service/core"
import { CannotStart, qrCodeForTerminal } from "@messaging-service/node"
import { Effect, Layer, Stream } from "effect"
import type { Redacted } from "effect"
import { optionalPackage, SettingFault } from "./startFaults.ts"

/** Where codes that link a phone are written as text. */
type Write = (text: string) => void

/** Writes what a phone is to scan for that number. */
const writeCode =
  (write: Write) =>
  (numberId: NumberId, text: string): Effect.Effect<void> =>
    Effect.map(qrCodeForTerminal(text), (code) =>
      write(`Scan this to link number ${numberId}:\n${code}`),
    )

/**
 * Linking as it was, with each QR code also written as text, where a person reads what the process
 * prints: the link to the picture needs a browser.
 */
export const layerTerminalCodes = (
  write: Write,
): Layer.Layer<NumberLinking, never, NumberLinking> =>
  Layer.effect(
    NumberLinking,
    Effect.gen(function* () {
      const { link } = yield* NumberLinking
      const show = (numberId: NumberId, event: LinkingEvent) =>
        event._tag === "QrShown" ? writeCode(write)(numberId, event.text) : Effect.void
      return NumberLinking.of({
        link: (request) => Stream.tap(link(request), (event) => show(request.numberId, event)),
      })
    }),
  )

/**
 * Settings of a live transport. It repeats the transport's own settings, which check it below:
 * the declarations of this package must stand without a transport that is not installed.
 */
export interface LiveWhatsApp {
  readonly url?: URL
  readonly version?: readonly [number, number, number] | null
  readonly deviceName?: string
}

export interface LiveTelegram {
  readonly application: { readonly id: number; readonly hash: Redacted.Redacted }
  readonly server?: { readonly host: string; readonly port: number }
  readonly publicKey?: string
  readonly deviceName?: string
}

export type TransportChoice =
  | {
      readonly kind: "simulated"
      /** Whether simulated Telegram accounts can be logged in; they cannot, if not given. */
      readonly hasApplication?: boolean
    }
  | {
      readonly kind: "live"
      /** What is configured; the rest is the transport's own. */
      readonly whatsApp: LiveWhatsApp
      /** The same; without it no Telegram account is connected. */
      readonly telegram?: LiveTelegram
    }

/** Without an application Telegram lets no client in. */
const layerNoTelegram = Layer.succeed(TelegramTransport, {
  dropsCopies: true,
  send: () => Effect.succeed({ _tag: "NotConnected" }),
  listen: () => Effect.never,
})

/** Where codes that link a phone are written as text; null for nowhere. */
export type ShowCode = ((text: string) => void) | null

const layerCodes = (showCode: ShowCode) =>
  showCode === null ? Layer.effect(NumberLinking, NumberLinking) : layerTerminalCodes(showCode)

const layerWhatsApp = ({
  whatsApp,
}: Extract<TransportChoice, { readonly kind: "live" }>): Layer.Layer<
  WhatsAppTransport | PhoneDirectory | NumberLinking,
  CannotStart,
  SessionVault | NumberProxies | NumberStore | NumberOwnership | SentTexts
> =>
  Layer.unwrap(
    Effect.map(
      optionalPackage(
        "@messaging-service/transport-whatsapp",
        "live",
        () => import("@messaging-service/transport-whatsapp"),
      ),
      ({ defaultSettings, layer }) => layer({ ...defaultSettings, ...whatsApp }),
    ),
  )

/** A login has a vault of its own: it takes no number from a worker, and writes for none that has one. */
const layerUnownedVault = Layer.fresh(SessionVault.layer).pipe(
  Layer.provide(Layer.fresh(NumberOwnership.layerAll)),
)

const layerTelegram = (
  { telegram }: Extract<TransportChoice, { readonly kind: "live" }>,
  showCode: ShowCode,
): Layer.Layer<
  TelegramTransport,
  CannotStart,
  SessionVault | NumberProxies | NumberOwnership | NumberStore | SessionStore | Secrets
> =>
  telegram === undefined
    ? layerNoTelegram
    : Layer.unwrap(
        Effect.map(
          optionalPackage(
            "@messaging-service/transport-telegram",
            "telegram",
            () => import("@messaging-service/transport-telegram"),
          ),
          ({ defaultSettings, layer, layerLogin }) => {
            const settings = { ...defaultSettings, ...telegram }
            return Layer.merge(
              layer(settings),
              layerLogin(settings, showCode === null ? undefined : writeCode(showCode)).pipe(
                Layer.provide(layerUnownedVault),
              ),
            )
          },
        ),
      )

/**
 * Fails where numbers of the store are linked for real: a simulated phone would take their messages and
 * report what never left as sent. What was removed or logged out has no messages to take.
 */
export const requireNoLinkedNumbers: Effect.Effect<
  void,
  CannotStart | StoreUnavailable,
  SessionStore
> = Effect.gen(function* () {
  const sessions = yield* (yield* SessionStore).list
  if (sessions.every(({ leavingSince, removed }) => removed || leavingSince !== null)) return
  return yield* new SettingFault(
    "simulated",
    ({ live, simulated }) =>
      `${simulated} is not for a store with numbers that are linked for real, whose messages would count as sent: send from it with ${live}`,
  )
})

export const layerLive = (
  choice: Extract<TransportChoice, { readonly kind: "live" }>,
  showCode: ShowCode,
) =>
  layerCodes(showCode).pipe(
    Layer.provideMerge(layerWhatsApp(choice)),
    Layer.merge(layerTelegram(choice, showCode)),
    Layer.provide(SessionVault.layer),
    Layer.provide([NumberProxies.layer, SentTexts.layer]),
    Layer.provide(Secrets.layer),
    Layer.merge(Layer.succeed(ConnectedFromTheStart, false)),
    Layer.merge(Layer.succeed(StartingPacing, { whatsapp: liveWhatsAppPacing, telegram: null })),
  )
