/**
 * Transports that the configuration selects: simulated phones, or WhatsApp and Telegram for real. The
 * code of live transports loads only when selected, because it is large.
 */
import {
  ConnectedFromTheStart,
  liveWhatsAppPacing,
  NumberLinking,
  NumberOwnership,
  NumberProxies,
  layerStoredSecrets,
  SentTexts,
  SessionVault,
  StartingPacing,
  TelegramTransport,
  Store,
} from "@messaging-service/core"
import type {
  WakeUp,
  Ids,
  Secrets,
  LinkingEvent,
  NumberId,
  PhoneDirectory,
  StoreUnavailable,
  WhatsAppTransport,
} from "@messaging-service/core"
import {
  CannotStart,
  layerLibraryGuard,
  layerProxyProbe,
  qrCodeForTerminal,
} from "@messaging-service/node"
import type { ProxyTarget } from "@messaging-service/node"
import { Effect, Layer, Stream } from "effect"
import type { Redacted } from "effect"
import { optionalPackage, SettingFault } from "./startFaults.ts"

/** Destination of linking codes as text. */
type Write = (text: string) => void

/** Writes the code that a phone must scan for that number. */
const writeCode =
  (write: Write) =>
  (numberId: NumberId, text: string): Effect.Effect<void> =>
    Effect.map(qrCodeForTerminal(text), (code) =>
      write(`Scan this to link number ${numberId}:\n${code}`),
    )

/**
 * Linking that also writes each QR code as text for the person at the terminal. The link to the
 * picture needs a browser.
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
 * Settings of a live transport. They repeat the transport's own settings, and a check below compares
 * both. This package's declarations must compile without a transport that is not installed.
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
      /** Whether simulated Telegram accounts can log in. Default: no. */
      readonly hasApplication?: boolean
    }
  | {
      readonly kind: "live"
      /** The configured values; the transport adds the rest. */
      readonly whatsApp: LiveWhatsApp
      /** The same; without it the service connects no Telegram account. */
      readonly telegram?: LiveTelegram
    }

type LiveChoice = Extract<TransportChoice, { readonly kind: "live" }>

/** Without an application Telegram admits no client. */
const layerNoTelegram = Layer.succeed(TelegramTransport, {
  dropsCopies: true,
  send: () => Effect.succeed({ _tag: "NotConnected" }),
  listen: () => Effect.never,
})

/** Destination of linking codes as text; null for none. */
export type ShowCode = ((text: string) => void) | null

const layerCodes = (showCode: ShowCode) =>
  showCode === null ? Layer.effect(NumberLinking, NumberLinking) : layerTerminalCodes(showCode)

/** Fails with a line that names the package to install. */
const loadWhatsApp = () =>
  optionalPackage(
    "@messaging-service/transport-whatsapp",
    "live",
    () => import("@messaging-service/transport-whatsapp"),
  )

const loadTelegram = () =>
  optionalPackage(
    "@messaging-service/transport-telegram",
    "telegram",
    () => import("@messaging-service/transport-telegram"),
  )

/** Servers that a transport connects to. */
export interface RemoteServer {
  readonly name: string
  readonly host: string
  readonly port: number
}

/** The address of WhatsApp, or of the server that stands in for it. */
const whatsAppServer = ({ whatsApp }: LiveChoice) =>
  Effect.map(loadWhatsApp(), ({ defaultSettings }): ProxyTarget => {
    const { hostname, port, protocol } = whatsApp.url ?? defaultSettings.url
    return {
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: Number(port) || (protocol === "ws:" ? 80 : 443),
    }
  })

/** Checks of proxies connect to the servers that the transports connect to. */
const layerProbe = (choice: LiveChoice): Layer.Layer<never, CannotStart> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { telegram } = choice
      return layerProxyProbe({
        whatsapp: yield* whatsAppServer(choice),
        telegram:
          telegram === undefined ? null : (telegram.server ?? (yield* loadTelegram()).firstServer),
      })
    }),
  )

/**
 * The remote servers of the chosen transports; it loads their packages. Telegram's own are named by its
 * library at the first login.
 */
export const remoteServers = (
  choice: TransportChoice,
): Effect.Effect<ReadonlyArray<RemoteServer>, CannotStart> =>
  Effect.gen(function* () {
    if (choice.kind === "simulated") return []
    const whatsApp = { name: "WhatsApp", ...(yield* whatsAppServer(choice)) }
    if (choice.telegram === undefined) return [whatsApp]
    yield* loadTelegram()
    const { server } = choice.telegram
    return server === undefined ? [whatsApp] : [whatsApp, { name: "Telegram", ...server }]
  })

const layerWhatsApp = ({
  whatsApp,
}: LiveChoice): Layer.Layer<
  WhatsAppTransport | PhoneDirectory | NumberLinking,
  CannotStart,
  SessionVault | NumberProxies | Store | NumberOwnership | SentTexts
> =>
  Layer.unwrap(
    Effect.map(loadWhatsApp(), ({ defaultSettings, layer }) =>
      layer({ ...defaultSettings, ...whatsApp }),
    ),
  )

/**
 * A login has its own vault: it takes no number from a worker, and never writes for a number that has
 * one.
 */
const layerUnownedVault = Layer.fresh(SessionVault.layer).pipe(
  Layer.provide(Layer.fresh(NumberOwnership.layerAll)),
)

const layerTelegram = (
  { telegram }: LiveChoice,
  showCode: ShowCode,
): Layer.Layer<
  TelegramTransport,
  CannotStart,
  SessionVault | NumberProxies | NumberOwnership | Store | Secrets | Ids | WakeUp
> =>
  telegram === undefined
    ? layerNoTelegram
    : Layer.unwrap(
        Effect.map(loadTelegram(), ({ defaultSettings, layer, layerLogin }) => {
          const settings = { ...defaultSettings, ...telegram }
          return Layer.merge(
            layer(settings),
            layerLogin(settings, showCode === null ? undefined : writeCode(showCode)).pipe(
              Layer.provide(layerUnownedVault),
            ),
          )
        }),
      )

/**
 * Fails when the store has numbers linked for real. A simulated phone would take their messages, and
 * report as sent what never left. Removed and logged-out numbers have no messages to take.
 */
export const requireNoLinkedNumbers: Effect.Effect<void, CannotStart | StoreUnavailable, Store> =
  Effect.gen(function* () {
    const sessions = yield* (yield* Store).sessions.list
    if (sessions.every(({ leavingSince, removed }) => removed || leavingSince !== null)) return
    return yield* new SettingFault(
      "simulated",
      ({ live, simulated }) =>
        `${simulated} cannot use a store with really linked numbers, whose messages would count as sent: use ${live}`,
    )
  })

export const layerLive = (choice: LiveChoice, showCode: ShowCode) =>
  layerCodes(showCode).pipe(
    Layer.provideMerge(layerWhatsApp(choice)),
    Layer.merge(layerTelegram(choice, showCode)),
    Layer.provide(SessionVault.layer),
    Layer.provide([NumberProxies.layer, SentTexts.layer]),
    Layer.provide(layerStoredSecrets),
    Layer.merge(Layer.succeed(ConnectedFromTheStart, false)),
    Layer.merge(layerProbe(choice)),
    Layer.merge(Layer.succeed(StartingPacing, { whatsapp: liveWhatsAppPacing, telegram: null })),
    Layer.provideMerge(layerLibraryGuard),
  )
