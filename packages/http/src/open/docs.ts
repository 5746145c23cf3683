/**
 * The pages that answers link to and the documents of the API: `/docs/errors`, where `docs` of every
 * error points; `/openapi.json`, the OpenAPI document; and `/docs`, the same as a page.
 */
import { catalogue } from "@messaging-service/core"
import { Effect, Semaphore, Stream } from "effect"
import type { IncomingRequest, Reply } from "../route/IncomingRequest.ts"
import { HttpOptions, publicUrlOf } from "../HttpOptions.ts"
import { commonHeaders } from "../openapi/headers.ts"
import type { Header, JsonObject } from "../openapi/Operation.ts"
import { header, noSniff, page } from "./OpenRoute.ts"
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

const reply = (contentType: string, bytes: Uint8Array): Reply => ({
  status: 200,
  content: { contentType, length: bytes.length, bytes: Stream.make(bytes) },
})

const htmlReply = ({ answerHeaders: headers }: IncomingRequest, html: Uint8Array, policy: string): Reply => {
  headers["content-security-policy"] = policy
  headers["x-content-type-options"] = "nosniff"
  return reply("text/html; charset=utf-8", html)
}

/**
 * What is made of the public address the first time that it is asked for; those who ask meanwhile
 * wait for it. Nothing is kept of an attempt that was interrupted.
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

const ofPage: ReadonlyArray<Header> = [
  noSniff,
  header("Content-Security-Policy", "The page loads nothing from elsewhere."),
]

/** `documentOf` makes the document of these routes and of all others, given the public address. */
export const docsRoutes = Effect.fnUntraced(function* (
  documentOf: (docs: ReadonlyArray<OpenRoute>, publicUrl: string) => JsonObject,
) {
  const publicUrl = publicUrlOf(yield* HttpOptions)
  const errors = new TextEncoder().encode(errorPage)
  const document = remembered((url) => Effect.sync(() => documentOf(routes, url)))
  const json = remembered((url) =>
    Effect.map(document(url), (made) => new TextEncoder().encode(JSON.stringify(made))),
  )
  const html = remembered((url) =>
    // What makes it takes half a second to load, and many a service is never asked for it.
    Effect.promise(() => import("./apiPage.ts")).pipe(
      Effect.flatMap(({ apiPage }) => Effect.flatMap(document(url), apiPage)),
    ),
  )

  const routes: ReadonlyArray<OpenRoute> = [
    {
      method: "GET",
      path: "/openapi.json",
      id: "readDocument",
      tag: "Service",
      summary: "Read this document",
      answers: [
        {
          status: 200,
          description: "OpenAPI 3.1.",
          headers: commonHeaders,
          content: {
            "application/json": {
              schema: { json: { type: "object", required: ["openapi", "info", "paths"] } },
            },
          },
        },
      ],
      handler: () =>
        Effect.map(Effect.flatMap(publicUrl, json), (made) => reply("application/json", made)),
    },
    {
      method: "GET",
      path: "/docs",
      id: "readPage",
      tag: "Service",
      summary: "Read this document as a page",
      answers: [page("The page.", "text/html", ofPage)],
      handler: (incoming) =>
        Effect.map(Effect.flatMap(publicUrl, html), (made) =>
          htmlReply(incoming, made.html, made.policy),
        ),
    },
    {
      method: "GET",
      path: "/docs/errors",
      id: "readErrors",
      tag: "Service",
      summary: "Read the error catalogue",
      about: "Every code with its status and meaning.",
      answers: [page("The page.", "text/html", ofPage)],
      handler: (incoming) =>
        Effect.succeed(
          htmlReply(incoming, errors, "default-src 'none'; style-src 'unsafe-inline'"),
        ),
    },
  ]
  return routes
})
