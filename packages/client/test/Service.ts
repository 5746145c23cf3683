/** The whole service in memory with simulated phones, on a free port of loopback. */
import { layerServer } from "@effect/platform-node/NodeHttpServer"
import { PublicUrl, Worker } from "@messaging-service/core"
import { layerPorts, layerService, layerStoredClock } from "@messaging-service/emulator"
import { HttpOptions, layerHttp } from "@messaging-service/http"
import { emulatorControls } from "@messaging-service/http/emulator"
import { layerQrCodeImages, realTimeLayer } from "@messaging-service/node"
import * as StoreMemory from "@messaging-service/store-memory"
import { Context, Effect, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { createServer } from "node:http"
import { messagingClient, operatorClient } from "../src/index.ts"

export const token = "an operator token for tests of the client"

const publicUrl = "https://messages.test"

const layerServed = layerHttp.pipe(
  Layer.provide(
    Layer.succeed(HttpOptions, {
      operatorToken: Redacted.make(token),
      dashboard: () => Promise.resolve(new Map()),
      emulator: emulatorControls,
      publicUrl,
      trustProxy: false,
    }),
  ),
  Layer.provideMerge(layerServer(createServer, { port: 0, host: "127.0.0.1" })),
  Layer.provide(Worker.layerRunning),
  Layer.provide(
    Layer.provideMerge(
      layerService,
      layerPorts(
        Layer.merge(StoreMemory.layer, StoreMemory.layerMediaFiles),
        Layer.mergeAll(
          layerQrCodeImages,
          layerStoredClock({ poll: null }),
          Layer.succeed(PublicUrl, publicUrl),
        ),
      ),
    ),
  ),
  Layer.provide(realTimeLayer),
  Layer.orDie,
)

/** A running service. */
export class Service extends Context.Service<Service, { readonly url: string }>()("test/Service") {
  static readonly layer = Layer.effect(
    Service,
    Effect.map(HttpServer.HttpServer, ({ address }) => ({
      url: `http://127.0.0.1:${"port" in address ? address.port : 0}`,
    })),
  ).pipe(Layer.provide(layerServed))
}

/** A workspace of that service, with a connected number and clients for both sides. */
export const aWorkspace = async (url: string) => {
  const operator = operatorClient({ url, token })
  const workspace = await operator.workspaces.create({ name: "Shop" })
  const number = await operator.numbers.create(workspace.id, {
    platform: "whatsapp",
    phone: "+15550100001",
  })
  const { key } = await operator.keys.create(workspace.id, { version: 2, name: "Tests" })
  return { operator, workspace, number, key, client: messagingClient({ url, key }) }
}
