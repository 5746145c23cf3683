/** Numbers that are shared among workers, over a real PostgreSQL. */
import { layer as layerPostgres } from "@messaging-service/store-postgres/emulator"
import { EmbeddedPostgres, ownershipContract } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"

const stores = Layer.unwrap(
  Effect.gen(function* () {
    const { database, path, username } = yield* (yield* EmbeddedPostgres).createDatabase()
    return layerPostgres({ database, path, username })
  }),
).pipe(Layer.provide(EmbeddedPostgres.layer()))

ownershipContract("workers on PostgreSQL", stores, { histories: 1 })
