/**
 * The HTTP app: binds its address, builds the service, shows what a first start has to show, and then
 * answers requests, with the worker beside it unless that runs elsewhere.
 */
import { Worker } from "@messaging-service/core"
import { HttpOptions, httpApp } from "@messaging-service/http"
import {
  announce,
  isTerminal,
  keptSecret,
  listen,
  logged,
  openService,
  storeCannotStart,
} from "@messaging-service/runtime"
import type { CannotStart, HttpListener } from "@messaging-service/runtime"
import { Effect, Redacted } from "effect"
import { exampleText, keepKeys, localUrl, seedExample } from "./Example.ts"
import type { Example } from "./Example.ts"
import { operatorTokenKind } from "./operatorToken.ts"
import type { ServerSettings } from "./ServerSettings.ts"

/** Runs until interrupted; then finishes what is in flight, requests and attempts side by side. */
export const runServer = (settings: ServerSettings): Effect.Effect<never, CannotStart> =>
  logged(
    settings.service.log,
    Effect.scoped(
      Effect.gen(function* () {
        const listener = yield* listen(settings.service.host, settings.service.port, {
          behindProxy: settings.trustProxy,
        })
        const service = yield* openService(settings.service, listener.url)
        return yield* Effect.provideContext(serve(settings, listener), service)
      }),
    ),
  )

const serve = Effect.fnUntraced(function* (settings: ServerSettings, listener: HttpListener) {
  const app = yield* Effect.provideService(httpApp, HttpOptions, {
    operatorToken: yield* operatorToken(settings),
    emulator: true,
    publicUrl: settings.service.publicUrl ?? listener.url,
    trustProxy: settings.trustProxy,
  })
  const worker = settings.inlineWorker ? (yield* Worker).run : Effect.never
  if (settings.seedExample) yield* showExample(settings, listener)
  yield* announce(settings.service.log, `listening on ${listener.url}`)
  return yield* Effect.all([listener.serve(app), worker], {
    concurrency: "unbounded",
    discard: true,
  }).pipe(Effect.andThen(Effect.never))
})

const operatorToken = Effect.fnUntraced(function* ({
  operatorToken: given,
  service,
}: ServerSettings) {
  if (given !== null) return given
  const { file, isNew, secret } = yield* keptSecret(service.dataDirectory, operatorTokenKind)
  if (isNew) {
    const shown = isTerminal() ? `: ${Redacted.value(secret)}` : ""
    yield* announce(service.log, `Operator token, kept in ${file}${shown}\n`)
  }
  return secret
})

const showExample = ({ service }: ServerSettings, { url }: HttpListener) =>
  seedExample.pipe(
    Effect.flatMap((example) => {
      if (example === null) return Effect.void
      const say = (told: Example, inFiles: boolean) =>
        announce(service.log, exampleText(told, localUrl(url), inFiles))
      return isTerminal()
        ? say(example, false)
        : Effect.flatMap(keepKeys(example, service.dataDirectory), (told) => say(told, true))
    }),
    Effect.catchTags({
      StoreUnavailable: (error) => Effect.fail(storeCannotStart(service, error)),
      // What it asks for is always granted in an empty store.
      Refusal: Effect.die,
    }),
  )
