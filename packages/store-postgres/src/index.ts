/** The storage ports of the messaging service on PostgreSQL, and on embedded PGlite. */
import { Layer } from "effect"
import { Database } from "./database/Database.ts"
import type { DatabaseOptions } from "./database/Database.ts"
import { layerStores } from "./stores.ts"

export type { ConnectionOptions, DatabaseOptions } from "./database/Database.ts"
export { acceptMessages, acceptStatement } from "./message/acceptMessages.ts"

/**
 * All storage ports on a PostgreSQL that other processes may share. Brings its tables up to date
 * first. Fails with `StoreUnavailable` when the database does not answer.
 */
export const layer = (options: DatabaseOptions) =>
  layerStores.pipe(Layer.provide(Database.layer(options)))
