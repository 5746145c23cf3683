/** How the hot calls are coalesced on a pool of a given size. */
import type { StoreUnavailable } from "@messaging-service/core"
import * as SqlError from "effect/sql/SqlError"
import type { CoalescedOptions } from "./Coalesced.ts"
import type { DatabaseService } from "./Database.ts"

/** A batch much larger would make its first caller wait for its last. */
const maximum = 64

/**
 * While one statement of a kind is being flushed or waits for a lock, a second one works. More of
 * them would take callers from one another's batches, and cost more than they gain.
 */
const places = 2

/** There are four hot kinds; a pool that is too small for twice four has less room for each. */
const connectionsForAll = 8

export const coalescing = (database: DatabaseService): CoalescedOptions<StoreUnavailable> => ({
  places: database.maxConnections < connectionsForAll ? 1 : places,
  maximum,
  separable: ({ cause }) =>
    SqlError.isSqlError(cause) &&
    (cause.reason._tag === "UnknownError" ||
      cause.reason._tag === "ConstraintError" ||
      cause.reason._tag === "UniqueViolation"),
})
