/** For programs of `LibraryGuard.test.ts`: their library is a package named `library`. */
import { guardLibrary, isFrom } from "@messaging-service/core"
import type { RunGuarded } from "@messaging-service/core"
import { Effect } from "effect"
import { layerLibraryGuard } from "../src/index.ts"

export const guard = (ended: (error: Error) => void): Promise<RunGuarded> =>
  Effect.runPromise(
    Effect.provide(
      guardLibrary("whatsapp", isFrom(["library"], "/none/"), ended),
      layerLibraryGuard,
    ),
  )
