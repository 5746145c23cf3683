/** The port of `docs/writing-a-store.md` follows its part of the contract of stores. */
import * as StoreMemory from "@messaging-service/store-memory/emulator"
import { storeContract } from "@messaging-service/testkit"
import { Layer } from "effect"
import { layerContacts } from "../src/sqliteContacts.ts"

storeContract("contacts in SQLite", Layer.merge(StoreMemory.layer, layerContacts(":memory:")), {
  parallel: false,
  only: ["contacts"],
})
