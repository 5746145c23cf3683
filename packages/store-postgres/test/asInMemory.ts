/** The stores of this package compared with the one in memory, which says what is right. */
import * as Memory from "@messaging-service/store-memory"
import { differentialSuite } from "@messaging-service/testkit"
import type { DifferentialOptions } from "@messaging-service/testkit"
import type { Store } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { layer } from "../src/index.ts"
import { aMigratedDatabase, toOptions } from "./databases.ts"

/** On an empty database of a server. */
export const onDatabase = Layer.unwrap(
  Effect.map(aMigratedDatabase(["pg_catalog"]), (database) => layer(toOptions(database))),
)

export const asInMemory = <F, E, R>(
  name: string,
  store: Layer.Layer<Store, F, R>,
  options: DifferentialOptions<E, R>,
): void => differentialSuite(name, Memory.layer, store, options)
