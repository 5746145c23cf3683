/**
 * Every storage port in memory, over one set of tables that lives as long as the layer: for tests,
 * simulations, and embedders without a database. Nothing survives the process, and no other process
 * sees it.
 */
import {
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
  Outbox,
  ReminderStore,
  ServiceFigures,
  ServiceSecrets,
  SessionStore,
  Version1ListStore,
  WebhookStore,
  WorkStatus,
  WorkspaceStore,
} from "@messaging-service/core/ports"
import { Context, Layer } from "effect"
import { contactStore } from "./contactStore.ts"
import { callbackSalts, deliveryQueue } from "./deliveryQueue.ts"
import { idempotencyStore } from "./idempotency.ts"
import { keyStore } from "./keyStore.ts"
import { laneQueue } from "./laneQueue.ts"
import { linkingStore } from "./linkingStore.ts"
import { mediaStore } from "./mediaStore.ts"
import { messageStore } from "./messageStore.ts"
import { numberCheckStore } from "./numberCheckStore.ts"
import { numberStore } from "./numberStore.ts"
import { version1ListStore } from "./version1ListStore.ts"
import { reminderStore } from "./reminderStore.ts"
import { serviceFigures } from "./serviceFigures.ts"
import { clockStore, outbox, serviceSecrets } from "./serviceStores.ts"
import { sessionStore } from "./sessionStore.ts"
import { webhookStore } from "./webhookStore.ts"
import { Tables } from "./tables.ts"
import { workspaceStore } from "./workspaceStore.ts"
import { workStatus } from "./workStatus.ts"

/** Every port over those tables. */
export const memoryStore = (tables: Tables) =>
  Context.make(WorkspaceStore, workspaceStore(tables)).pipe(
    Context.add(KeyStore, keyStore(tables)),
    Context.add(NumberStore, numberStore(tables)),
    Context.add(LinkingStore, linkingStore(tables)),
    Context.add(ContactStore, contactStore(tables)),
    Context.add(MediaStore, mediaStore(tables)),
    Context.add(NumberCheckStore, numberCheckStore(tables)),
    Context.add(MessageStore, messageStore(tables)),
    Context.add(Outbox, outbox(tables)),
    Context.add(LaneQueue, laneQueue(tables)),
    Context.add(WorkStatus, workStatus(tables)),
    Context.add(ServiceFigures, serviceFigures(tables)),
    Context.add(ServiceSecrets, serviceSecrets(tables)),
    Context.add(ClockStore, clockStore(tables)),
    Context.add(IdempotencyStore, idempotencyStore(tables)),
    Context.add(WebhookStore, webhookStore(tables)),
    Context.add(DeliveryQueue, deliveryQueue(tables)),
    Context.add(CallbackSalts, callbackSalts(tables)),
    Context.add(ReminderStore, reminderStore(tables)),
    Context.add(Version1ListStore, version1ListStore(tables)),
    Context.add(SessionStore, sessionStore(tables)),
  )

/** The ports that the layer gives. */
export type MemoryStore =
  ReturnType<typeof memoryStore> extends Context.Context<infer Ports> ? Ports : never

/** An empty store, a new one each time that the layer is built. */
export const layer: Layer.Layer<MemoryStore> = Layer.syncContext(() => memoryStore(new Tables()))
