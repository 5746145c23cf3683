/** Every port behind which simulated phones stand: sending on both platforms, and linking. */
import { Layer } from "effect"
import { layerLinking } from "./SimulatedLinking.ts"
import { layerTransport } from "./SimulatedTransport.ts"

export const layer = Layer.merge(layerTransport, layerLinking)
