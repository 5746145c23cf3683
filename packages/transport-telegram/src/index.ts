/**
 * Telegram behind the core's ports. Nothing of the library is in the types that are offered: programs are
 * compiled without its declarations.
 */
import type {
  NumberOwnership,
  NumberProxies,
  SessionVault,
  TelegramTransport,
} from "@messaging-service/core"
import { Layer } from "effect"
import { Sessions } from "./Account.ts"
import type { TelegramSettings } from "./Client.ts"
import { layerTransport } from "./Transport.ts"

export { layerLogin } from "./Login.ts"
export { defaultSettings } from "./Client.ts"
export type { TelegramApplication, TelegramServerAddress, TelegramSettings } from "./Client.ts"

/**
 * Sending over one session for each account that is logged in. Sessions are kept while the transport's
 * events are read.
 */
export const layer = (
  settings: TelegramSettings,
): Layer.Layer<TelegramTransport, never, SessionVault | NumberOwnership | NumberProxies> =>
  layerTransport.pipe(Layer.provide(Sessions.layer(settings)))
