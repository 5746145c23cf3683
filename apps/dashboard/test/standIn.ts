/**
 * A proxy before the real service. It makes requests fail, which is how tests reach those states.
 */
import { readFile, readdir } from "node:fs/promises"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { extname, join, relative } from "node:path"
import { gzipSync } from "node:zlib"
import { cacheControlOf, isPage, pageFor, pageHeaders } from "./pageHeaders.ts"

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
}

export interface StandIn {
  /** With the base path, without a slash at its end. */
  readonly url: string
  readonly close: () => Promise<void>
  /** Makes every request of that kind fail from now on; null for none. */
  readonly failWith: (failure: Failure | null) => void
}

/** `away`: connections are closed without an answer. */
export interface Failure {
  readonly path: RegExp
  readonly status: number | "away"
  readonly code?: string
}

/** What the browser says of the page that a request comes from. */
const fetchSite = ({ headers }: IncomingMessage): Record<string, string> => {
  const site = headers["sec-fetch-site"]
  return typeof site === "string" ? { "sec-fetch-site": site } : {}
}

export const standIn = async (service: string, dist: string, base = "/"): Promise<StandIn> => {
  const files = new Map<string, Buffer>()
  for (const entry of await readdir(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || !(extname(path) in types)) continue
    const name = relative(dist, path)
    const content = await readFile(path)
    const served = name === "index.html" ? pageFor(content.toString(), base) : content
    files.set(name, gzipSync(served))
  }
  let failing: Failure | null = null

  /** Passes the service's own stream on, until either side ends it. */
  const stream = async (request: IncomingMessage, response: ServerResponse, path: string) => {
    const left = new AbortController()
    response.once("close", () => left.abort())
    const real = await fetch(service + path, {
      headers: { cookie: request.headers.cookie ?? "" },
      signal: left.signal,
    })
    response.writeHead(real.status, { "content-type": real.headers.get("content-type") ?? "" })
    try {
      for await (const chunk of real.body ?? []) response.write(chunk)
    } catch {
      // The page has left, or the service has stopped.
    }
    response.end()
  }

  const isSignedIn = async (cookie: string): Promise<boolean> => {
    const session = await fetch(`${service}/admin/v1/session`, { headers: { cookie } })
    return ((await session.json()) as { session: unknown }).session !== null
  }

  const read = async (request: IncomingMessage): Promise<unknown> => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    return text === "" ? undefined : JSON.parse(text)
  }

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = "GET", url = "/" } = request
    const { pathname: whole, search } = new URL(url, "http://127.0.0.1")
    const say = (status: number, body: unknown, headers: Record<string, string> = {}) =>
      response
        .writeHead(status, {
          "content-type": "application/json",
          "cache-control": "no-store",
          ...headers,
        })
        .end(JSON.stringify(body))
    const refuse = (status: number, code: string, message: string) =>
      say(
        status,
        { error: { code, message, field: null, request_id: "req_standin" } },
        status === 429 ? { "retry-after": "30" } : {},
      )
    if (!whole.startsWith(base)) return refuse(404, "not_found", "Nothing is here.")
    const pathname = `/${whole.slice(base.length)}`
    if (failing?.path.test(pathname)) {
      if (failing.status === "away") return request.socket.destroy()
      return refuse(failing.status, failing.code ?? "internal_error", "Something went wrong here.")
    }

    if (/^\/(qr|media)\//.test(pathname)) {
      const image = await fetch(service + pathname)
      return response
        .writeHead(image.status, { "content-type": image.headers.get("content-type") ?? "" })
        .end(Buffer.from(await image.arrayBuffer()))
    }
    if (!pathname.startsWith("/admin/v1/")) {
      const asked = pathname.slice(1)
      const name = files.has(asked) ? asked : isPage(asked) ? "index.html" : undefined
      if (name === undefined) return refuse(404, "not_found", "Nothing is here.")
      return response
        .writeHead(200, {
          ...pageHeaders,
          "content-type": types[extname(name)] ?? "",
          "content-encoding": "gzip",
          "cache-control": cacheControlOf(name),
        })
        .end(files.get(name))
    }
    // A page of another origin may not write, whatever cookie its request carries.
    const { host, origin } = request.headers
    if (method !== "GET" && origin !== `http://${host}`)
      return refuse(403, "cross_site_request", "Requests of other sites are refused.")

    const body = await read(request)
    const cookie = request.headers.cookie ?? ""
    // The service knows its cookies, and where a request came from.
    const forward = async () => {
      const real = await fetch(service + pathname + search, {
        method,
        headers: {
          cookie,
          ...fetchSite(request),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        body: body === undefined ? null : JSON.stringify(body),
      })
      const given = real.headers.get("set-cookie")?.replace("Path=/;", `Path=${base};`)
      const later = real.headers.get("retry-after")
      return say(real.status, await real.json(), {
        ...(given === undefined ? {} : { "set-cookie": given }),
        ...(later === null ? {} : { "retry-after": later }),
      })
    }
    if (pathname === "/admin/v1/session") return forward()
    if (!(await isSignedIn(cookie))) return refuse(401, "session_ended", "Sign in.")
    if (pathname === "/admin/v1/events") return stream(request, response, pathname + search)
    return forward()
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) =>
      response
        .writeHead(500, { "content-type": "application/json" })
        .end(JSON.stringify({ error: { code: "internal_error", message: String(error) } })),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}${base.slice(0, -1)}`,
    failWith: (failure) => {
      failing = failure
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
