/** `MediaStore` in memory: the records; their content is kept by `MediaFiles`. */
import type { MediaStore } from "@messaging-service/core"
import { Effect } from "effect"
import type { World } from "./World.ts"

export const mediaStore = (world: World): typeof MediaStore.Service => ({
  insert: (file) => Effect.sync(() => world.media.insert((id) => ({ ...file, id }))),

  get: (workspaceId, mode, id) =>
    Effect.sync(() => {
      const file = world.media.get(id)
      return file?.workspaceId === workspaceId && file.mode === mode ? file : null
    }),
})
