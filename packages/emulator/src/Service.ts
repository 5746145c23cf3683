/**
 * The whole service with simulated phones, composed once: programs, `openTest` and tests take it from here
 * and bring their store and ways out.
 */
import {
  Egress,
  Ids,
  layerServices,
  layerWorker,
  NumberOwnership,
  SecretsKey,
  WakeUp,
} from "@messaging-service/core"
import type { MediaFiles, Store } from "@messaging-service/core"
import { Layer } from "effect"
import { layer, layerEmulator } from "./Emulator.ts"
import { layerForgetting, layerReceivers } from "./Receivers.ts"

/**
 * The services, the worker and the emulator controls, over any ports; deliveries to receivers stay within the
 * process. The worker does not run yet.
 */
export const layerService = layerEmulator.pipe(
  Layer.provideMerge(layerForgetting),
  Layer.provideMerge(layerWorker),
  Layer.provideMerge(layerServices),
  Layer.provideMerge(layerReceivers),
)

/**
 * The ports of a single process: it owns all numbers, sends from simulated phones and calls no address.
 * Those in `instead` take the place of these.
 */
export const layerPorts = <Stored, E, R, Instead, E2, R2>(
  stored: Layer.Layer<Stored | Store | MediaFiles, E, R>,
  instead: Layer.Layer<Instead, E2, R2>,
) =>
  instead.pipe(
    Layer.provideMerge(layer),
    Layer.provideMerge(
      Layer.mergeAll(WakeUp.layerLocal, NumberOwnership.layerAll, Egress.layerClosed),
    ),
    Layer.provideMerge(stored),
    Layer.provideMerge(SecretsKey.layerHex("5e".repeat(32))),
    Layer.provideMerge(Ids.layerRandom),
  )
