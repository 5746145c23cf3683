/**
 * Every storage port in memory, over one world that lives as long as the layer: for tests,
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
import { makeWorld } from "./World.ts"
import type { World } from "./World.ts"
import { workspaceStore } from "./workspaceStore.ts"
import { workStatus } from "./workStatus.ts"

/** Every port over that world. */
export const memoryStore = (world: World) =>
  Context.make(WorkspaceStore, workspaceStore(world)).pipe(
    Context.add(KeyStore, keyStore(world)),
    Context.add(NumberStore, numberStore(world)),
    Context.add(LinkingStore, linkingStore(world)),
    Context.add(ContactStore, contactStore(world)),
    Context.add(MediaStore, mediaStore(world)),
    Context.add(NumberCheckStore, numberCheckStore(world)),
    Context.add(MessageStore, messageStore(world)),
    Context.add(Outbox, outbox(world)),
    Context.add(LaneQueue, laneQueue(world)),
    Context.add(WorkStatus, workStatus(world)),
    Context.add(ServiceFigures, serviceFigures(world)),
    Context.add(ServiceSecrets, serviceSecrets(world)),
    Context.add(ClockStore, clockStore(world)),
    Context.add(IdempotencyStore, idempotencyStore(world)),
    Context.add(WebhookStore, webhookStore(world)),
    Context.add(DeliveryQueue, deliveryQueue(world)),
    Context.add(CallbackSalts, callbackSalts(world)),
    Context.add(ReminderStore, reminderStore(world)),
    Context.add(Version1ListStore, version1ListStore(world)),
    Context.add(SessionStore, sessionStore(world)),
  )

/** The ports that the layer gives. */
export type MemoryStore =
  ReturnType<typeof memoryStore> extends Context.Context<infer Ports> ? Ports : never

/** An empty store, a new one each time that the layer is built. */
export const layer: Layer.Layer<MemoryStore> = Layer.syncContext(() => memoryStore(makeWorld()))
