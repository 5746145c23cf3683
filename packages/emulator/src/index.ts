export { Chance } from "./Chance.ts"
export {
  AdvanceBody,
  BehaviourBody,
  BehaviourJson,
  ClockJson,
  Emulator,
  RegisteredBody,
  RegisteredJson,
  ScanBody,
  SentJson,
  SentQuery,
  TickBody,
  layer,
  layerEmulator,
} from "./Emulator.ts"
export type { ListSent } from "./Emulator.ts"
export { Idle, ParkedSends } from "./Idle.ts"
export { layerLinking } from "./SimulatedLinking.ts"
export { layerLogin } from "./SimulatedLogin.ts"
export { SimulatedPhones, defaultBehaviour, isRegistered } from "./SimulatedPhones.ts"
export type { Behaviour, SentCopy, SentMedia } from "./SimulatedPhones.ts"
export { defaultErrorMessage, layerTransport } from "./SimulatedTransport.ts"
export { layerStoredClock } from "./StoredClock.ts"
export { MovableClock } from "./TimeTravel.ts"
export { World } from "./World.ts"
export type { Freedom, Process, WorldOptions } from "./World.ts"
