export { CannotStart, briefly } from "./CannotStart.ts"
export { examineDisk, holdsMediaFile, layerDiskMediaFiles } from "./DiskMediaFiles.ts"
export {
  byteSize,
  oneOf,
  readVariables,
  trueOrFalse,
  variable,
  wholeNumber,
} from "./Environment.ts"
export type { Environment, VariablesOf } from "./Environment.ts"
export { layerFetchEgress, layerEgress } from "./Egress.ts"
export type { EgressOptions } from "./Egress.ts"
export { layerLibraryGuard } from "./LibraryGuard.ts"
export { logEntry, logLevels } from "./Logging.ts"
export type { LogEntry, LogSettings } from "./Logging.ts"
export {
  layerCryptoIds,
  layerNativeHmac,
  layerQrCodeImages,
  qrCodeForTerminal,
  realTimeLayer,
  systemClock,
} from "./NodeServices.ts"
export { layerProxyProbe } from "./ProxyProbe.ts"
export type { ProxyTarget } from "./ProxyProbe.ts"
export type { Resolver } from "./Connections.ts"
