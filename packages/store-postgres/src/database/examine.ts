/** A look at a database that changes nothing in it, for an operator who asks what keeps a start from working. */
import { Clock, Effect } from "effect"
import type { StoreUnavailable } from "@messaging-service/core"
import { statement } from "./Sql.ts"
import { Database } from "./Database.ts"
import type { DatabaseOptions } from "./Connection.ts"
import { layerPgliteDatabase } from "../pglite/layerPgliteDatabase.ts"
import type { PgliteOptions } from "../pglite/layerPgliteDatabase.ts"

export interface DatabaseExamination {
  /** Of PostgreSQL. */
  readonly version: string
  /** Whether it has the tables of the service. */
  readonly hasTables: boolean
  /** What a store keeps to know its secrets key by; null where no service has started on it. */
  readonly secretsKeyMark: string | null
  /** Its time, and the process's when it was asked for and when it came; epoch milliseconds. */
  readonly clock: {
    readonly askedAt: number
    readonly databaseAt: number
    readonly answeredAt: number
  }
}

const examine = statement("service.examine")
const getSecret = statement("service.getSecret")

const examineConnected = Effect.gen(function* examineConnected() {
  const database = yield* Database
  const table = `"${database.schema}".messages`
  const askedAt = yield* Clock.currentTimeMillis
  const found = yield* examine.one(database, { table }, (row) => ({
    version: row.version,
    hasTables: row.has_tables,
    databaseAt: Number(row.millis),
  }))
  const answeredAt = yield* Clock.currentTimeMillis
  const secretsKeyMark = found.hasTables
    ? yield* getSecret.value(database, { name: "secrets-key-check" })
    : null
  return {
    secretsKeyMark,
    version: found.version,
    hasTables: found.hasTables,
    clock: { askedAt, databaseAt: found.databaseAt, answeredAt },
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
