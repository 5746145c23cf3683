/**
 * The interface as a web-standard handler, so that Express, Fastify, Hono, Next or any other server
 * can mount it in its own process.
 */
import { PublicUrl } from "@messaging-service/core"
import { Context, Effect, Layer } from "effect"
import { toWebHandlerLayerWith, toWebHandlerWith } from "effect/http/HttpEffect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { httpApp } from "./HttpApp.ts"
import { HttpOptions, publicUrlOf } from "./HttpOptions.ts"
import type { HttpSettings } from "./HttpOptions.ts"

/** What the interface needs of the core and its ports; with an emulator also its `Emulator`. */
export type HttpServices = Exclude<Effect.Services<typeof httpApp>, HttpOptions>

export interface WebHandler {
  /** Answers every request; rejects only when the layer could not be built. */
  readonly handler: (request: Request) => Promise<Response>
  /** Ends what the layer started, such as workers and connections. */
  readonly dispose: () => Promise<void>
}

/** The same over services that are there already, for as long as they are. */
export const webHandler = (
  services: Context.Context<HttpServices>,
  options: HttpSettings,
): Effect.Effect<WebHandler["handler"]> => {
  const context = Context.add(services, HttpOptions, options)
  return Effect.map(Effect.provideContext(httpApp, context), (app) => {
    const handler = toWebHandlerWith<HttpServices | HttpOptions, HttpServerRequest>(context)(app)
    return (request) => handler(request)
  })
}

/**
 * Builds the layer at once and answers requests with it until `dispose` is called. Requests that
 * come before the layer is ready wait for it. Logging, clock and the like are those that the layer
 * provides beside the services; links in messages begin with `publicUrl` as those in errors do.
 */
export const toWebHandler = <E>(
  layer: Layer.Layer<HttpServices, E>,
  options: HttpSettings,
): WebHandler => {
  const origin = Layer.effect(PublicUrl, publicUrlOf(options))
  const { dispose, handler } = toWebHandlerLayerWith(
    Layer.merge(Layer.provide(layer, origin), Layer.succeed(HttpOptions, options)),
    { toHandler: (context) => Effect.provideContext(httpApp, context) },
  )
  return { dispose, handler: (request) => handler(request) }
}
