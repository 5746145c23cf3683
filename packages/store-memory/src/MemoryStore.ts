/**
 * Every storage port in memory, over one set of tables that lives as long as the layer: for tests,
 * simulations, and embedders without a database. Nothing survives the process, and no other process sees it.
 */
import * as ports from "@messaging-service/core"
import { Context, Effect, Layer, Record } from "effect"
import { contactStore, erasureStore, keyStore, restoreStore, workspaceStore } from "./workspaces.ts"
import { browserSessionStore } from "./browserSessions.ts"
import { callbackSalts, deliveryQueue, webhookStore } from "./webhooks.ts"
import { idempotencyStore, Tables } from "./tables.ts"
import { laneQueue } from "./lanes.ts"
import { linkingStore, numberStore } from "./numbers.ts"
import { mediaStore } from "./media.ts"
import { messageStore, version1ListStore } from "./messages.ts"
import { numberCheckStore } from "./numberChecks.ts"
import { reminderStore } from "./reminders.ts"
import { serviceFigures, workStatus } from "./service.ts"
import { clockStore, outbox, serviceSecrets } from "./serviceStores.ts"
import { sessionStore, shardLeases } from "./sessions.ts"
import type { Steps } from "./collections.ts"

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

export const memoryStore = (tables: Tables) =>
  Context.mergeAll(
    port(ports.WorkspaceStore, workspaceStore(tables)),
    port(ports.ErasureStore, erasureStore(tables)),
    port(ports.KeyStore, keyStore(tables)),
    port(ports.BrowserSessionStore, browserSessionStore(tables)),
    port(ports.NumberStore, numberStore(tables)),
    port(ports.LinkingStore, linkingStore(tables)),
    port(ports.ContactStore, contactStore(tables)),
    port(ports.MediaStore, mediaStore(tables)),
    port(ports.NumberCheckStore, numberCheckStore(tables)),
    port(ports.MessageStore, messageStore(tables)),
    port(ports.Outbox, outbox(tables)),
    port(ports.LaneQueue, laneQueue(tables)),
    port(ports.DueWork, workStatus(tables)),
    port(ports.ServiceFigures, serviceFigures(tables)),
    port(ports.ServiceSecrets, serviceSecrets(tables)),
    port(ports.ClockStore, clockStore(tables)),
    port(ports.IdempotencyStore, idempotencyStore(tables)),
    port(ports.WebhookStore, webhookStore(tables)),
    port(ports.DeliveryQueue, deliveryQueue(tables)),
    port(ports.CallbackSalts, callbackSalts(tables)),
    port(ports.ReminderStore, reminderStore(tables)),
    port(ports.RestoreStore, restoreStore(tables)),
    port(ports.Version1ListStore, version1ListStore(tables)),
    port(ports.SessionStore, sessionStore(tables)),
    port(ports.ShardLeases, shardLeases(tables)),
    Context.make(ports.CallersTransactions, ports.CallersTransactions.none),
  )

/** The ports that the layer provides. */
export type MemoryStore =
  ReturnType<typeof memoryStore> extends Context.Context<infer Ports> ? Ports : never

/** An empty store, a new one for each build of the layer. */
export const layer: Layer.Layer<MemoryStore> = Layer.syncContext(() => memoryStore(new Tables()))
