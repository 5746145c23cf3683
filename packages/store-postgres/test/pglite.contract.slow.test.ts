/** The store contract on the embedded database. One process at a time has it, so no workers share numbers there. */
import { layerPglite } from "@messaging-service/store-postgres"
import { bySize, storeContract, storeTopics } from "@messaging-service/testkit"

storeContract("the store on PGlite", layerPglite(), {
  parallel: false,
  only: bySize({ change: ["acceptance"], all: storeTopics, night: storeTopics }),
})
