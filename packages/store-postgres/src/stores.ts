/** Every storage port of the core on one database, which is brought up to date first. */
import { Effect, Layer } from "effect"
import { layerContacts } from "./contact/PostgresContacts.ts"
import type { Database } from "./database/Database.ts"
import { layerOutbox } from "./event/PostgresOutbox.ts"
import { layerKeys } from "./key/PostgresKeys.ts"
import { layerLinking } from "./linking/PostgresLinking.ts"
import { layerMedia } from "./media/PostgresMedia.ts"
import { layerMessages } from "./message/PostgresMessages.ts"
import { functions, migrations } from "./migrations/index.ts"
import { keepFunctions, migrate } from "./migrations/migrate.ts"
import { layerServiceFigures } from "./monitoring/PostgresFigures.ts"
import { layerNumberChecks } from "./numberCheck/PostgresNumberChecks.ts"
import { layerNumbers } from "./number/PostgresNumbers.ts"
import { layerLanes, layerWorkStatus } from "./queue/PostgresLanes.ts"
import { layerCallbackSalts, layerClock, layerSecrets } from "./PostgresService.ts"
import { layerReminders } from "./reminder/PostgresReminders.ts"
import { layerIdempotency } from "./request/PostgresIdempotency.ts"
import { layerSessions } from "./session/PostgresSessions.ts"
import { layerVersion1Lists } from "./version1List/PostgresVersion1Lists.ts"
import { DeliveriesQueued } from "./webhook/queueDeliveries.ts"
import { layerDeliveries } from "./webhook/PostgresDeliveries.ts"
import { layerWebhooks } from "./webhook/PostgresWebhooks.ts"
import { layerWorkspaces } from "./workspace/PostgresWorkspaces.ts"

export const layerStores = Layer.mergeAll(
  layerWorkspaces,
  layerKeys,
  layerNumbers,
  layerLinking,
  layerNumberChecks,
  layerContacts,
  layerMedia,
  layerMessages,
  layerOutbox,
  layerLanes,
  layerWorkStatus,
  layerServiceFigures,
  layerWebhooks,
  layerDeliveries,
  layerCallbackSalts,
  layerReminders,
  layerVersion1Lists,
  layerSecrets,
  layerSessions,
  layerIdempotency,
  layerClock,
).pipe(
  Layer.provide(DeliveriesQueued.layer),
  // Not one port is there before the tables are.
  Layer.provide(
    Layer.effectDiscard(
      Effect.andThen(migrate(migrations, functions), Effect.forkScoped(keepFunctions(functions))),
    ),
  ),
)

/**
 * A program shares layers by identity: the stores' own would be those of the first database that it
 * opens. These are made anew, and shared as what they are: the stores on this database.
 */
export const storesOn = <Stores, E, F>(
  stores: Layer.Layer<Stores, E, Database>,
  database: Layer.Layer<Database, F>,
) => Layer.fresh(Layer.provide(stores, database)).pipe(Layer.provide(Layer.empty))
