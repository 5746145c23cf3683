/**
 * The dispatch loop: claims the heads of free lanes, makes their attempts side by side, and settles
 * them in batches. A lane is held by a lease that is renewed while its attempt goes on; when the
 * process dies the lease runs out and another worker repeats the attempt with the same id.
 */
import { Clock, Effect } from "effect"
import { sharedResources } from "../limit/sharedResources.ts"
import { DailyQuota } from "../message/Quota.ts"
import { laneLeaseMillis } from "../queue/Lane.ts"
import { LaneQueue } from "../queue/LaneQueue.ts"
import type { ClaimedMessage, Settlement } from "../queue/LaneQueue.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { NumberOwnership } from "../transport/NumberOwnership.ts"
import { makeAttempt } from "./Attempt.ts"
import { makeLeasedLoop } from "./LeasedWork.ts"

/** Lanes that one claim takes. */
const batch = 128

/** Makes the loop. */
export const makeDispatcher = Effect.gen(function* () {
  const lanes = yield* LaneQueue
  const ownership = yield* NumberOwnership
  const wakeUp = yield* WakeUp
  const sendCap = yield* DailyQuota

  return yield* makeLeasedLoop<ClaimedMessage, Settlement>({
    work: "lanes",
    capacity: sharedResources.lanes,
    batch,
    leaseMillis: laneLeaseMillis,
    workspaceOf: ({ message }) => message.workspaceId,
    owned: ownership.owned,
    claim: (query) =>
      Effect.flatMap(ownership.owned, (owned) => lanes.claim({ ...query, owned, sendCap })),
    perform: yield* makeAttempt,
    settle: (settlements) =>
      Effect.gen(function* () {
        const { heldUp } = yield* lanes.settle(settlements, yield* Clock.currentTimeMillis)
        // What goes on waiting may have expired, or lost its number, while it was in flight.
        if (settlements.some(({ _tag }) => _tag === "Again")) {
          yield* wakeUp.wake("expiry")
          yield* wakeUp.wake("stranded")
        }
        return heldUp
      }),
    // An attempt whose lease is lost goes on: the transport may have its message by now.
    renew: (held, leaseUntil) =>
      Effect.as(
        lanes.renew(
          held.map(({ lease, number }) => ({ lease, numberId: number.id })),
          leaseUntil,
        ),
        [],
      ),
  })
})
