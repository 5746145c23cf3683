/**
 * A process that serves the HTTP interface through the listener of the apps, and counts what its
 * clients make it hold. Says where it listens.
 */
import { runMain } from "@effect/platform-node/NodeRuntime"
import { WakeUp, Store } from "@messaging-service/core"
import { HttpOptions, httpApp } from "@messaging-service/http"
import { listen } from "@messaging-service/node/process"
import { Console, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import { text } from "effect/http/HttpServerResponse"
import { countsPath } from "./AttackCounts.ts"
import type { AttackCounts } from "./AttackCounts.ts"
import { servedSettings, servedStore } from "./servedStore.ts"
import { layerService } from "./service.ts"

/** How often to look at the memory. Milliseconds. */
const checkMillis = 20
const mebibyte = 1024 * 1024

let underWay = 0
let peakConcurrentHandlers = 0
let started = 0
let lookUps = 0
let memoryBefore = process.memoryUsage.rss()
let memory = memoryBefore
setInterval(() => {
  memory = Math.max(memory, process.memoryUsage.rss())
}, checkMillis).unref()

const takeCounts = (): AttackCounts => {
  const counts = {
    peakConcurrentHandlers,
    started,
    lookUps,
    peakMemoryGrowthMiB: (memory - memoryBefore) / mebibyte,
  }
  memoryBefore = process.memoryUsage.rss()
  memory = memoryBefore
  peakConcurrentHandlers = underWay
  started = 0
  lookUps = 0
  return counts
}

const layerCounted = Layer.effect(
  Store,
  Effect.map(Store, (store) =>
    Store.of({
      ...store,
      workspaces: {
        ...store.workspaces,
        admit: (query) =>
          Effect.suspend(() => {
            lookUps++
            return store.workspaces.admit(query)
          }),
      },
    }),
  ),
).pipe(Layer.provideMerge(Layer.merge(servedStore, WakeUp.layerLocal)))

const serving = Effect.gen(function* serving() {
  const app = yield* httpApp
  const counted = Effect.acquireUseRelease(
    Effect.sync(() => {
      started++
      peakConcurrentHandlers = Math.max(peakConcurrentHandlers, ++underWay)
    }),
    () => app,
    () => Effect.sync(() => underWay--),
  )
  const listener = yield* listen("127.0.0.1", 0)
  yield* Console.log(`listening on ${listener.url}`)
  return yield* listener.serve(
    Effect.flatMap(HttpServerRequest, ({ url }) =>
      url === countsPath
        ? Effect.sync(() => text(JSON.stringify(takeCounts()), { contentType: "application/json" }))
        : counted,
    ),
  )
})

runMain(
  Effect.scoped(serving).pipe(
    Effect.provide(
      layerService().pipe(
        Layer.provideMerge(layerCounted),
        Layer.provideMerge(Layer.succeed(HttpOptions, servedSettings)),
      ),
    ),
  ),
)
