import { Layer } from "effect"
import { Emulator } from "./Emulator.ts"
import { Idle } from "./Idle.ts"
import { layerLinking } from "./SimulatedLinking.ts"
import { layerTransport } from "./SimulatedTransport.ts"
import { TimeTravel } from "./TimeTravel.ts"

/** Every port behind which simulated phones stand: sending on both platforms, and linking. */
export const layer = Layer.merge(layerTransport, layerLinking)

/** The emulator controls, over the core's services and the simulated phones. */
export const layerEmulator = Emulator.layer.pipe(
  Layer.provide(TimeTravel.layer),
  Layer.provideMerge(Idle.layer),
)
