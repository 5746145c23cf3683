export { defaultErrorMessage, layer } from "./SimulatedTransport.ts"
