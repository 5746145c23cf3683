/** Every storage port of the core on one database, which is brought up to date first. */
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
import { Context, Effect, Layer } from "effect"
import { contactStore } from "./contact/PostgresContacts.ts"
import { Database } from "./database/Database.ts"
import type { DatabaseService } from "./database/Database.ts"
import { outbox } from "./event/PostgresOutbox.ts"
import { keyStore } from "./key/PostgresKeys.ts"
import { linkingStore } from "./linking/PostgresLinking.ts"
import { mediaStore } from "./media/PostgresMedia.ts"
import { messageStore } from "./message/PostgresMessages.ts"
import { functions, migrations } from "./migrations/index.ts"
import { keepFunctions, migrate } from "./migrations/migrate.ts"
import { serviceFigures } from "./monitoring/PostgresFigures.ts"
import { numberCheckStore } from "./numberCheck/PostgresNumberChecks.ts"
import { numberStore } from "./number/PostgresNumbers.ts"
import { laneQueue, workStatus } from "./queue/PostgresLanes.ts"
import { callbackSalts, clockStore, serviceSecrets } from "./PostgresService.ts"
import { reminderStore } from "./reminder/PostgresReminders.ts"
import { idempotencyStore } from "./request/PostgresIdempotency.ts"
import { sessionStore } from "./session/PostgresSessions.ts"
import { shardLeases } from "./session/PostgresShards.ts"
import { version1ListStore } from "./version1List/PostgresVersion1Lists.ts"
import { DeliveriesQueued } from "./webhook/queueDeliveries.ts"
import { deliveryQueue } from "./webhook/PostgresDeliveries.ts"
import { webhookStore } from "./webhook/PostgresWebhooks.ts"
import { workspaceStore } from "./workspace/PostgresWorkspaces.ts"

/** What live numbers need. */
const live = (database: DatabaseService) =>
  Context.make(SessionStore, sessionStore(database)).pipe(
    Context.add(ShardLeases, shardLeases(database)),
  )

export const layerStores = Layer.effectContext(
  Effect.gen(function* () {
    const database = yield* Database
    // Not one port is there before the tables are.
    yield* migrate(migrations, functions)
    yield* Effect.forkScoped(keepFunctions(functions))
    const queued = new DeliveriesQueued()
    return Context.make(WorkspaceStore, workspaceStore(database)).pipe(
      Context.add(KeyStore, yield* keyStore(database)),
      Context.add(NumberStore, numberStore(database, queued)),
      Context.add(LinkingStore, linkingStore(database, queued)),
      Context.add(NumberCheckStore, numberCheckStore(database)),
      Context.add(ContactStore, contactStore(database)),
      Context.add(MediaStore, mediaStore(database)),
      Context.add(MessageStore, yield* messageStore(database, queued)),
      Context.add(Outbox, outbox(database)),
      Context.add(LaneQueue, laneQueue(database, queued)),
      Context.add(WorkStatus, workStatus(database)),
      Context.add(ServiceFigures, serviceFigures(database)),
      Context.add(WebhookStore, webhookStore(database)),
      Context.add(DeliveryQueue, deliveryQueue(database, queued)),
      Context.add(CallbackSalts, callbackSalts(database)),
      Context.add(ReminderStore, reminderStore(database)),
      Context.add(Version1ListStore, version1ListStore(database)),
      Context.add(ServiceSecrets, serviceSecrets(database)),
      Context.merge(live(database)),
      Context.add(IdempotencyStore, idempotencyStore(database)),
      Context.add(ClockStore, clockStore(database)),
    )
  }),
)

/**
 * A program shares layers by identity: the stores' own would be those of the first database that it
 * opens. These are made anew, and shared as what they are: the stores on this database.
 */
export const storesOn = <Stores, E, F>(
  stores: Layer.Layer<Stores, E, Database>,
  database: Layer.Layer<Database, F>,
) => Layer.fresh(Layer.provide(stores, database)).pipe(Layer.provide(Layer.empty))
