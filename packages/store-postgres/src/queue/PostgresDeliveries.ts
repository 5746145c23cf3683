/** What is to be delivered to webhook endpoints. */
import { DeliveryQueue } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { DeliveryNews } from "../webhook/DeliveryNews.ts"
import { settleResults, settleResultsAndClaim } from "./turnWebhookLanes.ts"

export const layerDeliveries = Layer.effect(
  DeliveryQueue,
  Effect.gen(function* () {
    const database = yield* Database
    const news = yield* DeliveryNews
    const settleAndClaim = settleResultsAndClaim(database)
    return DeliveryQueue.of({
      claim: (query) => settleAndClaim([], query),
      settle: settleResults(database),
      settleAndClaim,
      queued: news.next,
    })
  }),
)
