/**
 * The store that the configuration selects. Its code loads only when selected: the embedded store is
 * large, and a process on PostgreSQL never needs it. The same holds for the code of simulated phones.
 */
import { WakeUp } from "@messaging-service/core"
import type { Store, StoreUnavailable } from "@messaging-service/core"
import type { SimulatedPhones } from "@messaging-service/emulator"
import type { DatabaseOptions, PgliteOptions } from "@messaging-service/store-postgres"
import type { CannotStart } from "@messaging-service/node"
import { Effect, Layer, Redacted } from "effect"
import { join } from "node:path"
import { restrictDataDirectory, lockDirectory } from "./DataDirectory.ts"
import type { ComposedSettings, StoreChoice } from "./Settings.ts"
import { loadPglite } from "./startFaults.ts"

/** The modules of each kind of store, which stores `Kept`. */
interface StoreModules<Kept> {
  readonly memory: () => Promise<{ readonly layer: Layer.Layer<Kept> }>
  readonly postgres: () => Promise<{
    readonly layer: (options: DatabaseOptions) => Layer.Layer<Kept, StoreUnavailable>
    readonly layerPglite: (options: PgliteOptions) => Layer.Layer<Kept, StoreUnavailable>
    readonly layerWakeUp: (options: DatabaseOptions) => Layer.Layer<WakeUp, StoreUnavailable>
  }>
}

/** The whole store. */
export const storageAlone: StoreModules<Store> = {
  memory: () => import("@messaging-service/store-memory"),
  postgres: () => import("@messaging-service/store-postgres"),
}

/** The whole store, and that of simulated phones. */
export const storageWithPhones: StoreModules<Store | SimulatedPhones> = {
  memory: () => import("@messaging-service/store-memory/emulator"),
  postgres: () => import("@messaging-service/store-postgres/emulator"),
}

const memory = <Kept>(modules: StoreModules<Kept>) =>
  Effect.map(Effect.promise(modules.memory), ({ layer }) => Layer.merge(layer, WakeUp.layerLocal))

const embedded = <Kept>(modules: StoreModules<Kept>, directory: string | null) =>
  Effect.gen(function* () {
    if (directory === null) return yield* Effect.die(new Error("a database without a directory"))
    yield* loadPglite
    yield* lockDirectory(directory)
    const { layerPglite } = yield* Effect.promise(modules.postgres)
    // The database ignores the umask when it creates files.
    const database = Layer.tap(layerPglite({ dataDir: join(directory, "db") }), () =>
      restrictDataDirectory(directory),
    )
    return Layer.merge(database, WakeUp.layerLocal)
  })

const postgres = <Kept>(
  modules: StoreModules<Kept>,
  store: Extract<StoreChoice, { readonly schema: string | null }>,
) =>
  Effect.map(Effect.promise(modules.postgres), ({ layer, layerWakeUp }) => {
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
export const layerStorage = <Kept>(
  modules: StoreModules<Kept>,
  { dataDirectory, store }: Pick<ComposedSettings, "dataDirectory" | "store">,
): Layer.Layer<Kept | WakeUp, CannotStart | StoreUnavailable> => {
  switch (store.kind) {
    case "memory":
      return Layer.unwrap(memory(modules))
    case "embedded":
      return Layer.unwrap(embedded(modules, dataDirectory))
    case "postgres":
    case "pool":
      return Layer.unwrap(postgres(modules, store))
  }
}
