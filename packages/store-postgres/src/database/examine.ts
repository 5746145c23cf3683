/** A look at a database that changes nothing in it, for an operator who asks what keeps a start from working. */
import { Clock, Effect } from "effect"
import type { StoreUnavailable } from "@messaging-service/core"
import { statement } from "./Sql.ts"
import { cannotStart, Database } from "./Database.ts"
import type { DatabaseOptions } from "./Connection.ts"
import { layerPgliteDatabase } from "../pglite/layerPgliteDatabase.ts"
import type { PgliteOptions } from "../pglite/layerPgliteDatabase.ts"
import { schema } from "../migrations/index.ts"
import { examineSchema } from "../migrations/migrate.ts"

export interface DatabaseExamination {
  /** Of PostgreSQL. */
  readonly version: string
  /** Whether it has the tables of the service. */
  readonly hasTables: boolean
  /** What a store keeps to know its secrets key by; null where no service has started on it. */
  readonly secretsKeyMark: string | null
  /** Of the newest media file that a message or a caller may ask for; null where there is none. */
  readonly newestStorageKey: string | null
  /** Its time, and the process's when it was asked for and when it came; epoch milliseconds. */
  readonly clock: {
    readonly requestedAt: number
    readonly databaseAt: number
    readonly answeredAt: number
  }
}

const examine = statement("service.examine")
const getSecret = statement("service.getSecret")
const newestStorageKey = statement("media.newestStorageKey")

const examineConnected = Effect.gen(function* examineConnected() {
  const database = yield* Database
  const requestedAt = yield* Clock.currentTimeMillis
  const found = yield* examine.one(database, {}, (row) => ({
    version: row.version,
    databaseAt: Number(row.millis),
  }))
  const answeredAt = yield* Clock.currentTimeMillis
  const { applied } = yield* database
    .transaction("examine", (run) => examineSchema(run, database.schema, schema))
    .pipe(Effect.mapError(({ cause, operation }) => cannotStart(operation, cause)))
  const hasTables = applied !== null
  return {
    hasTables,
    version: found.version,
    secretsKeyMark: hasTables
      ? yield* getSecret.value(database, { name: "secrets-key-check" })
      : null,
    newestStorageKey: hasTables ? yield* newestStorageKey.value(database, {}) : null,
    clock: { requestedAt, databaseAt: found.databaseAt, answeredAt },
  }
})

/** Fails, as a start on it would, when it cannot be used. */
export const examineDatabase = (
  options: DatabaseOptions,
): Effect.Effect<DatabaseExamination, StoreUnavailable> =>
  Effect.provide(examineConnected, Database.layer({ ...options, maxConnections: 1 }))

/** The same of an embedded one, which this process opens and closes again. */
export const examineEmbeddedDatabase = (
  options: PgliteOptions,
): Effect.Effect<DatabaseExamination, StoreUnavailable> =>
  Effect.provide(examineConnected, layerPgliteDatabase(options))
