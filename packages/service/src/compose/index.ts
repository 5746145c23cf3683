/**
 * The whole service as one effect, for programs that are written with Effect: the apps of this
 * repository are made from it, and so is the front door.
 */
export { storeCannotStart } from "./cannotStart.ts"
export type { ComposedSettings, StoreChoice } from "./ComposedSettings.ts"
export { databaseCommandSummaries, runDatabaseCommand } from "./databaseCommands.ts"
export { keepSecret, keptSecret } from "./keptSecret.ts"
export type { SecretKind } from "./keptSecret.ts"
export { openService } from "./openService.ts"
export type { ComposedService } from "./openService.ts"
export { isOperatorToken, operatorTokenRule } from "./rules.ts"
export { portNumber, serviceSettings, serviceVariables } from "./ServiceSettings.ts"
export type { ServiceSettings } from "./ServiceSettings.ts"
export { isShared } from "./Storage.ts"
export type { LiveTelegram, LiveWhatsApp, TransportChoice } from "./transports.ts"
