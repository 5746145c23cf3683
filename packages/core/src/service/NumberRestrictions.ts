/** What platforms let numbers do with new chats, as they report it (contract: Restrictions). */
import { Clock, Effect } from "effect"
import type { StoreUnavailable } from "../model/Refusal.ts"
import { eventId, Ids } from "../model/Ids.ts"
import type { NumberId } from "../model/Ids.ts"
import { drawNewChatsExtra } from "../model/NewChats.ts"
import type { Restrictions } from "../model/Restrictions.ts"
import { commitAndWake, WakeUp } from "../store/DueWork.ts"
import { Store } from "../store/Store.ts"

/** Makes what stores restrictions as the transport told of them; false while conversations are off. */
export const makeRestrictionsChanged = Effect.gen(function* makeRestrictionsChanged() {
  const { numbers } = yield* Store
  const ids = yield* Ids
  const { wake } = yield* WakeUp
  return Effect.fn("restrictionsChanged")(function* (
    id: NumberId,
    restrictions: Restrictions,
  ): Effect.fn.Return<boolean, StoreUnavailable> {
    const now = yield* Clock.currentTimeMillis
    const extra = drawNewChatsExtra(ids)
    // The end of the wait for new chats may be another one now.
    return yield* commitAndWake(
      numbers.restrict(id, restrictions, now, eventId(ids, now), extra),
      wake("pauses"),
    )
  })
})
