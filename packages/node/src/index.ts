export { AdjustableClock } from "./AdjustableClock.ts"
export { layerCryptoIds } from "./CryptoIds.ts"
export { realTimeLayer, systemClock } from "./SystemTime.ts"
