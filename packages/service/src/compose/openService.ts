/**
 * The whole service for the apps and the facade: the core over the selected adapters. It includes the
 * worker's loops but does not run them: the caller that runs them decides how they stop.
 */
import {
  AttachmentBytes,
  MediaFiles,
  MediaFilesError,
  NumberOwnership,
  OlderSecretsKeys,
  OutboundRule,
  PublicUrl,
  RetentionDays,
  SecretsKey,
  StopMillis,
  WorkerName,
  layerServices,
  layerWorker,
  newSecretsKey,
  parseSecretsKey,
  reportProcess,
  RunsWorker,
  Store,
} from "@messaging-service/core"
import {
  CannotStart,
  layerCryptoIds,
  layerDiskMediaFiles,
  layerEgress,
  layerFetchEgress,
  layerNativeHmac,
  layerQrCodeImages,
  realTimeLayer,
} from "@messaging-service/node"
import { Effect, Layer, Redacted } from "effect"
import type { Context, Scope } from "effect"
import { hostname } from "node:os"
import { mediaCannotStart, SettingFault, storeCannotStart } from "./startFaults.ts"
import {
  loadOrMakeSecret,
  mediaDirectory,
  openDataDirectory,
  temporaryDirectory,
} from "./DataDirectory.ts"
import type { SecretKind } from "./DataDirectory.ts"
import { numbersForMemory } from "./Settings.ts"
import type { ComposedSettings } from "./Settings.ts"
import { isShared, layerStorage } from "./Storage.ts"
import { layerLive, requireNoLinkedNumbers } from "./transports.ts"
import type { ShowCode, TransportChoice } from "./transports.ts"

/** How often to check whether another process moved an adjustable clock, in real milliseconds. */
const clockPoll = 50

/** Loads only for simulated phones and an adjustable clock. */
const emulator = Effect.promise(() => import("@messaging-service/emulator"))

/** Service time: the system's, or the stored clock's, which the emulator controls can move. */
const layerTime = ({ clock, store }: ComposedSettings) =>
  clock === "adjustable"
    ? Layer.unwrap(
        Effect.map(emulator, ({ layerStoredClock }) =>
          layerStoredClock({
            poll: isShared(store) ? clockPoll : null,
            isStoreInProcess: store.kind === "memory",
          }),
        ),
      )
    : layerSystemTime

/** Log the time, because processes with different times are hard to understand without it. */
const layerSystemTime = Layer.effectDiscard(
  Effect.gen(function* () {
    const offset = yield* (yield* Store).system.clockOffset
    if (offset > 0) {
      yield* Effect.logWarning(`the store's clock is ${offset} ms ahead; CLOCK=system ignores that`)
    }
  }),
)

const layerMediaInMemory = Layer.unwrap(
  Effect.map(
    Effect.promise(() => import("@messaging-service/store-memory")),
    ({ layerMediaFiles }) => layerMediaFiles,
  ),
)

const noDisk = Effect.fail(
  new MediaFilesError({ reason: "io", cause: new Error("no disk stores files here") }),
)

/** Holds fetched media in memory until the message leaves. Uploads, reads and deletes fail. */
const layerMediaWithoutDisk = Layer.effect(
  MediaFiles,
  Effect.map(MediaFiles, (passing) =>
    MediaFiles.of({
      ...passing,
      isRetained: false,
      open: () => noDisk,
      spool: (content, maximumBytes) =>
        Effect.map(passing.spool(content, maximumBytes), (spooled) => ({
          ...spooled,
          keep: noDisk,
        })),
      remove: () => noDisk,
    }),
  ),
).pipe(Layer.provide(layerMediaInMemory))

/** Files live as long as their records do: those of a memory store end with the process. */
const layerMedia = ({ dataDirectory, diskReserve, store }: ComposedSettings) => {
  if (dataDirectory === null) {
    return store.kind === "memory" ? layerMediaInMemory : layerMediaWithoutDisk
  }
  return store.kind === "memory"
    ? Layer.unwrap(
        Effect.map(temporaryDirectory(dataDirectory), (directory) =>
          layerDiskMediaFiles({
            directory,
            alone: true,
            reserveBytes: diskReserve,
            alsoWritable: dataDirectory,
          }),
        ),
      )
    : layerDiskMediaFiles({
        directory: mediaDirectory(dataDirectory),
        alone: !isShared(store),
        reserveBytes: diskReserve,
        alsoWritable: dataDirectory,
      })
}

const layerAdapters = (settings: ComposedSettings) =>
  Layer.mergeAll(
    settings.callsByFetch === true ? layerFetchEgress : layerEgress(),
    layerQrCodeImages,
    layerMedia(settings),
    // Any process can send from simulated phones; only one at a time owns a live number's connection.
    settings.transport.kind === "live" && isShared(settings.store)
      ? NumberOwnership.layerShared(settings.maxNumbers ?? numbersForMemory())
      : settings.worksElsewhere === true || settings.startsNoWorker === true
        ? NumberOwnership.layerAllUnheld
        : NumberOwnership.layerAll,
  )

const storedSecretsKey = (dataDirectory: string) =>
  Layer.effect(
    SecretsKey,
    Effect.flatMap(loadOrMakeSecret(dataDirectory, secretsKeyKind), ({ secret }) => {
      const key = parseSecretsKey(Redacted.value(secret))
      return key === undefined
        ? Effect.die(new Error("a valid key failed to parse"))
        : Effect.succeed(key)
    }),
  )

