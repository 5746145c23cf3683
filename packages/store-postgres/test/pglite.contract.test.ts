/** The store contract on the embedded database. */
import { layerPglite } from "@messaging-service/store-postgres"
import { storeContract } from "@messaging-service/testkit"

storeContract("the store on PGlite", layerPglite(), { parallel: false })
