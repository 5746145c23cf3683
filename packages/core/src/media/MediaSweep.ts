/**
 * The sweep of media files: finishes what uploads and deletions that were cut off have left half
 * done, and removes the files of deleted workspaces and attachments that are no longer needed.
 * Harms nothing when several workers do it.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { answerKeptMillis } from "../request/Idempotency.ts"
import { MediaStore } from "./Media.ts"
import type { Leftover } from "./Media.ts"
import { MediaFiles } from "./MediaFiles.ts"
import { linkKeptMillis } from "./MediaLinks.ts"

/** From a file's reservation to its commit it takes no longer than this, or its process died. */
const reservationMillis = 60 * 60 * 1000

/**
 * An attachment is kept that long past the final state of its last message (contract: Version 1:
 * sends), so that the link in the event of that moment works for as long as it says. A call whose
 * message is not committed yet has that long too.
 */
const attachmentMillis = linkKeptMillis

/** Files of one round. */
const batch = 100

export class MediaSweep extends Context.Service<
  MediaSweep,
  {
    /** Removes one batch of left-over files; returns how many. */
    readonly runOnce: Effect.Effect<number, StoreUnavailable>
    /** Removes all there are, and forgets those whose upload can no longer be repeated. */
    readonly runAll: Effect.Effect<void, StoreUnavailable>
  }
>()("core/MediaSweep") {
  static readonly layer = Layer.effect(
    MediaSweep,
    Effect.gen(function* () {
      const store = yield* MediaStore
      const files = yield* MediaFiles

      const remove = (leftover: Leftover) =>
        files.remove(leftover.storageKey).pipe(
          Effect.as<ReadonlyArray<Leftover>>([leftover]),
          Effect.catch((error) =>
            Effect.as(Effect.logWarning("a media file could not be removed", error), []),
          ),
        )

      const runOnce = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const leftovers = yield* store.leftovers({
          reservedBefore: now - reservationMillis,
          limit: batch,
        })
        const removed = (yield* Effect.forEach(leftovers, remove)).flat()
        if (removed.length > 0) yield* store.removed(removed.map(({ id }) => id))
        return removed.length
      })

      const runAll = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        yield* store.sweepAttachments({ now, unusedSince: now - attachmentMillis })
        yield* Effect.repeat(runOnce, { while: (removed) => removed === batch })
        // A repeat of the upload shows the file's record for a day.
        yield* store.forget(now - answerKeptMillis)
        yield* files.removeAbandoned.pipe(
          Effect.catch((error) =>
            Effect.logWarning("abandoned uploads could not be removed", error),
          ),
        )
      })

      return MediaSweep.of({ runOnce, runAll })
    }),
  )
}
