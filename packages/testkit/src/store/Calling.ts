/** What tests of callbacks need: messages that report their end, and the verbs of a callback loop. */
import { CallbackQueue, WorkspaceStore } from "@messaging-service/core"
import type {
  Callback,
  CallbackQuery,
  CallbackResult,
  ClaimedCallback,
  SendingNumber,
} from "@messaging-service/core"
import { Effect } from "effect"
import { only, present } from "./Expect.ts"
import { cancelled, end } from "./Sending.ts"
import { aMessage, aStage, fresh, hour, minute, noon } from "./World.ts"

/** An address at a target of its own. */
export const aCallbackUrl = (): string => `https://host${fresh()}.example.com/callback`

/**
 * A workspace that goes with the test, and its connected number. A claim sees the whole store, so that
 * no test may leave anything behind that could be called.
 */
export const aCallingStage = (createdAt = noon) =>
  Effect.acquireRelease(aStage({ createdAt }), ({ workspace }) =>
    WorkspaceStore.use((store) => store.delete(workspace.id, createdAt)).pipe(Effect.orDie),
  )

/** Accepts and cancels a message that reports there: the callback that comes of it. */
export const aCallback = (number: SendingNumber, callbackUrl = aCallbackUrl(), now = noon) =>
  Effect.gen(function* () {
    const change = cancelled(yield* aMessage(number, { now, message: { callbackUrl } }), now)
    yield* end(change)
    return present<Callback>(change.callback)
  })

/** Claims whatever is due. */
export const claimCallbacks = (given: Partial<CallbackQuery> = {}) =>
  Effect.gen(function* () {
    const now = given.now ?? noon + hour
    return yield* (yield* CallbackQueue).claim({
      now,
      leaseUntil: now + minute,
      limit: 1000,
      perTarget: 1000,
      perWorkspace: 1000,
      ...given,
    })
  })

/** Claims the one callback that must be due. */
export const claimTheCallback = (given: Partial<CallbackQuery> = {}) =>
  Effect.map(claimCallbacks(given), only)

/** It was delivered, or has used up its attempts. */
export const over = ({ id, lease }: ClaimedCallback): CallbackResult => ({
  id,
  lease,
  nextAttemptAt: null,
})

export const tryAgain = (
  { id, lease }: ClaimedCallback,
  nextAttemptAt: number,
): CallbackResult => ({ id, lease, nextAttemptAt })

export const settleCallbacks = (...results: ReadonlyArray<CallbackResult>) =>
  CallbackQueue.use((queue) => queue.settle(results))

/** Which callbacks they are, by their events. */
export const eventsOf = (callbacks: ReadonlyArray<Pick<Callback, "eventId">>) =>
  callbacks.map(({ eventId }) => eventId)
