/**
 * Telegram behind the core's ports. Nothing of the library is in the types that are offered: programs are
 * compiled without its declarations.
 */
import type {
  NumberId,
  NumberOwnership,
  NumberProxies,
  SessionVault,
  TelegramTransport,
} from "@messaging-service/core"
import { Layer } from "effect"
import type { Effect } from "effect"
import { Sessions } from "./Account.ts"
import { layerLogin as layerLoginOf } from "./Login.ts"
import type { TelegramSettings } from "./TelegramSettings.ts"
import { layerTransport } from "./Transport.ts"

export { defaultSettings } from "./TelegramSettings.ts"
export type {
  TelegramApplication,
  TelegramServerAddress,
  TelegramSettings,
} from "./TelegramSettings.ts"

/**
 * Sending over one session for each account that is logged in. Sessions are kept while the transport's
 * events are read.
 */
export const layer = (
  settings: TelegramSettings,
): Layer.Layer<TelegramTransport, never, SessionVault | NumberOwnership | NumberProxies> =>
  layerTransport.pipe(Layer.provide(Sessions.layer(settings)))

/**
 * Logging accounts in. `SessionVault` must be one without an owner: any process may log a number in that
 * has no session. `shown` gets each QR code too.
 */
export const layerLogin: (
  settings: TelegramSettings,
  shown?: (numberId: NumberId, url: string) => Effect.Effect<void>,
) => Layer.Layer<never, never, SessionVault | NumberProxies> = layerLoginOf
