/**
 * The API as a page to read and try out, by Scalar: its script comes with Effect. The page contains
 * the script and works offline. Its policy forbids loading anything and running any other script.
 */
import { Effect } from "effect"
import { make } from "effect/http-api/HttpApi"
import { layer } from "effect/http-api/HttpApiScalar"
import { Transform } from "effect/http-api/OpenApi"
import { toHttpEffect } from "effect/http/HttpRouter"
import { HttpServerRequest, fromWeb } from "effect/http/HttpServerRequest"
import { toWeb } from "effect/http/HttpServerResponse"
import type { JsonObject } from "../openapi/Operation.ts"
import { explorerPath } from "./apiIndex.ts"

export interface ApiPage {
  readonly html: string
  /** Its `Content-Security-Policy`. */
  readonly policy: string
}

/** Hidden parts of the page: everything that leads to a service of Scalar's own. */
const appearance = {
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  telemetry: false,
  defaultOpenAllTags: false,
  authentication: { preferredSecurityScheme: "apiKey" },
}

const path = explorerPath

/** Effect builds its page from a declared interface; only the document declares ours. */
const render = (document: JsonObject) => {
  const interfaceOfDocument = make("service").annotate(Transform, () => ({ ...document }))
  const request = fromWeb(new Request(`http://localhost${path}`))
  return toHttpEffect(layer(interfaceOfDocument, { path, scalar: appearance })).pipe(
    Effect.flatMap(Effect.provideService(HttpServerRequest, request)),
    Effect.flatMap((response) => Effect.promise(() => toWeb(response).text())),
    Effect.scoped,
    // The router was made for this one route.
    Effect.orDie,
  )
}

const inlineScript = /<script>([\s\S]*?)<\/script>/g

const toHash = (script: string) =>
  Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(script))).pipe(
    Effect.map((digest) => `'sha256-${Buffer.from(digest).toString("base64")}'`),
  )

const toPolicy = (scripts: ReadonlyArray<string>): string =>
  [
    "default-src 'none'",
    `script-src ${scripts.join(" ")}`,
    // Scalar adds styles to the page at run time.
    "style-src 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src data:",
    // Requests that a reader tries out.
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ")

export const apiPage = Effect.fnUntraced(function* apiPage(document: JsonObject) {
  const html = yield* render(document)
  const scripts = [...html.matchAll(inlineScript)].map(([, script = ""]) => script)
  const page: ApiPage = {
    html,
    policy: toPolicy(yield* Effect.forEach(scripts, toHash)),
  }
  return page
})
