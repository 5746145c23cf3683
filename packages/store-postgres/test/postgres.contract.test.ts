/** The store contract on a real PostgreSQL. */
import { layer as layerPostgres } from "@messaging-service/store-postgres"
import { EmbeddedPostgres, storeContract } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import { aMigratedDatabase, toOptions } from "./databases.ts"

const stores = Layer.unwrap(
  Effect.map(aMigratedDatabase(["pg_catalog"]), (database) => layerPostgres(toOptions(database))),
).pipe(Layer.provide(EmbeddedPostgres.layer()))

storeContract("the store on PostgreSQL", stores)
