/** Every storage port of the core and of the emulator: the dependencies of the contract suite. */
import type {
  BrowserSessionStore,
  CallbackSalts,
  CallersTransactions,
  ClockStore,
  ContactStore,
  DeliveryQueue,
  ErasureStore,
  IdempotencyStore,
  KeyStore,
  LaneQueue,
  LinkingStore,
  MediaStore,
  MessageStore,
  NumberCheckStore,
  NumberStore,
  Outbox,
  ReminderStore,
  RestoreStore,
  ServiceFigures,
  ServiceSecrets,
  SessionStore,
  ShardLeases,
  Version1ListStore,
  WebhookStore,
  DueWork,
  WorkspaceStore,
} from "@messaging-service/core"
import type { SimulatedPhones } from "@messaging-service/emulator"

export type AllStores =
  | WorkspaceStore
  | ErasureStore
  | KeyStore
  | BrowserSessionStore
  | NumberStore
  | LinkingStore
  | NumberCheckStore
  | ContactStore
  | MediaStore
  | MessageStore
  | Outbox
  | LaneQueue
  | DueWork
  | ServiceFigures
  | ServiceSecrets
  | ClockStore
  | SimulatedPhones
  | IdempotencyStore
  | WebhookStore
  | DeliveryQueue
  | CallbackSalts
  | CallersTransactions
  | ReminderStore
  | RestoreStore
  | Version1ListStore
  | SessionStore
  | ShardLeases
