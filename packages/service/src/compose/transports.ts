/**
 * What numbers are connected by, as the configuration chooses: simulated phones, or WhatsApp for real.
 * The code of live transports is loaded only when they are chosen: it is large.
 */
import {
  ConnectedFromTheStart,
  Secrets,
  SessionVault,
  StartingPacing,
  liveWhatsAppPacing,
} from "@messaging-service/core"
import {
  NumberLinking,
  NumberProxies,
  SentTexts,
  TelegramTransport,
} from "@messaging-service/core/ports"
import type {
  NumberOwnership,
  NumberStore,
  PhoneDirectory,
  WhatsAppTransport,
} from "@messaging-service/core/ports"
import { Effect, Layer } from "effect"
import type { CannotStart } from "./CannotStart.ts"
import { optionalPackage } from "./optionalPackage.ts"
import { layerTerminalCodes } from "./terminalCodes.ts"

/**
 * What a live transport can be told. It repeats the transport's own settings, which check it below:
 * the declarations of this package must stand without a transport that is not installed.
 */
export interface LiveWhatsApp {
  readonly url?: URL
  readonly version?: readonly [number, number, number] | null
  readonly deviceName?: string
}

export type TransportChoice =
  | { readonly kind: "simulated" }
  | {
      readonly kind: "live"
      /** What is configured; the rest is the transport's own. */
      readonly whatsApp: LiveWhatsApp
    }

/** Telegram is not there yet: none of its accounts is connected. */
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
        "TRANSPORT=live",
        () => import("@messaging-service/transport-whatsapp"),
      ),
      ({ defaultSettings, layer }) => layer({ ...defaultSettings, ...whatsApp }),
    ),
  )

export const layerLive = (
  choice: Extract<TransportChoice, { readonly kind: "live" }>,
  showCode: ShowCode,
) =>
  layerCodes(showCode).pipe(
    Layer.provideMerge(layerWhatsApp(choice)),
    Layer.provide(SessionVault.layer),
    Layer.provide([NumberProxies.layer, SentTexts.layer]),
    Layer.provide(Secrets.layer),
    Layer.merge(layerNoTelegram),
    Layer.merge(Layer.succeed(ConnectedFromTheStart, false)),
    Layer.merge(Layer.succeed(StartingPacing, { whatsapp: liveWhatsAppPacing, telegram: null })),
  )
