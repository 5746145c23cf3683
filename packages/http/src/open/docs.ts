/**
 * The pages that answers link to, and the documents of the API: `/docs/errors`, the target of every
 * error's `docs`; `/openapi.json`, the OpenAPI document; `/docs`, its operations at a glance; and
 * `/docs/operations`, where each can be read and tried out.
 */
import { Effect, Semaphore } from "effect"
import { content, openRoute } from "../Entry.ts"
import type { OpenRoute } from "../Entry.ts"
import { HttpOptions, getPublicUrl } from "../HttpOptions.ts"
import { bytesReply, htmlType, pageHeaders } from "../IncomingRequest.ts"
import type { IncomingRequest, Reply } from "../IncomingRequest.ts"
import { commonHeaders, errorCodes, header, noSniff } from "../openapi/Operation.ts"
import type { Answer, Content, Header, JsonObject } from "../openapi/Operation.ts"
import { apiIndex, escapeHtml, explorerPath } from "./apiIndex.ts"

// Documents that stay the same until the process is replaced: compressed and tagged once. Caches
// store them, and ask each time whether the tag is still valid.

interface CachedDocument {
  readonly contentType: string
  readonly plain: Uint8Array
  readonly gzipped: Uint8Array
  /** Weak: the same for both encodings. */
  readonly tag: string
}

const gzip = (bytes: Uint8Array<ArrayBuffer>): Effect.Effect<Uint8Array> =>
  Effect.promise(async () => {
    const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))
    return new Uint8Array(await new Response(stream).arrayBuffer())
  })

const cachedDocument = Effect.fn("cachedDocument")(function* cachedDocument(
  contentType: string,
  text: string,
) {
  const plain = new TextEncoder().encode(text)
  const digest = yield* Effect.promise(() => crypto.subtle.digest("SHA-256", plain))
  const document: CachedDocument = {
    contentType,
    plain,
    gzipped: yield* gzip(plain),
    tag: `W/"${Buffer.from(digest).toString("base64url")}"`,
  }
  return document
})

/** Whether `Accept-Encoding` names gzip, or any encoding, with a weight above 0. */
const acceptsGzip = (acceptEncoding = ""): boolean => {
  const weights = new Map(
    acceptEncoding.split(",").map((each) => {
      const [coding = "", ...parameters] = each.toLowerCase().split(";")
      const weight = parameters.map((parameter) => /^\s*q\s*=\s*([\d.]+)\s*$/.exec(parameter)?.[1])
      return [coding.trim(), Number(weight.find((value) => value !== undefined) ?? 1)] as const
    }),
  )
  return (weights.get("gzip") ?? weights.get("*") ?? 0) > 0
}

/** Whether `If-None-Match` holds the tag. The comparison is weak, as RFC 9110 (13.1.2) requires. */
const holdsTag = (ifNoneMatch: string | undefined, tag: string): boolean => {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === "*") return true
  const opaque = (each: string) => each.trim().replace(/^W\//, "")
  // Base64 has no comma, so a split at commas cannot cut this tag.
  return ifNoneMatch.split(",").some((each) => opaque(each) === opaque(tag))
}

/** The document, compressed for a caller that accepts it; 304 for a caller that has it. */
const cachedReply = (
  { answerHeaders, request }: IncomingRequest,
  { contentType, gzipped, plain, tag }: CachedDocument,
): Reply => {
  answerHeaders["cache-control"] = "no-cache"
  answerHeaders["etag"] = tag
  answerHeaders["vary"] = "Accept-Encoding"
  if (holdsTag(request.headers["if-none-match"], tag)) return { status: 304 }
  if (!acceptsGzip(request.headers["accept-encoding"])) return bytesReply(contentType, plain)
  answerHeaders["content-encoding"] = "gzip"
  return bytesReply(contentType, gzipped)
}

const cacheHeaders: ReadonlyArray<Header> = [
  ...commonHeaders.filter(({ name }) => name !== "Cache-Control"),
  header("Cache-Control", "Caches may keep a copy, and check its tag before each use.", {
    type: "string",
    const: "no-cache",
  }),
  header("ETag", "The tag of this version of the document."),
  header("Vary", "The document is compressed only for callers that accept it.", {
    type: "string",
    const: "Accept-Encoding",
  }),
]

/** The answers of `cachedReply`, with more headers. */
const cachedAnswers = (
  description: string,
  body: Content,
  more: ReadonlyArray<Header> = [],
): ReadonlyArray<Answer> => [
  {
    status: 200,
    description,
    headers: [
      ...cacheHeaders,
      header("Content-Encoding", "`gzip`, where the caller accepts it.", {
        type: "string",
        const: "gzip",
      }),
      ...more,
    ],
    content: body,
  },
  {
    status: 304,
    description: "The caller's copy, named in `If-None-Match`, is this version of the document.",
    headers: [...cacheHeaders, ...more],
    content: undefined,
  },
]

/** What callers send to check a copy. */
const ifNoneMatch = header("If-None-Match", "Tags of the caller's copies.")

// The error catalogue

