/**
 * The store that the configuration selects. Its code loads only when selected: the embedded store is
 * large, and a process on PostgreSQL never needs it.
 */
import { WakeUp } from "@messaging-service/core"
import type { Store, StoreUnavailable } from "@messaging-service/core"
import type { CannotStart } from "@messaging-service/node"
import { Effect, Layer, Redacted } from "effect"
import { join } from "node:path"
import { restrictDataDirectory, lockDirectory } from "./DataDirectory.ts"
import type { ComposedSettings, StoreChoice } from "./Settings.ts"
import { loadPglite } from "./startFaults.ts"

const loadPostgres = Effect.promise(() => import("@messaging-service/store-postgres"))

const memory = Effect.map(
  Effect.promise(() => import("@messaging-service/store-memory")),
  ({ layer }) => Layer.merge(layer, WakeUp.layerLocal),
)

const embedded = (directory: string | null) =>
  Effect.gen(function* () {
    if (directory === null) return yield* Effect.die(new Error("a database without a directory"))
    yield* loadPglite
    yield* lockDirectory(directory)
    const { layerPglite } = yield* loadPostgres
    // The database ignores the umask when it creates files.
    const database = Layer.tap(layerPglite({ dataDir: join(directory, "db") }), () =>
      restrictDataDirectory(directory),
    )
    return Layer.merge(database, WakeUp.layerLocal)
  })

const postgres = (store: Extract<StoreChoice, { readonly schema: string | null }>) =>
  Effect.map(loadPostgres, ({ layer, layerWakeUp }) => {
    const options = {
      ...(store.kind === "pool" ? { pool: store.pool } : { url: Redacted.value(store.url) }),
      ...(store.schema === null ? {} : { schema: store.schema }),
    }
    return Layer.merge(layer(options), layerWakeUp(options))
  })

/** Whether other processes may use the same store. */
export const isShared = (store: StoreChoice): boolean =>
  store.kind === "postgres" || store.kind === "pool"

/**
 * The selected store, opened and migrated, and how it wakes the worker's loops. An embedded store
 * takes a lock against other processes.
 */
export const layerStorage = ({
  dataDirectory,
  store,
}: Pick<ComposedSettings, "dataDirectory" | "store">): Layer.Layer<
  Store | WakeUp,
  CannotStart | StoreUnavailable
> => {
  switch (store.kind) {
    case "memory":
      return Layer.unwrap(memory)
    case "embedded":
      return Layer.unwrap(embedded(dataDirectory))
    case "postgres":
    case "pool":
      return Layer.unwrap(postgres(store))
  }
}
