/** The store contract on the embedded database. */
import { layerPglite } from "@messaging-service/store-postgres/emulator"
import { storeContract } from "@messaging-service/testkit"

storeContract("the store on PGlite", layerPglite(), { parallel: false })
