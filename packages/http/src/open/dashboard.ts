/**
 * The dashboard's files (contract: Dashboard). Its pages have addresses of their own, which are all
 * answered with one file; whatever else is unknown stays the contract's 404.
 */
import { refuse } from "@messaging-service/core"
import type { Refusal } from "@messaging-service/core"
import { Effect } from "effect"
import type { DashboardFile, DashboardSource } from "../HttpOptions.ts"
import { bytesReply } from "../IncomingRequest.ts"
import type { IncomingRequest, Reply } from "../IncomingRequest.ts"

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ")

const fileHeaders = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
}

/** Whether the address is a page's. */
export const isDashboardPage = (path: string): boolean =>
  path === "/" || /^\/(?:sign-in|portal|workspaces|w|service)(?:\/|$)/.test(path)

/** Whether there may be a file: all lie in `assets`, or at the root with an ending. */
const mayBeFile = (path: string): boolean => /^\/(?:assets\/[\w.-]+|[\w-]+\.[\w.-]+)$/.test(path)

/** Whether the dashboard answers a request that no other part does. */
export const isOfDashboard = ({ path, request }: IncomingRequest): boolean =>
  ["GET", "HEAD"].includes(request.method) &&
  // Its trailing slash is not a root.
  !request.url.startsWith("//") &&
  (isDashboardPage(path) || mayBeFile(path))

/** The page for that base path. The built file says `./`, which differs from page to page. */
const pageFor = ({ body, etag, ...file }: DashboardFile, basePath: string): DashboardFile => {
  const html = new TextDecoder().decode(body).replaceAll('="./', `="${basePath}`)
  return {
    type: file.type,
    immutable: false,
    body: new TextEncoder().encode(html),
    etag: `${etag.slice(0, -1)}-${encodeURIComponent(basePath)}"`,
  }
}

/** Whether the client takes that coding. */
const accepts = (accepted: string | undefined, coding: string): boolean =>
  (accepted ?? "").split(",").some((part) => {
    const [name = "", ...parameters] = part.split(";").map((each) => each.trim().toLowerCase())
    return name === coding && !parameters.some((each) => /^q=0(?:\.0*)?$/.test(each))
  })

/** The smallest copy that the client takes. */
const copyFor = ({ br, gzip, ...file }: DashboardFile, accepted: string | undefined) => {
  if (br !== undefined && accepts(accepted, "br")) return { bytes: br, coding: "br" }
  if (gzip !== undefined && accepts(accepted, "gzip")) return { bytes: gzip, coding: "gzip" }
  return { bytes: file.body, coding: undefined }
}

/** Whether the client has the file with that tag already. */
const isKnown = (condition: string | undefined, etag: string): boolean =>
  (condition ?? "")
    .split(",")
    .map((each) => each.trim().replace(/^W\//, ""))
    .some((each) => each === etag || each === "*")

const serve = (
  { answerHeaders: headers, request }: IncomingRequest,
  file: DashboardFile,
): Reply => {
  const { bytes, coding } = copyFor(file, request.headers["accept-encoding"])
  const etag = coding === undefined ? file.etag : `${file.etag.slice(0, -1)}-${coding}"`
  Object.assign(headers, fileHeaders)
  headers["cache-control"] = file.immutable ? "public, max-age=31536000, immutable" : "no-cache"
  headers["etag"] = etag
  if (file.br !== undefined || file.gzip !== undefined) headers["vary"] = "accept-encoding"
  if (isKnown(request.headers["if-none-match"], etag)) return { status: 304 }
  if (coding !== undefined) headers["content-encoding"] = coding
  return bytesReply(file.type, bytes)
}

const notFound = refuse("not_found")

/** Answers requests for pages and files; `publicUrl` may have a path, where everything is mounted. */
export const dashboardHandler = (load: DashboardSource, publicUrl: string) => {
  const basePath = new URL(publicUrl).pathname.replace(/\/?$/, "/")
  let loaded: ReadonlyMap<string, DashboardFile> | undefined

  /** Loads the files at the first request, so that a service without visitors never has them. */
  const files = Effect.suspend(() =>
    loaded === undefined
      ? Effect.map(Effect.promise(load), (input) => {
          const page = input.get("index.html")
          const all = new Map(input)
          if (page !== undefined) all.set("index.html", pageFor(page, basePath))
          loaded = all
          return all
        })
      : Effect.succeed(loaded),
  )

  return (incoming: IncomingRequest): Effect.Effect<Reply, Refusal> =>
    Effect.flatMap(files, (all) => {
      const isAPage = isDashboardPage(incoming.path)
      const file = all.get(isAPage ? "index.html" : incoming.path.slice(1))
      if (file === undefined) return Effect.fail(notFound)
      incoming.route = isAPage ? "page" : "file"
      return Effect.succeed(serve(incoming, file))
    })
}
