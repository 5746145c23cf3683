/** Fixtures of the facade's tests: services that close after the test, and failures as values. */
import { Emulator } from "@messaging-service/emulator"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Context, Effect, Layer, Redacted, Scope } from "effect"
import { createServer } from "node:net"
import { assert, onTestFinished, vi } from "vitest"
import { isShared, openService } from "../src/compose/index.ts"
import type { ComposedService, ComposedSettings } from "../src/compose/index.ts"
import { layerLogging, layerTelemetry } from "../src/facade/watching.ts"
import { makeMessaging } from "../src/facade/makeMessaging.ts"
import { getPublicUrl, readSettings } from "../src/facade/options.ts"
import { MessagingError, open } from "../src/index.ts"
import type { Api, MessageEvent, Messaging, OpenOptions, Workspace } from "../src/index.ts"

export const phone = "+15550100002"

/** A new database and a directory, with the options of a process on them. */
export const aDatabase = Effect.gen(function* () {
  const { url, ...address } = yield* (yield* EmbeddedPostgres).createDatabase()
  const dataDirectory = yield* processes.temporaryDirectory
  const store = { postgres: Redacted.value(url) }
  return { ...address, dataDirectory, options: { store, dataDirectory } }
})

/** Waits as long as the work of other processes takes on a busy machine. */
export const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 120_000 })

/** Opens a service for one test. */
export const opened = async (options?: OpenOptions): Promise<Messaging> => {
  const messaging = await open(options)
  onTestFinished(() => messaging.close())
  return messaging
}

const composed = async (
  options: OpenOptions,
  chosen: (settings: ComposedSettings) => ComposedSettings,
  altered: (context: Context.Context<ComposedService>) => Context.Context<ComposedService>,
) => {
  const scope = Scope.makeUnsafe()
  const { context, shared, stopMillis } = await Effect.runPromise(
    Effect.gen(function* () {
      const settings = chosen(yield* readSettings(options))
      const watching = yield* Layer.build(
        Layer.merge(layerLogging(options), layerTelemetry(options)),
      )
      const service = yield* Effect.provideContext(openService(settings, ""), watching)
      return {
        context: Context.merge(altered(service), watching),
        shared: isShared(settings.store),
        stopMillis: settings.stopMillis ?? 0,
      }
    }).pipe(Scope.provide(scope)),
  )
  const messaging = await Effect.runPromise(
    makeMessaging(options, {
      context,
      scope,
      publicUrl: getPublicUrl(options),
      stopMillis,
      isShared: shared,
    }),
  )
  onTestFinished(() => messaging.close())
  return { messaging, context }
}

/** A service in a process without a disk, as in a worker of an edge host. */
export const openedWithoutDisk = async (options: OpenOptions): Promise<Messaging> => {
  const { messaging } = await composed(
    options,
    (settings) => ({ ...settings, dataDirectory: null }),
    (context) => context,
  )
  return messaging
}

/** A service with the controls of its simulated phones. */
export const openedWithPhones = async (
  options: OpenOptions = {},
  altered: (context: Context.Context<ComposedService>) => Context.Context<ComposedService> = (
    context,
  ) => context,
): Promise<{
  readonly messaging: Messaging
  readonly phones: typeof Emulator.Service
  readonly context: Context.Context<ComposedService>
}> => {
  const { context, messaging } = await composed(options, (settings) => settings, altered)
  const phones = Context.getOption(context as unknown as Context.Context<Emulator>, Emulator)
  assert(phones._tag === "Some")
  return { messaging, phones: phones.value, context }
}

export interface Shop {
  readonly shop: Workspace
  readonly api: Api
}

/** A workspace with one connected number. */
export const aShop = async (messaging: Messaging): Promise<Shop> => {
  const shop = await messaging.workspaces.ensure("shop", {
    numbers: [{ phone: "+15550100001" }],
  })
  return { shop, api: messaging.as(shop) }
}

/** The promise's error. */
export const failure = async (promise: Promise<unknown>): Promise<MessagingError> => {
  const error = await promise.then(
    () => assert.fail("it did not fail"),
    (thrown: unknown) => thrown,
  )
  assert.instanceOf(error, MessagingError)
  return error
}

/** All of a list. */
export const all = async <A>(list: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const items: Array<A> = []
  for await (const item of list) items.push(item)
  return items
}

/** A listener, and a promise of its first events, as many as asked for. */
export const first = (count: number) => {
  const heard: Array<MessageEvent> = []
  let done: (events: ReadonlyArray<MessageEvent>) => void = () => undefined
  const all = new Promise<ReadonlyArray<MessageEvent>>((resolve) => {
    done = resolve
  })
  return {
    heard,
    all,
    handler: (event: MessageEvent) => {
      heard.push(event)
      if (heard.length === count) done(heard)
    },
  }
}

/** A port of this machine on which nothing listens. */
export const aClosedPort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" ? (address?.port ?? 0) : 0))
    })
  })
