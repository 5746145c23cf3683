/** The stores on PostgreSQL and on the embedded database give the answers of the one in memory. */
import { bySize, EmbeddedPostgres } from "@messaging-service/testkit"
import { Layer } from "effect"
import { layerPglite } from "../src/index.ts"
import { asInMemory, onDatabase } from "./asInMemory.ts"

// A server of its own: the outbox is read.
asInMemory("PostgreSQL as the store in memory", onDatabase, {
  shared: EmbeddedPostgres.layer(),
  sequences: bySize({ change: 21, all: 42, night: 400 }),
})

asInMemory("the embedded database as the store in memory", layerPglite(), {
  shared: Layer.empty,
  sequences: bySize({ change: 2, all: 10, night: 100 }),
})
