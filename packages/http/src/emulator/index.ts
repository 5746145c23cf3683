/** The emulator controls over HTTP, for `@messaging-service/emulator`: what `HttpOptions.emulator` takes. */
import { Emulator } from "@messaging-service/emulator"
import { Effect, Option } from "effect"
import { describe } from "../openapi/Description.ts"
import type { EmulatorControls } from "../operator/OperatorRoute.ts"
import { emulatorDescriptions } from "./describeEmulator.ts"
import { emulatorRoutes } from "./emulatorRoutes.ts"

/** The controls of the `Emulator` among the services, which must be there. */
export const emulatorControls: EmulatorControls = Effect.gen(function* () {
  const emulator = yield* Effect.serviceOption(Emulator)
  if (Option.isNone(emulator)) {
    return yield* Effect.die(
      new Error("HttpOptions.emulator needs the Emulator among the services"),
    )
  }
  return {
    tag: {
      name: "Emulator",
      description:
        "The other side of the simulated wire, and the clock; only with `TRANSPORT=simulated`.",
    },
    operations: describe(emulatorRoutes(emulator.value), emulatorDescriptions),
  }
})
