/** Every storage port of the core on one database, which is brought up to date first. */
import * as ports from "@messaging-service/core"
import { Context, Effect, Layer } from "effect"
import { contactStore } from "./PostgresContacts.ts"
import { Database } from "./database/Database.ts"
import { outbox } from "./PostgresOutbox.ts"
import { keyStore } from "./key/PostgresKeys.ts"
import { linkingStore } from "./linking/PostgresLinking.ts"
import { mediaStore } from "./media/PostgresMedia.ts"
import { messageStore } from "./message/PostgresMessages.ts"
import { schema } from "./migrations/index.ts"
import { keepBuild, migrate } from "./migrations/migrate.ts"
import type { Schema } from "./migrations/migrate.ts"
import { serviceFigures } from "./PostgresFigures.ts"
import { numberCheckStore } from "./numberCheck/PostgresNumberChecks.ts"
import { numberStore } from "./number/PostgresNumbers.ts"
import { laneQueue, workStatus } from "./queue/PostgresLanes.ts"
import { callbackSalts, clockStore, serviceSecrets, transactionsOn } from "./PostgresService.ts"
import { reminderStore } from "./reminder/PostgresReminders.ts"
import { restoreStore } from "./restore/PostgresRestore.ts"
import { idempotencyStore } from "./PostgresIdempotency.ts"
import { sessionStore } from "./session/PostgresSessions.ts"
import { shardLeases } from "./session/PostgresShards.ts"
import { version1ListStore } from "./PostgresVersion1Lists.ts"
import { DeliveriesQueued } from "./webhook/queueDeliveries.ts"
import { deliveryQueue } from "./webhook/PostgresDeliveries.ts"
import { webhookStore } from "./webhook/PostgresWebhooks.ts"
import { erasureStore } from "./workspace/PostgresErasure.ts"
import { workspaceStore } from "./workspace/PostgresWorkspaces.ts"

const storesOf = (wanted: Schema) =>
  Effect.gen(function* () {
    const database = yield* Database
    // Not one port is there before the tables are.
    yield* migrate(wanted)
    yield* Effect.forkScoped(keepBuild(wanted))
    const queued = new DeliveriesQueued()
    return Context.mergeAll(
      Context.make(ports.WorkspaceStore, workspaceStore(database)),
      Context.make(ports.ErasureStore, erasureStore(database)),
      Context.make(ports.KeyStore, yield* keyStore(database)),
      Context.make(ports.NumberStore, numberStore(database, queued)),
      Context.make(ports.LinkingStore, linkingStore(database, queued)),
      Context.make(ports.NumberCheckStore, numberCheckStore(database)),
      Context.make(ports.ContactStore, contactStore(database)),
      Context.make(ports.MediaStore, mediaStore(database)),
      Context.make(ports.MessageStore, yield* messageStore(database, queued)),
      Context.make(ports.Outbox, outbox(database)),
      Context.make(ports.LaneQueue, laneQueue(database, queued)),
      Context.make(ports.DueWork, workStatus(database)),
      Context.make(ports.ServiceFigures, serviceFigures(database)),
      Context.make(ports.WebhookStore, webhookStore(database)),
      Context.make(ports.DeliveryQueue, deliveryQueue(database, queued)),
      Context.make(ports.CallbackSalts, callbackSalts(database)),
      Context.make(ports.ReminderStore, reminderStore(database)),
      Context.make(ports.RestoreStore, restoreStore(database)),
      Context.make(ports.Version1ListStore, version1ListStore(database)),
      Context.make(ports.ServiceSecrets, serviceSecrets(database)),
      Context.make(ports.SessionStore, yield* sessionStore(database)),
      Context.make(ports.ShardLeases, shardLeases(database)),
      Context.make(ports.IdempotencyStore, idempotencyStore(database)),
      Context.make(ports.ClockStore, clockStore(database)),
      Context.make(ports.CallersTransactions, yield* transactionsOn(database)),
    )
  })

/** The stores of a version whose tables are these. */
export const layerStoresOf = (wanted: Schema) => Layer.effectContext(storesOf(wanted))

export const layerStores = layerStoresOf(schema)

/**
 * A program shares layers by identity: the stores' own would be those of the first database that it
 * opens. These are made anew, and shared as what they are: the stores on this database.
 */
export const storesOn = <Stores, E, F>(
  stores: Layer.Layer<Stores, E, Database>,
  database: Layer.Layer<Database, F>,
) => Layer.fresh(Layer.provide(stores, database)).pipe(Layer.provide(Layer.empty))
