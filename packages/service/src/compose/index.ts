/**
 * The whole service as one effect, for programs that are written with Effect: the apps of this
 * repository are made from it, and so is the front door.
 */
export { CannotStart, briefly, storeCannotStart } from "./CannotStart.ts"
export type { ComposedSettings, StoreChoice } from "./ComposedSettings.ts"
export { databaseCommand, databaseCommands } from "./databaseCommands.ts"
export { keepSecret, keptSecret } from "./keptSecret.ts"
export type { SecretKind } from "./keptSecret.ts"
export { logEntry, logLevels } from "./logEntry.ts"
export { openService } from "./openService.ts"
export type { ComposedService } from "./openService.ts"
export { optionalPackage } from "./optionalPackage.ts"
export {
  isOperatorToken,
  mostNumbers,
  operatorTokenRule,
  originRule,
  parseOrigin,
} from "./rules.ts"
export { isShared, wrongSchemaName } from "./Storage.ts"
export { requireNoLinkedNumbers } from "./transports.ts"
export type { LiveTelegram, TransportChoice } from "./transports.ts"
