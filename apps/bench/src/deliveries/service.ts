/** The service's delivery loop, with the way out that it really has. */
import { OutboundRule, SigningSecrets, WakeUp, makeDeliverer, Store } from "@messaging-service/core"
import { layerEgress } from "@messaging-service/node"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import type { BenchDatabase } from "../database/BenchDatabase.ts"
import { check } from "../measuring/checks.ts"
import { layerService } from "../serving/service.ts"
import { storeOn } from "../Setup.ts"
import type { Delivery } from "./Delivery.ts"

/** The service's own default. */
const pool = 10

/** Loopback, without TLS. */
const outboundRule = Layer.succeed(OutboundRule, { allowPrivate: true })

/** The store's queue, which counts the settled results. */
const layerCountingQueue = (settled: (count: number) => void) =>
  Layer.effect(
    Store,
    Effect.map(Store, (store) =>
      Store.of({
        ...store,
        webhooks: {
          ...store.webhooks,
          settleDeliveries: (results) =>
            Effect.tap(store.webhooks.settleDeliveries(results), () =>
              Effect.sync(() => settled(results.length)),
            ),
          settleAndClaimDeliveries: (results, query) =>
            Effect.tap(store.webhooks.settleAndClaimDeliveries(results, query), () =>
              Effect.sync(() => settled(results.length)),
            ),
        },
      }),
    ),
  )

/** Delivers `count` events that wait. */
export const openServiceDelivery = Effect.fnUntraced(function* openServiceDelivery(
  database: BenchDatabase,
  count: number,
) {
  const egress = layerEgress().pipe(Layer.provide(outboundRule))
  let settled = 0
  let allSettled = Deferred.makeUnsafe<void>()
  const layerStore = layerCountingQueue((results) => {
    settled += results
    if (settled === count) Deferred.doneUnsafe(allSettled, Effect.void)
  }).pipe(Layer.provideMerge(storeOn(database, pool)))
  const service = yield* Layer.build(
    layerService(() => undefined, egress).pipe(
      Layer.provideMerge(Layer.merge(layerStore, WakeUp.layerLocal)),
      Layer.provideMerge(outboundRule),
    ),
  ).pipe(Effect.orDie)
  const deliverer = yield* Effect.provide(makeDeliverer, service)

  const delivery: Delivery = {
    name: "service",
    deliverAll: Effect.gen(function* deliverAll() {
      settled = 0
      allSettled = Deferred.makeUnsafe<void>()
      const loop = yield* Effect.forkChild(deliverer.run)
      yield* Deferred.await(allSettled)
      yield* Fiber.interrupt(loop)
    }),
    checkDone: Effect.gen(function* checkDone() {
      yield* check(
        "deliveries left",
        yield* database.count("select count(*) from webhook_deliveries"),
        0,
      )
      yield* check(
        "deliveries in the log",
        yield* database.count(
          "select count(distinct event_id) from webhook_attempts where response_status = 200 and error is null",
        ),
        count,
      )
      yield* check(
        "attempts in the log",
        yield* database.count("select count(*) from webhook_attempts"),
        count,
      )
      yield* check(
        "endpoints left in hand or due",
        yield* database.count(
          "select count(*) from webhook_lanes where held_ids <> '{}' or next_due is not null",
        ),
        0,
      )
    }),
  }
  return { delivery, signingSecrets: Context.get(service, SigningSecrets) }
})
