/** The in-memory store under the contract of all stores. */
import { storeContract } from "@messaging-service/testkit"
import { layer } from "../src/index.ts"

storeContract("the store in memory", layer, { parallel: false, quick: true })
