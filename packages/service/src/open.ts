/** Opens the service inside a program. */
import type { CannotStart } from "@messaging-service/node"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import type { Messaging } from "./api/Messaging.ts"
import type { OpenOptions } from "./api/options.ts"
import { SettingFault } from "./compose/startFaults.ts"
import type { ComposedSettings } from "./compose/Settings.ts"
import { openService } from "./compose/openService.ts"
import { isShared } from "./compose/Storage.ts"
import { toError } from "./facade/Calls.ts"
import { layerLogging, layerTelemetry } from "./facade/watching.ts"
import { findCaller, noteOpened } from "./facade/openedStores.ts"
import { makeMessaging } from "./facade/makeMessaging.ts"
import { getPublicUrl, readSettings } from "./facade/options.ts"

/** An embedded store's own option names its directory. */
const inGivenNames = ({ store }: ComposedSettings, fault: CannotStart): CannotStart =>
  fault instanceof SettingFault && store.kind === "embedded"
    ? new SettingFault(fault.setting === "DATA_DIR" ? "embedded" : fault.setting, (names) =>
        fault.describe({ ...names, DATA_DIR: names.embedded }),
      )
    : fault

const openMessaging = (options: OpenOptions, scope: Scope.Closeable, where: string) =>
  Effect.gen(function* () {
    const settings = yield* readSettings(options)
    const publicUrl = getPublicUrl(options)
    const watching = yield* Layer.build(Layer.merge(layerLogging(options), layerTelemetry(options)))
    yield* Effect.provideContext(noteOpened(settings, where), watching)
    const service = yield* openService(settings, publicUrl).pipe(
      Effect.mapError((error) => inGivenNames(settings, error)),
      Effect.provideContext(watching),
    )
    return yield* makeMessaging(options, {
      // Every later call logs and traces the same way.
      context: Context.merge(service, watching),
      scope,
      publicUrl,
      isShared: isShared(settings.store),
      stopMillis: settings.stopMillis ?? 0,
    })
  }).pipe(Scope.provide(scope))

/**
 * Opens the messaging service inside this process: migrates the store, connects, and starts due work.
 * Without options it stores everything in memory and simulates phones. Fails with `cannot_start`;
 * its message is one line that says what to change. A process opens an embedded store once: a second call
 * says where the first one was, and another on the same PostgreSQL logs it. `field` names a wrong or unknown option, such as
 * `http.publicUrl`; the service refuses it before it creates anything.
 *
 * @example
 * const messaging = await open({ store: { postgres: "postgres://localhost/shop" } })
 */
export const open = async (options: OpenOptions = {}): Promise<Messaging> => {
  const scope = Scope.makeUnsafe()
  const exit = await Effect.runPromiseExit(openMessaging(options, scope, findCaller(open)))
  if (Exit.isSuccess(exit)) return exit.value
  await Effect.runPromise(Scope.close(scope, exit))
  throw toError(exit.cause)
}
