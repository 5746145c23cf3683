/**
 * WhatsApp behind the core's ports. The public types contain none of the library's: programs compile
 * without its declarations.
 */
import type {
  NumberLinking,
  NumberOwnership,
  NumberProxies,
  PhoneDirectory,
  SentTexts,
  SessionVault,
  WhatsAppTransport,
  Store,
} from "@messaging-service/core"
import { Layer } from "effect"
import { layerLinking } from "./Linking.ts"
import { Sessions } from "./Account.ts"
import type { WhatsAppSettings } from "./WhatsAppSettings.ts"
import { layerTransport } from "./Transport.ts"

export { defaultSettings } from "./WhatsAppSettings.ts"
export type { ClientVersion, WhatsAppSettings } from "./WhatsAppSettings.ts"

/** Sending, number checks and linking. Sessions stay open while the transport's events are read. */
export const layer = (
  settings: WhatsAppSettings,
): Layer.Layer<
  WhatsAppTransport | PhoneDirectory | NumberLinking,
  never,
  SessionVault | Store | NumberOwnership | NumberProxies | SentTexts
> =>
  Layer.merge(layerTransport, layerLinking(settings)).pipe(Layer.provide(Sessions.layer(settings)))
