/** Every storage port of the core: what a store's layer gives, and what its contract suite needs. */
import type {
  CallbackQueue,
  CallbackSalts,
  ClockStore,
  ContactStore,
  DeliveryQueue,
  IdempotencyStore,
  KeyStore,
  LaneQueue,
  LinkingStore,
  MediaStore,
  MessageStore,
  NumberCheckStore,
  NumberStore,
  OffsetListStore,
  Outbox,
  ReminderStore,
  ServiceFigures,
  ServiceSecrets,
  SimulatedPhones,
  WebhookStore,
  WorkspaceStore,
  WorkStatus,
} from "@messaging-service/core"

export type AllStores =
  | WorkspaceStore
  | KeyStore
  | NumberStore
  | LinkingStore
  | NumberCheckStore
  | ContactStore
  | MediaStore
  | MessageStore
  | Outbox
  | LaneQueue
  | WorkStatus
  | ServiceFigures
  | ServiceSecrets
  | ClockStore
  | SimulatedPhones
  | IdempotencyStore
  | WebhookStore
  | DeliveryQueue
  | CallbackQueue
  | CallbackSalts
  | ReminderStore
  | OffsetListStore
