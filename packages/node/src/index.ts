export { layerDiskMediaFiles } from "./DiskMediaFiles.ts"
export { layerFetchEgress } from "./FetchEgress.ts"
export { layerEgress } from "./GuardedEgress.ts"
export type { EgressOptions } from "./GuardedEgress.ts"
export {
  layerCryptoIds,
  layerNativeHmac,
  layerQrCodeImages,
  qrCodeForTerminal,
  realTimeLayer,
  systemClock,
} from "./NodeServices.ts"
export type { Resolver } from "./GuardedConnection.ts"
