/** The store of the messaging service on PostgreSQL, and on embedded PGlite. */
import type { StoreUnavailable } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "./database/Database.ts"
import type { DatabaseOptions } from "./database/Connection.ts"
import { layerPgliteDatabase } from "./pglite/layerPgliteDatabase.ts"
import type { PgliteOptions } from "./pglite/layerPgliteDatabase.ts"
import { layerStores, storesOn } from "./PostgresService.ts"

export { planning } from "./database/Connection.ts"
export type {
  ConnectionOptions,
  DatabaseOptions,
  HostClient,
  HostPool,
} from "./database/Connection.ts"
export { hostsIn } from "./database/DatabaseUrl.ts"
export { examineDatabase, examineEmbeddedDatabase } from "./database/examine.ts"
export type { DatabaseExamination } from "./database/examine.ts"
export { defaultSchema, isSchemaName, qualifier, schemaNameRule } from "./database/Schema.ts"
export type { Element, Params, SqlName, Statement } from "./database/Sql.ts"
export { admitStatement } from "./key/keys.ts"
export { acceptStatement, loadStatement } from "./message/messages.ts"

export type { PgliteOptions } from "./pglite/layerPgliteDatabase.ts"
export { layerWakeUp } from "./queue/lanes.ts"

/**
 * The store on a PostgreSQL that other processes may share. Brings its tables up to date
 * first. Fails with `StoreUnavailable` when the database does not answer.
 */
export const layer = (options: DatabaseOptions) => storesOn(layerStores, Database.layer(options))

/**
 * Brings the tables up to date and does nothing else: for a role that may change the schema, where the
 * one that the service runs as may not. That one needs usage on the schema and its sequences, and select, insert,
 * update and delete on its tables.
 */
export const migrateDatabase = (options: DatabaseOptions): Effect.Effect<void, StoreUnavailable> =>
  Effect.scoped(Effect.asVoid(Layer.build(layer(options))))

/**
 * The same on an embedded PostgreSQL inside this process, which no other process may use meanwhile.
 * The local wake-up of the core is enough for it.
 */
export const layerPglite = (options: PgliteOptions = {}) =>
  storesOn(layerStores, layerPgliteDatabase(options))
