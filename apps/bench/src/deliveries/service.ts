/** The service's delivery loop, with the way out that it really has. */
import {
  Deliverer,
  Egress,
  OutboundRule,
  SigningSecrets,
  WakeUp,
  WebhookCall,
} from "@messaging-service/core"
import { layerEgress } from "@messaging-service/node"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import type { BenchDatabase } from "../database/BenchDatabase.ts"
import { check } from "../measuring/checks.ts"
import { layerService } from "../serving/service.ts"
import { storeOn } from "../Stage.ts"
import type { Delivery } from "./Delivery.ts"

/** The service's own default. */
const pool = 10

/** Loopback, without TLS. */
const outboundRule = Layer.succeed(OutboundRule, { allowPrivate: true })

/** The way out, which tells when so many calls were answered. */
const layerCountingEgress = (answered: () => void) =>
  Layer.effect(
    Egress,
    Effect.map(Egress, (egress) =>
      Egress.of({
        ...egress,
        post: (url, request, limits) =>
          Effect.onExit(egress.post(url, request, limits), () => Effect.sync(answered)),
      }),
    ),
  ).pipe(Layer.provide(layerEgress()), Layer.provide(outboundRule))

/** Delivers `count` events that wait. */
export const openServiceDelivery = Effect.fnUntraced(function* (
  database: BenchDatabase,
  count: number,
) {
  let calls = 0
  let allAnswered = Deferred.makeUnsafe<void>()
  const answered = () => {
    calls++
    if (calls === count) Deferred.doneUnsafe(allAnswered, Effect.void)
  }
  const service = yield* Layer.build(
    Deliverer.layer.pipe(
      Layer.provideMerge(WebhookCall.layer),
      Layer.provideMerge(layerService(() => undefined, layerCountingEgress(answered))),
      Layer.provideMerge(Layer.merge(storeOn(database, pool), WakeUp.layerLocal)),
      Layer.provide(outboundRule),
    ),
  ).pipe(Effect.orDie)
  const deliverer = Context.get(service, Deliverer)

  const delivery: Delivery = {
    name: "service",
    deliverAll: Effect.gen(function* () {
      calls = 0
      allAnswered = Deferred.makeUnsafe<void>()
      const loop = yield* Effect.forkChild(deliverer.run)
      yield* Deferred.await(allAnswered)
      // A loop that is stopped settles what it has delivered.
      yield* Fiber.interrupt(loop)
    }),
    checkDone: Effect.gen(function* () {
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
