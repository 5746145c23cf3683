/** How far each named subscription has come, and who has its lease. */
import type { StoredSubscription, SubscriptionStore } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"

const find = statement("subscription.find")
const insert = statement("insert_subscription")
const claim = statement("subscription.claim")
const save = statement("subscription.save")
const forget = statement("subscription.forget")

const toSubscription = (row: Row<"subscription.find">): StoredSubscription => ({
  reached: Number(row.reached),
  lease: Number(row.lease),
  leaseUntil: row.lease_until.getTime(),
})

export const subscriptionStore = (database: DatabaseService): SubscriptionStore => ({
  findSubscription(name) {
    return find.first(database, { name }, toSubscription)
  },
  insertSubscription(subscription) {
    return Effect.map(
      insert.value(database, subscription),
      (outcome) => outcome as "inserted" | "exists" | "full",
    )
  },
  claimSubscription(requested) {
    return claim.first(database, requested, toSubscription)
  },
  saveSubscription(subscription) {
    return save.any(database, subscription)
  },
  forgetSubscriptions(before) {
    return forget.run(database, { before })
  },
})
