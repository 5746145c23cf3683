/** The contracts of stores and of workers that share numbers, on the embedded database. */
import { layerPglite } from "@messaging-service/store-postgres/emulator"
import { ownershipContract, storeContract } from "@messaging-service/testkit"
import { Layer } from "effect"

storeContract("the store on PGlite", layerPglite(), { parallel: false })

ownershipContract("workers on PGlite", Layer.empty, layerPglite(), { histories: 1 })
