/**
 * A process that serves the HTTP interface over a store on PostgreSQL, and nothing else. Says where
 * it listens.
 */
import { layer as layerNodeServer } from "@effect/platform-node/NodeHttpServer"
import { runMain } from "@effect/platform-node/NodeRuntime"
import { WakeUp } from "@messaging-service/core"
import { HttpOptions, layerHttp } from "@messaging-service/http"
import { Console, Effect, Layer } from "effect"
import { HttpServer } from "effect/http/HttpServer"
import { createServer } from "node:http"
import { layerService } from "./service.ts"
import { servedStore, servedSettings } from "./servedStore.ts"

const announced = Layer.effectDiscard(
  Effect.flatMap(HttpServer, ({ address }) =>
    address._tag === "UnixPathAddress"
      ? Effect.void
      : Console.log(`listening on http://127.0.0.1:${address.port}`),
  ),
)

const app = Layer.merge(layerHttp, announced).pipe(
  Layer.provide(layerNodeServer(createServer, { port: 0, host: "127.0.0.1" })),
  Layer.provide(Layer.succeed(HttpOptions, servedSettings)),
  Layer.provide(layerService()),
  Layer.provide(Layer.merge(servedStore, WakeUp.layerLocal)),
)

runMain(Layer.launch(app))
