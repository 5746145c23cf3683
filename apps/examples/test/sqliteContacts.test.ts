/** The port of `docs/writing-a-store.md` keeps its part of the contract of stores. */
import { assert, it } from "@effect/vitest"
import * as StoreMemory from "@messaging-service/store-memory/emulator"
import { storeContract, storeTopics } from "@messaging-service/testkit"
import { Layer } from "effect"
import { readFileSync } from "node:fs"
import { layerContacts } from "../src/sqliteContacts.ts"

storeContract("contacts in SQLite", Layer.merge(StoreMemory.layer, layerContacts(":memory:")), {
  parallel: false,
  only: ["contacts"],
})

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8")
const page = read("docs/writing-a-store.md")

it("the guide names every port of a store, and no other", () => {
  const ports = Array.from(
    read("packages/testkit/src/AllStores.ts").matchAll(/^ {2}\| (\w+)$/gm),
    ([, port = ""]) => port,
  ).filter((port) => port !== "SimulatedPhones")
  const named = Array.from(page.matchAll(/^\| `(\w+)`/gm), ([, port = ""]) => port)
  assert.deepStrictEqual([...named].toSorted(), ports.toSorted())
})

it("the guide names every topic of the contract", () => {
  for (const topic of storeTopics) assert.include(page, `\`${topic}\``)
})
