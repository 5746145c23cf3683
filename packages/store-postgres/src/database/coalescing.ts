/** How the hot calls are coalesced on a pool of a given size. */
import type { StoreUnavailable } from "@messaging-service/core"
import * as SqlError from "effect/sql/SqlError"
import type { CoalescedOptions } from "./Coalesced.ts"
import type { DatabaseService } from "./Database.ts"

/** A batch much larger would make its first caller wait for its last. */
const maximum = 64

/** The hot kinds of calls: admission, loading and accepting. */
const kinds = 3

/** Each kind gets its share of the pool, so that the three never exhaust it together. */
export const coalescing = (database: DatabaseService): CoalescedOptions<StoreUnavailable> => ({
  places: Math.max(1, Math.floor(database.maxConnections / (kinds + 1))),
  maximum,
  separable: ({ cause }) =>
    SqlError.isSqlError(cause) &&
    (cause.reason._tag === "UnknownError" ||
      cause.reason._tag === "ConstraintError" ||
      cause.reason._tag === "UniqueViolation"),
})
