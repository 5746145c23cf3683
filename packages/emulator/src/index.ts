export { Chance, World } from "./World.ts"
export {
  AdvanceBody,
  BehaviourBody,
  Emulator,
  RegisteredBody,
  ScanBody,
  SentQuery,
  TickBody,
  layer,
  layerEmulator,
} from "./Emulator.ts"
export type { ListSent, ReceivedCopy } from "./Emulator.ts"
export { AwayBody, EditBody, ReactBody, WriteBody } from "./People.ts"
export type { Writing } from "./People.ts"
export { NewChats, RestrictBody } from "./NewChats.ts"
export {
  callSignatures,
  ReceiverAnswerBody,
  receiverName,
  Receivers,
  receiverStatuses,
  receiverUrl,
} from "./Receivers.ts"
export type { CallSignature, Receiver, ReceiverAnswer, ReceiverCall } from "./Receivers.ts"
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
