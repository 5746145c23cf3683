/** The pages that answers link to and the documents of the API, open to everybody. */
import { Effect, Stream } from "effect"
import type { Exchange, Reply, Surface } from "../answer/Exchange.ts"
import { HttpOptions, publicUrlOf } from "../HttpOptions.ts"
import { apiDocument } from "../openapi/apiDocument.ts"
import { findRoute } from "../route/findRoute.ts"
import { routeMatcher } from "../route/RouteTable.ts"
import type { Route } from "../route/RouteTable.ts"
import { errorPage } from "./errorPage.ts"

interface DocsRoute extends Route {
  readonly handler: (exchange: Exchange) => Effect.Effect<Reply>
}

const reply = (contentType: string, bytes: Uint8Array): Reply => ({
  status: 200,
  content: { contentType, length: bytes.length, bytes: Stream.make(bytes) },
})

const htmlReply = ({ headers }: Exchange, html: Uint8Array, policy: string): Reply => {
  headers["content-security-policy"] = policy
  headers["x-content-type-options"] = "nosniff"
  return reply("text/html; charset=utf-8", html)
}

/**
 * What is made of the public address the first time that it is asked for. Nothing is kept of an
 * attempt that was interrupted.
 */
const remembered = <A>(make: (publicUrl: string) => Effect.Effect<A>) => {
  let last: { readonly publicUrl: string; readonly made: A } | undefined
  return (publicUrl: string): Effect.Effect<A> =>
    Effect.suspend(() =>
      last?.publicUrl === publicUrl
        ? Effect.succeed(last.made)
        : Effect.map(make(publicUrl), (made) => {
            last = { publicUrl, made }
            return made
          }),
    )
}

/**
 * `/docs/errors`, where `docs` of every error points; `/openapi.json`, the OpenAPI document; and
 * `/docs`, the same as a page.
 */
export const docsSurface = Effect.gen(function* () {
  const publicUrl = publicUrlOf(yield* HttpOptions)
  const documentOf = yield* apiDocument
  const errors = new TextEncoder().encode(errorPage)
  const document = remembered((url) => Effect.sync(() => documentOf(url)))
  const json = remembered((url) =>
    Effect.map(document(url), (made) => new TextEncoder().encode(JSON.stringify(made))),
  )
  const page = remembered((url) =>
    // What makes it takes half a second to load, and many a service is never asked for it.
    Effect.promise(() => import("./apiPage.ts")).pipe(
      Effect.flatMap(({ apiPage }) => Effect.flatMap(document(url), apiPage)),
    ),
  )

  const match = routeMatcher<DocsRoute>([
    {
      method: "GET",
      path: "/docs",
      handler: (exchange) =>
        Effect.map(Effect.flatMap(publicUrl, page), ({ html, policy }) =>
          htmlReply(exchange, html, policy),
        ),
    },
    {
      method: "GET",
      path: "/docs/errors",
      handler: (exchange) =>
        Effect.succeed(
          htmlReply(exchange, errors, "default-src 'none'; style-src 'unsafe-inline'"),
        ),
    },
    {
      method: "GET",
      path: "/openapi.json",
      handler: () =>
        Effect.map(Effect.flatMap(publicUrl, json), (bytes) => reply("application/json", bytes)),
    },
  ])

  const surface: Surface = Effect.fnUntraced(function* (exchange) {
    const { route } = yield* Effect.fromResult(findRoute(match, exchange))
    return yield* route.handler(exchange)
  })
  return surface
})
