/**
 * Messages that can no longer be sent: their number was removed or their workspace deleted. They
 * are cancelled, each with its event (contract: Message status). The removal does it before it
 * answers; the worker finishes what a killed process left.
 */
import { Clock, Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { Ids, eventId } from "../Ids.ts"
import { MediaStore } from "../media/Media.ts"
import { MediaLinks } from "../media/MediaLinks.ts"
import { markMissingFiles } from "../media/missingFiles.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { endMessage } from "./MessageChange.ts"
import { MessageStore } from "./MessageStore.ts"

/** Messages that one commit cancels at most, so that no lock is held for long. */
const batch = 500

/** Makes what cancels them. */
export const makeStranded = Effect.gen(function* () {
  const store = yield* MessageStore
  const ids = yield* Ids
  const wakeUp = yield* WakeUp
  const { link } = yield* MediaLinks
  const markMissing = markMissingFiles(yield* MediaStore)
  /** Cancels one batch; returns how many it cancelled. */
  const cancelSome = Effect.gen(function* () {
    const messages = yield* markMissing(yield* store.stranded(batch))
    const now = yield* Clock.currentTimeMillis
    const changes = messages.flatMap(
      (message) => endMessage(message, { trigger: "cancel" }, eventId(ids, now), now, link) ?? [],
    )
    return changes.length === 0 ? 0 : (yield* store.end(changes)).size
  })
  /**
   * Removes a number or a workspace, and cancels what that left stranded until none is left. What is
   * cut off half way (the store or the client went away) the worker finishes.
   */
  const removing = <A>(removal: Effect.Effect<A, StoreUnavailable>) =>
    removal.pipe(
      Effect.tap(Effect.repeat(cancelSome, { while: (cancelled) => cancelled > 0 })),
      Effect.onError(() => wakeUp.wake("stranded")),
      // Attempts whose outcome is not known can be concluded now, and so can number checks.
      Effect.ensuring(Effect.andThen(wakeUp.wake("lanes"), wakeUp.wake("number_checks"))),
    )
  return { cancelSome, removing }
})
