/** Fixtures for tests of callbacks: messages that report their end, and how to tell them apart. */
import { WorkspaceStore } from "@messaging-service/core"
import type { Callback, SendingNumber } from "@messaging-service/core"
import { Effect } from "effect"
import { present } from "./Expect.ts"
import { cancelled, end } from "./Sending.ts"
import { aMessage, aStage, fresh, noon } from "./Records.ts"

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

/** Which callbacks they are, by their events; claims come in no order of targets. */
export const callbacksOf = (callbacks: ReadonlyArray<Pick<Callback, "eventId">>) =>
  callbacks.map(({ eventId }) => eventId).toSorted()
