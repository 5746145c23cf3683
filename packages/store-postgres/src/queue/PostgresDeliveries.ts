/** What is to be delivered to webhook endpoints. */
import { DeliveryQueue } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { DeliveryNews } from "../webhook/DeliveryNews.ts"
import { claimDue } from "./claimDeliveries.ts"
import { settleResultsAndClaim } from "./settleAndClaimDeliveries.ts"
import { settleResults } from "./settleDeliveries.ts"

export const layerDeliveries = Layer.effect(
  DeliveryQueue,
  Effect.gen(function* () {
    const database = yield* Database
    const news = yield* DeliveryNews
    return DeliveryQueue.of({
      claim: claimDue(database),
      settle: settleResults(database),
      settleAndClaim: settleResultsAndClaim(database),
      queued: news.next,
    })
  }),
)
