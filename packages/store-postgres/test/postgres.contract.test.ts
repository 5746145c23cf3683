/** The store contract on a real PostgreSQL. */
import { layer as layerPostgres } from "@messaging-service/store-postgres/emulator"
import { EmbeddedPostgres, storeContract } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"

const stores = Layer.unwrap(
  Effect.gen(function* () {
    const postgres = yield* EmbeddedPostgres
    const { database, path, username } = yield* postgres.createDatabase()
    return layerPostgres({ database, path, username })
  }),
).pipe(Layer.provide(EmbeddedPostgres.layer()))

storeContract("the store on PostgreSQL", stores)
