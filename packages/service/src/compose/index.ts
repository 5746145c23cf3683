/**
 * The whole service as one effect, for programs that are written with Effect: the apps of this
 * repository are made from it, and so is the facade.
 */
export { storeCannotStart } from "./startFaults.ts"
export type { ComposedSettings, StoreChoice, ServiceSettings } from "./Settings.ts"
export { databaseCommandSummaries, runDatabaseCommand } from "./databaseCommands.ts"
export { storeSecret, loadOrMakeSecret } from "./DataDirectory.ts"
export type { SecretKind } from "./DataDirectory.ts"
export { openService } from "./openService.ts"
export type { ComposedService } from "./openService.ts"
export {
  isOperatorToken,
  operatorTokenRule,
  portNumber,
  serviceSettings,
  serviceVariables,
} from "./Settings.ts"

export { isShared } from "./Storage.ts"
export type { LiveTelegram, LiveWhatsApp, TransportChoice } from "./transports.ts"
