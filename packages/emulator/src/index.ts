export { Chance, World } from "./World.ts"
export {
  AdvanceBody,
  BehaviourBody,
  Emulator,
  RegisteredBody,
  ScanBody,
  SentQuery,
  TickBody,
  WriteBody,
  layer,
  layerEmulator,
} from "./Emulator.ts"
export type { ListSent, ReceivedCopy } from "./Emulator.ts"
export { layerPorts, layerService } from "./Service.ts"
export { Idle, ParkedSends } from "./IdleMonitor.ts"
export {
  layerLinking,
  layerLogin,
  defaultBehaviour,
  isRegistered,
  defaultErrorMessage,
  layerTransport,
} from "./SimulatedTransport.ts"

export { layerStoredClock, MovableClock } from "./AdjustableClock.ts"

export type { Freedom, Process, WorldOptions } from "./World.ts"
