/** The store together with simulated phones, for `@messaging-service/emulator`. */
import { Layer } from "effect"
import { Database } from "../database/Database.ts"
import type { DatabaseOptions } from "../database/Connection.ts"
import { layerPgliteDatabase } from "../pglite/layerPgliteDatabase.ts"
import type { PgliteOptions } from "../pglite/layerPgliteDatabase.ts"
import { layerStores, storesOn } from "../PostgresService.ts"
import { layerSimulatedPhones } from "./PostgresSimulatedPhones.ts"

export { layerWakeUp } from "../queue/lanes.ts"

const storesWithPhones = Layer.provideMerge(layerSimulatedPhones, layerStores)

/** The store and simulated phones on a PostgreSQL that other processes may share. */
export const layer = (options: DatabaseOptions) =>
  storesOn(storesWithPhones, Database.layer(options))

/** The same on an embedded PostgreSQL inside this process. */
export const layerPglite = (options: PgliteOptions = {}) =>
  storesOn(storesWithPhones, layerPgliteDatabase(options))
