import * as Core from "@messaging-service/core"
import * as Simulated from "@messaging-service/emulator"
import { toWebHandler } from "@messaging-service/http"
import { layerCryptoIds, layerQrCodeImages } from "@messaging-service/node"
import * as StoreMemory from "@messaging-service/store-memory"
import { Layer, Redacted } from "effect"

const ports = Layer.mergeAll(
  StoreMemory.layerMediaFiles,
  Simulated.layer,
  layerQrCodeImages,
  Core.Egress.layerClosed,
  Core.WakeUp.layerLocal,
  Core.NumberOwnership.layerAll,
).pipe(
  Layer.provideMerge(StoreMemory.layer),
  Layer.provideMerge(Core.SecretsKey.layerRandom),
  Layer.provideMerge(layerCryptoIds),
)

/** `handler` takes a `Request` and promises its `Response`; `dispose` ends the service. */
export const { handler, dispose } = toWebHandler(Core.layer.pipe(Layer.provideMerge(ports)), {
  operatorToken: Redacted.make("an operator's secret"),
  emulator: null,
  publicUrl: "https://messages.example.com",
  trustProxy: false,
})
