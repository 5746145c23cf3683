/** The store in memory with simulated phones, for `@messaging-service/emulator`. */
import { Store } from "@messaging-service/core"
import { SimulatedPhones } from "@messaging-service/emulator"
import { Context, Layer } from "effect"
import { memoryStore, operations } from "../MemoryStore.ts"
import { simulatedPhones } from "./simulatedPhones.ts"
import { Tables } from "../tables.ts"

export { layerMediaFiles } from "../media.ts"
export { layerForTests, TestControls, whichClient } from "./testControls.ts"

/** An empty store, and phones that have sent nothing; new ones for each build of the layer. */
export const layer: Layer.Layer<Store | SimulatedPhones> = Layer.syncContext(() => {
  const tables = new Tables()
  const phones: typeof SimulatedPhones.Service = operations(simulatedPhones(tables))
  return Context.make(Store, memoryStore(tables)).pipe(Context.add(SimulatedPhones, phones))
})