const row = ([code, entry]: ReturnType<typeof errorCodes>[number]) => {
  const status =
    entry.pathStatus === undefined ? entry.status : `${entry.status}, ${entry.pathStatus} in a path`
  const details = [...(entry.details ?? []), ...(entry.optionalDetails ?? [])]
    .map((name) => `<code>${escapeHtml(name)}</code>`)
    .join(", ")
  return `<tr id="${code}"><td><a href="#${code}"><code>${code}</code></a></td><td>${status}</td><td>${escapeHtml(entry.message)}</td><td>${details}</td></tr>`
}

/** The error catalogue as HTML that loads nothing, with an anchor for each code. */
const errorPage = (hasOperator: boolean): string => `<!doctype html>
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
${errorCodes(hasOperator).map(row).join("\n")}
</tbody>
</table>
</html>
`

const plainPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

// The routes

/**
 * Builds a value from the public address on first use, and caches it. Concurrent callers wait; an
 * interrupted attempt leaves nothing behind.
 */
const memoize = <A>(make: (publicUrl: string) => Effect.Effect<A>) => {
  let last: { readonly publicUrl: string; readonly made: A } | undefined
  const alone = Semaphore.makeUnsafe(1)
  return Effect.fnUntraced(function* memoized(publicUrl: string) {
    if (last?.publicUrl !== publicUrl) last = { publicUrl, made: yield* make(publicUrl) }
    return last.made
  }, alone.withPermits(1))
}

const thePage = cachedAnswers("The page.", content("text/html", { type: "string" }), [
  noSniff,
  header("Content-Security-Policy", "The page loads nothing from elsewhere."),
])

const anyDocument = { type: "object", required: ["openapi", "info", "paths"] }

/** The content of these paths, each built on first use. */
const makeDocuments = (toDocument: (publicUrl: string) => JsonObject, hasOperator: boolean) => {
  const document = memoize(function makeDocument(url) {
    return Effect.sync(() => toDocument(url))
  })
  return {
    json: memoize(
      Effect.fnUntraced(function* makeJson(url) {
        return yield* cachedDocument("application/json", JSON.stringify(yield* document(url)))
      }),
    ),
    index: memoize(
      Effect.fnUntraced(function* makeIndex(url) {
        return yield* cachedDocument(htmlType, apiIndex(yield* document(url), url))
      }),
    ),
    explorer: memoize(
      Effect.fnUntraced(function* makeExplorer(url) {
        // The module takes half a second to load, and many services never serve the page.
        const { apiPage } = yield* Effect.promise(() => import("./apiPage.ts"))
        const { html, policy } = yield* apiPage(yield* document(url))
        return { html: yield* cachedDocument(htmlType, html), policy }
      }),
    ),
    errors: memoize(function makeErrors() {
      return cachedDocument(htmlType, errorPage(hasOperator))
    }),
  }
}

/**
 * `toDocument` builds the document of these and all other routes, given the public address. `hasOperator`:
 * whether errors of the operator API lead here.
 */
export const docsRoutes = Effect.fnUntraced(function* docsRoutes(
  makeDocument: (docs: ReadonlyArray<OpenRoute>, publicUrl: string) => JsonObject,
  hasOperator: boolean,
) {
  const publicUrl = getPublicUrl(yield* HttpOptions)
  const documents = makeDocuments((url) => makeDocument(routes, url), hasOperator)

  const routes: ReadonlyArray<OpenRoute> = [
    openRoute("/openapi.json", {
      id: "readDocument",
      tag: "Service",
      summary: "Read this document",
      headers: [ifNoneMatch],
      answers: cachedAnswers("OpenAPI 3.1.", content("application/json", anyDocument)),
      handler: Effect.fnUntraced(function* readDocument(incoming) {
        return cachedReply(incoming, yield* documents.json(yield* publicUrl))
      }),
    }),
    openRoute("/docs", {
      id: "readPage",
      tag: "Service",
      summary: "Read this document as a page",
      headers: [ifNoneMatch],
      answers: thePage,
      handler: Effect.fnUntraced(function* readPage(incoming) {
        const page = yield* documents.index(yield* publicUrl)
        pageHeaders(incoming, plainPolicy)
        return cachedReply(incoming, page)
      }),
    }),
    openRoute(explorerPath, {
      id: "readExplorer",
      tag: "Service",
      summary: "Read and try out this document's operations",
      headers: [ifNoneMatch],
      answers: thePage,
      handler: Effect.fnUntraced(function* readExplorer(incoming) {
        const { html, policy } = yield* documents.explorer(yield* publicUrl)
        pageHeaders(incoming, policy)
        return cachedReply(incoming, html)
      }),
    }),
    openRoute("/docs/errors", {
      id: "readErrors",
      tag: "Service",
      summary: "Read the error catalogue",
      about: "Every code with its status and meaning.",
      headers: [ifNoneMatch],
      answers: thePage,
      handler: Effect.fnUntraced(function* readErrors(incoming) {
        const page = yield* documents.errors(yield* publicUrl)
        pageHeaders(incoming, plainPolicy)
        return cachedReply(incoming, page)
      }),
    }),
  ]
  return routes
})
