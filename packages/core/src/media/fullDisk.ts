/**
 * The refusal of a file because the disk is full, whatever the caller has taken of it. `used` and
 * `limit` are the workspace's own figures, for it has no others to know: what its files take of its
 * plan's storage.
 */
import { Effect } from "effect"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { Permitted } from "../key/Caller.ts"
import type { MediaStore } from "./Media.ts"
import { newMediaFile } from "./newMediaFile.ts"

const nothing = { size: 0, mimeType: "", storageKey: "" }

export const refuseFullDisk = (
  store: typeof MediaStore.Service,
  caller: Permitted,
): Effect.Effect<Refusal, StoreUnavailable> =>
  // No room at all is asked for, so nothing is reserved.
  Effect.map(store.reserve(newMediaFile(caller, nothing, "", 0), -1), (answer) =>
    refuse("storage_full", {
      message: "The service has no room for files at present.",
      details: {
        used: answer._tag === "Full" ? answer.used : 0,
        limit: caller.workspace.plan?.mediaStorageBytes ?? 0,
      },
    }),
  )