/**
 * The secrets key: the configured one, or a generated one in the data directory. Without a data
 * directory the key belongs only to this process.
 */
const layerSecretsKey = ({ dataDirectory, secretsKeys }: ComposedSettings) => {
  if (secretsKeys !== null) {
    return Layer.merge(
      Layer.succeed(SecretsKey, secretsKeys.present),
      Layer.succeed(OlderSecretsKeys, secretsKeys.older),
    )
  }
  return dataDirectory === null ? SecretsKey.layerRandom : storedSecretsKey(dataDirectory)
}

/** The generated key and its file. */
const secretsKeyKind: SecretKind = {
  name: "secrets-key",
  what: "secrets key",
  make: newSecretsKey,
  isUsable: (text) => parseSecretsKey(text) !== undefined,
  mend: ({ SECRETS_KEY }) => `restore the previous one, or set ${SECRETS_KEY}`,
}

/** Services that everything needs: ids, real time, and the rules for links and customers' addresses. */
const layerGround = (
  {
    allowPrivateTargets,
    attachmentBytes,
    retentionDays,
    startsNoWorker,
    stopMillis,
    worksElsewhere,
  }: ComposedSettings,
  publicUrl: string,
) =>
  Layer.mergeAll(
    stopMillis === undefined ? Layer.empty : Layer.succeed(StopMillis, stopMillis),
    layerCryptoIds,
    layerNativeHmac,
    realTimeLayer,
    Layer.succeed(OutboundRule, { allowPrivate: allowPrivateTargets }),
    Layer.succeed(PublicUrl, publicUrl),
    Layer.succeed(AttachmentBytes, attachmentBytes),
    Layer.succeed(RetentionDays, retentionDays),
    Layer.succeed(WorkerName, `${hostname()}-${process.pid}`),
    Layer.succeed(RunsWorker, worksElsewhere !== true && startsNoWorker !== true),
  )

/** Every port except the transport's. */
const layerPorts = (settings: ComposedSettings, publicUrl: string) =>
  layerAdapters(settings).pipe(
    Layer.provideMerge(layerTime(settings)),
    Layer.provideMerge(layerStorage(settings)),
    Layer.provideMerge(layerSecretsKey(settings)),
    Layer.provideMerge(layerGround(settings, publicUrl)),
  )

const layerSimulated = (
  settings: ComposedSettings,
  { hasApplication = false }: Extract<TransportChoice, { readonly kind: "simulated" }>,
  publicUrl: string,
) =>
  Layer.unwrap(
    Effect.map(emulator, ({ layer, layerLogin, layerService }) =>
      layerService.pipe(
        Layer.provideMerge(layer),
        Layer.provideMerge(hasApplication ? layerLogin : Layer.empty),
        Layer.provideMerge(layerPorts(settings, publicUrl)),
      ),
    ),
  )

const layerCore = Layer.provideMerge(layerWorker, layerServices)

/** Only simulated phones have emulator controls. */
const layerWhole = (
  settings: ComposedSettings,
  publicUrl: string,
  showCode: ShowCode,
): Layer.Layer<
  Layer.Success<typeof layerCore | ReturnType<typeof layerPorts>>,
  Layer.Error<ReturnType<typeof layerSimulated>>
> => {
  const { transport } = settings
  if (transport.kind === "simulated") return layerSimulated(settings, transport, publicUrl)
  return layerCore.pipe(
    Layer.provideMerge(layerLive(transport, showCode)),
    Layer.provideMerge(layerPorts(settings, publicUrl)),
  )
}

/** Every service, with its stores and transports. */
export type ComposedService = Layer.Success<ReturnType<typeof layerWhole>>

const createdDirectory = ({ dataDirectory, secretsKeys, store }: ComposedSettings) => {
  if (dataDirectory !== null) return openDataDirectory(dataDirectory)
  return store.kind === "memory" || (isShared(store) && secretsKeys !== null)
    ? Effect.void
    : Effect.fail(
        new SettingFault("DATA_DIR", ({ DATA_DIR }) => `${DATA_DIR} is required for this store`),
      )
}

/**
 * Creates the data directory, opens the store and builds everything over it, until the scope closes.
 * Links begin with `address`, where the server listens, unless the settings name another origin.
 */
export const openService = (
  settings: ComposedSettings,
  address: string,
  showCode: ShowCode = null,
): Effect.Effect<Context.Context<ComposedService>, CannotStart, Scope.Scope> =>
  createdDirectory(settings).pipe(
    Effect.andThen(Layer.build(layerWhole(settings, settings.publicUrl ?? address, showCode))),
    Effect.tap((service) =>
      settings.transport.kind === "simulated" && settings.startsNoWorker !== true
        ? Effect.provideContext(requireNoLinkedNumbers, service)
        : Effect.void,
    ),
    Effect.tap((service) => Effect.forkScoped(Effect.provideContext(reportProcess, service))),
    Effect.catchTags({
      StoreUnavailable: (error) => Effect.fail(storeCannotStart(settings, error)),
      WrongSecretsKey: () =>
        Effect.fail(
          new SettingFault("SECRETS_KEY", ({ DATA_DIR, SECRETS_KEY }) =>
            settings.secretsKeys === null
              ? `${SECRETS_KEY} is unset, and the key in ${DATA_DIR} is not the one of its database`
              : `${SECRETS_KEY} is not the key of this database`,
          ),
        ),
      MediaFilesError: (error) => Effect.fail(mediaCannotStart(error)),
    }),
  )
