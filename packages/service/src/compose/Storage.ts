/**
 * The store that the configuration chooses. Its code is loaded only when it is chosen: a process on
 * PostgreSQL never loads the embedded one, which is large.
 */
import { WakeUp } from "@messaging-service/core"
import type { StoreUnavailable } from "@messaging-service/core"
import type { SimulatedPhones } from "@messaging-service/emulator"
import type { MemoryStore } from "@messaging-service/store-memory"
import { Effect, Layer, Redacted } from "effect"
import { join } from "node:path"
import type { CannotStart } from "./CannotStart.ts"
import { closeDataDirectory, holdAlone } from "./DataDirectory.ts"
import type { ComposedSettings, StoreChoice } from "./ComposedSettings.ts"
import { optionalPackage } from "./optionalPackage.ts"

/** Every storage port, what simulated phones keep, and how the worker's loops are woken where that store is used. */
export type Storage = MemoryStore | SimulatedPhones | WakeUp

/** A module that is part of the installation. */
const loading = <Module>(load: () => Promise<Module>) => Effect.promise(load)

const memory = Effect.map(
  loading(() => import("@messaging-service/store-memory/emulator")),
  ({ layer }) => Layer.merge(layer, WakeUp.layerLocal),
)

const embedded = (directory: string | null) =>
  Effect.gen(function* () {
    if (directory === null) return yield* Effect.die(new Error("a database without a directory"))
    yield* optionalPackage(
      "@electric-sql/pglite",
      "the embedded database",
      () => import("@electric-sql/pglite"),
    )
    yield* holdAlone(directory)
    const { layerPglite } = yield* loading(
      () => import("@messaging-service/store-postgres/emulator"),
    )
    // It gives the files of a new database modes of its own, whatever the umask.
    const database = Layer.tap(layerPglite({ dataDir: join(directory, "db") }), () =>
      closeDataDirectory(directory),
    )
    return Layer.merge(database, WakeUp.layerLocal)
  })

const postgres = (store: Extract<StoreChoice, { readonly schema: string | null }>) =>
  Effect.map(
    loading(() => import("@messaging-service/store-postgres/emulator")),
    ({ layer, layerWakeUp }) => {
      const options = {
        ...(store.kind === "pool" ? { pool: store.pool } : { url: Redacted.value(store.url) }),
        ...(store.schema === null ? {} : { schema: store.schema }),
      }
      return Layer.merge(layer(options), layerWakeUp(options))
    },
  )

/** Whether other processes may use the same store. */
export const isShared = (store: StoreChoice): boolean =>
  store.kind === "postgres" || store.kind === "pool"

/**
 * The chosen store, opened and brought up to date. An embedded one is held against other processes.
 */
export const layerStorage = ({
  dataDirectory,
  store,
}: Pick<ComposedSettings, "dataDirectory" | "store">): Layer.Layer<
  Storage,
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
