/** What platforms let numbers do with new chats, as they tell of it (contract: Restrictions). */
import { Clock, Effect } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import { eventId, Ids } from "../model/Ids.ts"
import type { NumberId } from "../model/Ids.ts"
import type { Restrictions } from "../model/Restrictions.ts"
import { Store } from "../store/Store.ts"

/** Makes what stores restrictions as the transport told of them; false while conversations are off. */
export const makeRestrictionsChanged = Effect.gen(function* makeRestrictionsChanged() {
  const { numbers } = yield* Store
  const ids = yield* Ids
  return Effect.fn("restrictionsChanged")(function* (
    id: NumberId,
    restrictions: Restrictions,
  ): Effect.fn.Return<boolean, StoreUnavailable> {
    const now = yield* Clock.currentTimeMillis
    return yield* numbers.restrict(id, restrictions, now, eventId(ids, now))
  })
})
