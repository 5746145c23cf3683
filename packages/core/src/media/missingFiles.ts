/** Stored files that are gone, so that no message shows a link to one. */
import { Effect } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import { storedFileOf } from "./FileState.ts"
import type { MediaReference, MediaStore } from "./Media.ts"

/** Marks the messages whose stored file is gone, so that nothing shows a link to it. */
export const markMissingFiles =
  (store: typeof MediaStore.Service) =>
  <M extends { readonly media: MediaReference | null }>(
    messages: ReadonlyArray<M>,
  ): Effect.Effect<ReadonlyArray<M>, StoreUnavailable> => {
    const ids = new Set(messages.flatMap(({ media }) => storedFileOf(media) ?? []))
    if (ids.size === 0) return Effect.succeed(messages)
    return Effect.map(store.missing([...ids]), (missing) =>
      missing.size === 0
        ? messages
        : messages.map((message) => {
            const id = storedFileOf(message.media)
            return id === null || message.media === null || !missing.has(id)
              ? message
              : { ...message, media: { ...message.media, isMissing: true } }
          }),
    )
  }
