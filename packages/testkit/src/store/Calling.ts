/** Fixtures for tests of callbacks: messages that report their end, and their identification. */
import { Store } from "@messaging-service/core"
import type { Callback, SendingNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { present } from "./Expect.ts"
import { cancelled, end } from "./Sending.ts"
import { aMessage, aStage, fresh, noon } from "./Records.ts"

/** A URL at a target of its own. */
export const aCallbackUrl = (): string => `https://host${fresh()}.example.com/callback`

/**
 * A workspace that goes with the test, and its connected number. A claim sees the whole store, so
 * no test may leave anything to call.
 */
export const aCallingStage = (createdAt = noon) =>
  Effect.acquireRelease(aStage({ createdAt }), ({ workspace }) =>
    Store.use(({ workspaces: store }) => store.delete(workspace.id, createdAt)).pipe(Effect.orDie),
  )

/** Accepts and cancels a message that reports there; returns the callback. */
export const aCallback = (number: SendingNumber, callbackUrl = aCallbackUrl(), now = noon) =>
  Effect.gen(function* () {
    const change = cancelled(yield* aMessage(number, { now, message: { callbackUrl } }), now)
    yield* end(change)
    return present<Callback>(change.callback)
  })

/** Callbacks by their events; claims have no order of targets. */
export const sortedEventIds = (callbacks: ReadonlyArray<Pick<Callback, "eventId">>) =>
  callbacks.map(({ eventId }) => eventId).toSorted()
