/** Numbers shared among workers, over the store in memory. */
import { layer } from "@messaging-service/store-memory"
import { ownershipContract } from "@messaging-service/testkit"
import { Layer } from "effect"

ownershipContract("workers on the store in memory", Layer.empty, layer)
