/**
 * Telegram behind the core's ports. The public types contain none of the library's: programs compile
 * without its declarations.
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
import { firstDataCentre } from "./Client.ts"
import { layerLogin as getLayerLogin } from "./Login.ts"
import type { TelegramServerAddress, TelegramSettings } from "./TelegramSettings.ts"
import { layerTransport } from "./Transport.ts"

export { defaultSettings } from "./TelegramSettings.ts"
export type {
  TelegramApplication,
  TelegramServerAddress,
  TelegramSettings,
} from "./TelegramSettings.ts"

/** The server of Telegram that an account's first connection goes to. */
export const firstServer: TelegramServerAddress = {
  host: firstDataCentre.ipAddress,
  port: firstDataCentre.port,
}

/** Sending over one session for each account. Sessions stay open while the transport's events are read. */
export const layer = (
  settings: TelegramSettings,
): Layer.Layer<TelegramTransport, never, SessionVault | NumberOwnership | NumberProxies> =>
  layerTransport.pipe(Layer.provide(Sessions.layer(settings)))

/**
 * Logs accounts in. `SessionVault` must be one without an owner: any process may log a number in.
 * `format` receives each QR code.
 */
export const layerLogin: (
  settings: TelegramSettings,
  format?: (numberId: NumberId, url: string) => Effect.Effect<void>,
) => Layer.Layer<never, never, SessionVault | NumberProxies> = getLayerLogin
