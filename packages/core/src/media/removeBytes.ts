/**
 * Removes the bytes of a file at once when its record ends, so that they need not wait for the
 * sweep.
 */
import { Effect } from "effect"
import type { Leftover, MediaStore } from "./Media.ts"
import type { MediaFiles } from "./MediaFiles.ts"

/** Removes what is left over of a file; what cannot be removed now is found again by the sweep. */
export const removeBytes =
  (store: typeof MediaStore.Service, files: typeof MediaFiles.Service) =>
  ({ id, storageKey }: Leftover): Effect.Effect<void> =>
    Effect.andThen(files.remove(storageKey), store.removed([id])).pipe(
      Effect.catch((error) => Effect.logWarning("a media file is removed later", error)),
    )
