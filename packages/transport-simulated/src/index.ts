export { layer } from "./layer.ts"
export { layerLinking } from "./SimulatedLinking.ts"
export { defaultErrorMessage, layerTransport } from "./SimulatedTransport.ts"
