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
  ShardLeases,
  Version1ListStore,
  WebhookStore,
  WorkStatus,
  WorkspaceStore,
} from "@messaging-service/core/ports"
import { Context, Effect, Layer, Record } from "effect"
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
import { shardLeases } from "./shardLeases.ts"
import { webhookStore } from "./webhookStore.ts"
import { Tables } from "./tables.ts"
import type { Steps } from "./tables.ts"
import { workspaceStore } from "./workspaceStore.ts"
import { workStatus } from "./workStatus.ts"

type Operation = (...input: ReadonlyArray<never>) => unknown

const asEffect =
  (operation: Operation) =>
  (...input: ReadonlyArray<never>) =>
    Effect.suspend(() => {
      const answer = operation(...input)
      return Effect.isEffect(answer) ? answer : Effect.succeed(answer)
    })

/** A port with these operations; each runs when its effect does. */
export const port = <Id, Port extends object>(key: Context.Key<Id, Port>, steps: Steps<Port>) =>
  Context.make(
    key,
    Record.map(steps as Readonly<Record<string, Operation>>, (operation) =>
      Effect.isEffect(operation) ? operation : asEffect(operation),
    ) as Port,
  )

/** Every port over those tables. */
export const memoryStore = (tables: Tables) =>
  Context.mergeAll(
    port(WorkspaceStore, workspaceStore(tables)),
    port(KeyStore, keyStore(tables)),
    port(NumberStore, numberStore(tables)),
    port(LinkingStore, linkingStore(tables)),
    port(ContactStore, contactStore(tables)),
    port(MediaStore, mediaStore(tables)),
    port(NumberCheckStore, numberCheckStore(tables)),
    port(MessageStore, messageStore(tables)),
    port(Outbox, outbox(tables)),
    port(LaneQueue, laneQueue(tables)),
    port(WorkStatus, workStatus(tables)),
    port(ServiceFigures, serviceFigures(tables)),
    port(ServiceSecrets, serviceSecrets(tables)),
    port(ClockStore, clockStore(tables)),
    port(IdempotencyStore, idempotencyStore(tables)),
    port(WebhookStore, webhookStore(tables)),
    port(DeliveryQueue, deliveryQueue(tables)),
    port(CallbackSalts, callbackSalts(tables)),
    port(ReminderStore, reminderStore(tables)),
    port(Version1ListStore, version1ListStore(tables)),
    port(SessionStore, sessionStore(tables)),
    port(ShardLeases, shardLeases(tables)),
  )

/** The ports that the layer gives. */
export type MemoryStore =
  ReturnType<typeof memoryStore> extends Context.Context<infer Ports> ? Ports : never

/** An empty store, a new one each time that the layer is built. */
export const layer: Layer.Layer<MemoryStore> = Layer.syncContext(() => memoryStore(new Tables()))
