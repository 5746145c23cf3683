/** The whole service in one process, in memory, as the examples embed it. */
import * as Core from "@messaging-service/core"
import * as Simulated from "@messaging-service/emulator"
import { layerCryptoIds, layerQrCodeImages } from "@messaging-service/node"
import * as StoreMemory from "@messaging-service/store-memory"
import { Effect, Layer } from "effect"

/** The core's dependencies. PostgreSQL would replace the store, `WakeUp` and the key. */
const Ports = Layer.mergeAll(
  StoreMemory.layerMediaFiles,
  Simulated.layer,
  layerQrCodeImages,
  Core.Egress.layerClosed,
  Core.WakeUp.layerLocal,
  Core.NumberOwnership.layerAll,
).pipe(
  Layer.provideMerge(StoreMemory.layer),
  // A persistent store needs `Core.SecretsKey.layerHex`, with the same key at every start.
  Layer.provideMerge(Core.SecretsKey.layerRandom),
  Layer.provideMerge(layerCryptoIds),
)

/** Every service, with the worker's loops running while the layer lives. */
export const Service = Core.layer.pipe(Layer.provideMerge(Ports))

/** A workspace with one connected number. */
export const aWorkspace = Effect.gen(function* aWorkspace() {
  const { id } = yield* Core.Workspaces.use((all) => all.create("owner", { name: "Example" }))
  yield* Core.Numbers.use((all) =>
    all.create("owner", id, { platform: "whatsapp", phone: "+15550100001" }),
  )
  return id
})

/** A key to such a workspace. */
export const aKey = Effect.gen(function* aKey() {
  const workspace = yield* aWorkspace
  const { key } = yield* Core.Keys.use((all) =>
    all.create("owner", workspace, { version: 2, name: "Example" }),
  )
  return key
})
