/**
 * The pages that answers link to and the documents of the API: `/docs/errors`, where `docs` of every
 * error points; `/openapi.json`, the OpenAPI document; and `/docs`, the same as a page.
 */
import { catalogue } from "@messaging-service/core"
import { Effect, Semaphore } from "effect"
import { HttpOptions, publicUrlOf } from "../HttpOptions.ts"
import { header, noSniff } from "../openapi/headers.ts"
import type { JsonObject } from "../openapi/Operation.ts"
import { htmlType, pageHeaders } from "../route/IncomingRequest.ts"
import { cachedAnswers, cachedDocument, cachedReply, ifNoneMatch } from "./CachedDocument.ts"
import { content, openRoute } from "./OpenRoute.ts"
import type { OpenRoute } from "./OpenRoute.ts"

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const row = ([code, entry]: readonly [string, (typeof catalogue)[keyof typeof catalogue]]) => {
  const status =
    entry.pathStatus === undefined ? entry.status : `${entry.status}, ${entry.pathStatus} in a path`
  const details = [...(entry.details ?? []), ...(entry.optionalDetails ?? [])]
    .map((name) => `<code>${escape(name)}</code>`)
    .join(", ")
  return `<tr id="${code}"><td><a href="#${code}"><code>${code}</code></a></td><td>${status}</td><td>${escape(entry.message)}</td><td>${details}</td></tr>`
}

/** The error catalogue, made from the catalogue itself: HTML that loads nothing, with an anchor for each code. */
const errorPage: string = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Error catalogue</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #ccc; padding: 0.4rem 0.8rem 0.4rem 0; text-align: left; vertical-align: top; }
tr:target { background: #ffd; }
</style>
<h1>Error catalogue</h1>
<p>Every error has a real HTTP status and a body <code>{"error": {…}}</code> whose <code>code</code> is
one of these. Codes are stable; texts may change.</p>
<table>
<thead><tr><th>code</th><th>HTTP</th><th>meaning</th><th>extra fields</th></tr></thead>
<tbody>
${Object.entries(catalogue).map(row).join("\n")}
</tbody>
</table>
</html>
`

const errorPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

/**
 * Makes something from the public address the first time that it is asked for, and keeps it; those who
 * ask meanwhile wait. Nothing is kept of an attempt that was interrupted.
 */
const remembered = <A>(make: (publicUrl: string) => Effect.Effect<A>) => {
  let last: { readonly publicUrl: string; readonly made: A } | undefined
  const alone = Semaphore.makeUnsafe(1)
  return (publicUrl: string): Effect.Effect<A> =>
    Effect.suspend(() =>
      last?.publicUrl === publicUrl
        ? Effect.succeed(last.made)
        : Effect.map(make(publicUrl), (made) => {
            last = { publicUrl, made }
            return made
          }),
    ).pipe(alone.withPermits(1))
}

const thePage = cachedAnswers("The page.", content("text/html", { type: "string" }), [
  noSniff,
  header("Content-Security-Policy", "The page loads nothing from elsewhere."),
])

const anyDocument = { type: "object", required: ["openapi", "info", "paths"] }

/** `documentOf` makes the document of these routes and of all others, given the public address. */
export const docsRoutes = Effect.fnUntraced(function* (
  documentOf: (docs: ReadonlyArray<OpenRoute>, publicUrl: string) => JsonObject,
) {
  const publicUrl = publicUrlOf(yield* HttpOptions)
  const document = remembered((url) => Effect.sync(() => documentOf(routes, url)))
  const json = remembered((url) =>
    Effect.flatMap(document(url), (made) =>
      cachedDocument("application/json", JSON.stringify(made)),
    ),
  )
  const html = remembered((url) =>
    // The module takes half a second to load, and many services are never asked for the page.
    Effect.promise(() => import("./apiPage.ts")).pipe(
      Effect.flatMap(({ apiPage }) => Effect.flatMap(document(url), apiPage)),
    ),
  )
  const errors = remembered(() => cachedDocument(htmlType, errorPage))

  const routes: ReadonlyArray<OpenRoute> = [
    openRoute("/openapi.json", {
      id: "readDocument",
      tag: "Service",
      summary: "Read this document",
      headers: [ifNoneMatch],
      answers: cachedAnswers("OpenAPI 3.1.", content("application/json", anyDocument)),
      handler: (incoming) =>
        Effect.map(Effect.flatMap(publicUrl, json), (made) => cachedReply(incoming, made)),
    }),
    openRoute("/docs", {
      id: "readPage",
      tag: "Service",
      summary: "Read this document as a page",
      headers: [ifNoneMatch],
      answers: thePage,
      handler: (incoming) =>
        Effect.map(Effect.flatMap(publicUrl, html), ({ html: page, policy }) => {
          pageHeaders(incoming, policy)
          return cachedReply(incoming, page)
        }),
    }),
    openRoute("/docs/errors", {
      id: "readErrors",
      tag: "Service",
      summary: "Read the error catalogue",
      about: "Every code with its status and meaning.",
      headers: [ifNoneMatch],
      answers: thePage,
      handler: (incoming) =>
        Effect.map(Effect.flatMap(publicUrl, errors), (page) => {
          pageHeaders(incoming, errorPolicy)
          return cachedReply(incoming, page)
        }),
    }),
  ]
  return routes
})
