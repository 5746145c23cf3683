/** Opening the service inside a program. */
import type { CannotStart } from "@messaging-service/node"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import type { Messaging } from "./api/Messaging.ts"
import type { OpenOptions } from "./api/options.ts"
import { SettingFault } from "./compose/startFaults.ts"
import type { ComposedSettings } from "./compose/Settings.ts"
import { openService } from "./compose/openService.ts"
import { isShared } from "./compose/Storage.ts"
import { errorOf } from "./facade/Calls.ts"
import { layerLogging, layerTelemetry } from "./facade/watching.ts"
import { makeMessaging } from "./facade/makeMessaging.ts"
import { publicUrlOf, settingsOf } from "./facade/options.ts"

/** The directory of an embedded store is what its own option names. */
const inGivenNames = ({ store }: ComposedSettings, fault: CannotStart): CannotStart =>
  fault instanceof SettingFault && store.kind === "embedded"
    ? new SettingFault(fault.setting === "DATA_DIR" ? "embedded" : fault.setting, (names) =>
        fault.say({ ...names, DATA_DIR: names.embedded }),
      )
    : fault

const openMessaging = (options: OpenOptions, scope: Scope.Closeable) =>
  Effect.gen(function* () {
    const settings = yield* settingsOf(options)
    const publicUrl = publicUrlOf(options)
    const watching = yield* Layer.build(Layer.merge(layerLogging(options), layerTelemetry(options)))
    const service = yield* openService(settings, publicUrl).pipe(
      Effect.mapError((error) => inGivenNames(settings, error)),
      Effect.provideContext(watching),
    )
    return yield* makeMessaging(options, {
      // Every later call is logged and traced the same way.
      context: Context.merge(service, watching),
      scope,
      publicUrl,
      isShared: isShared(settings.store),
      stopMillis: settings.stopMillis ?? 0,
    })
  }).pipe(Scope.provide(scope))

/**
 * Opens the messaging service inside this process: brings the store up to date, connects, and starts
 * to do what fell due. With nothing to say everything is in memory and phones are simulated. Fails
 * with `cannot_start`, whose message is one line that says what to change. An
 * option that is wrong or not known is in `field`, such as `http.publicUrl`, and refused before anything
 * is made.
 *
 * @example
 * const messaging = await open({ store: { postgres: "postgres://localhost/shop" } })
 */
export const open = async (options: OpenOptions = {}): Promise<Messaging> => {
  const scope = Scope.makeUnsafe()
  const exit = await Effect.runPromiseExit(openMessaging(options, scope))
  if (Exit.isSuccess(exit)) return exit.value
  await Effect.runPromise(Scope.close(scope, exit))
  throw errorOf(exit.cause)
}
