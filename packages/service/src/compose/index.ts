/**
 * The whole service as one effect, for programs written with Effect. The apps of this repository and
 * the facade use it.
 */
export { storeCannotStart } from "./startFaults.ts"
export type { ComposedSettings, StoreChoice, ServiceSettings } from "./Settings.ts"
export { databaseCommandSummaries, runDatabaseCommand } from "./databaseCommands.ts"
export { doctorSummary, runDoctor } from "./doctor.ts"
export { storeSecret, loadOrMakeSecret } from "./DataDirectory.ts"
export type { SecretKind } from "./DataDirectory.ts"
export { openService } from "./openService.ts"
export type { ComposedService } from "./openService.ts"
export {
  isOperatorToken,
  operatorToken,
  portNumber,
  serviceSettings,
  serviceVariables,
  variableOf,
} from "./Settings.ts"

export { isShared } from "./Storage.ts"
export type { LiveTelegram, LiveWhatsApp, TransportChoice } from "./transports.ts"
