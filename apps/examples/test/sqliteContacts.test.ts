/** The contacts of `docs/writing-a-store.md` keep their part of the contract of stores. */
import * as StoreMemory from "@messaging-service/store-memory"
import { storeContract } from "@messaging-service/testkit"
import { Layer } from "effect"
import { layerContacts } from "../src/sqliteContacts.ts"

const layer = layerContacts(":memory:").pipe(Layer.provideMerge(StoreMemory.layer))

storeContract("contacts in SQLite", layer, { parallel: false, only: ["contacts"] })
