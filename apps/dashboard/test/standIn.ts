/**
 * Stands in for what the service itself is to serve: the files of the dashboard, sessions, and the
 * operations that the design adds to the operator API, made of those that there are. Everything it
 * answers comes from the real service behind it. It goes when the service has them.
 */
import { randomBytes } from "node:crypto"
import { readFile, readdir } from "node:fs/promises"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { extname, join, relative } from "node:path"
import { gzipSync } from "node:zlib"
import { cacheControlOf, isPage, pageFor, pageHeaders } from "./pageHeaders.ts"
import { addedOperations } from "./addedOperations.ts"
import type { Json, Said } from "./addedOperations.ts"

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
}

interface Session {
  readonly kind: "operator" | "portal"
  readonly workspace_id: number | null
  readonly role: string
  readonly expires_at: string
  readonly return_url: string | null
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

export const standIn = async (
  service: string,
  operatorToken: string,
  dist: string,
  base = "/",
): Promise<StandIn> => {
  const files = new Map<string, Buffer>()
  for (const entry of await readdir(dist, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || !(extname(path) in types)) continue
    const name = relative(dist, path)
    const content = await readFile(path)
    const served = name === "index.html" ? pageFor(content.toString(), base) : content
    files.set(name, gzipSync(served))
  }
  const sessions = new Map<string, Session>()
  const codes = new Map<string, Session>()
  let failing: Failure | null = null

  const ask = async (method: string, path: string, token: string, body?: Json): Promise<Said> => {
    const response = await fetch(service + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    return { status: response.status, body: await response.json() }
  }
  const asOperator = (method: string, path: string, body?: Json) =>
    ask(method, path, operatorToken, body)
  const added = addedOperations(asOperator, ask)

  const stream = (request: IncomingMessage, response: ServerResponse, workspace: string) => {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" })
    response.write("retry: 1000\n\n")
    const last = new Map<string, string>()
    const look = async () => {
      for (const [topic, state] of await added.state(workspace)) {
        const before = last.get(topic)
        last.set(topic, state)
        if (before !== undefined && before !== state)
          response.write(
            topic === "clock"
              ? `event: clock\ndata: ${state}\n\n`
              : `event: ${topic}\ndata: {}\n\n`,
          )
      }
    }
    const timer = setInterval(() => void look().catch(() => undefined), 1000)
    request.on("close", () => clearInterval(timer))
  }

  const read = async (request: IncomingMessage): Promise<Json> => {
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

    if (pathname.startsWith("/qr/")) {
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
    const cookie = /(?:^|; )session=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1] ?? ""
    const about = async (session: Session) => ({ ...session, ...(await added.about()) })
    if (pathname === "/admin/v1/session" && method === "POST") {
      const session: Session | undefined =
        body.token === operatorToken
          ? {
              kind: "operator",
              workspace_id: null,
              role: "owner",
              expires_at: new Date(Date.now() + 43_200_000).toISOString(),
              return_url: null,
            }
          : codes.get(body.code)
      codes.delete(body.code)
      if (session === undefined)
        return refuse(401, "invalid_operator_token", "The token or code is wrong.")
      const id = randomBytes(32).toString("base64url")
      sessions.set(id, session)
      return say(200, await about(session), {
        "set-cookie": `session=${id}; Path=${base}; HttpOnly; SameSite=Strict; Max-Age=43200`,
      })
    }
    const session = sessions.get(cookie)
    // Nobody is an answer, not a refusal: browsers would call that an error of the page.
    if (pathname === "/admin/v1/session" && method === "GET") {
      return say(200, { session: session === undefined ? null : await about(session) })
    }
    if (session === undefined) return refuse(401, "missing_operator_token", "Sign in.")
    if (pathname === "/admin/v1/session" && method === "DELETE") {
      sessions.delete(cookie)
      return say(
        200,
        { signed_out: true },
        { "set-cookie": `session=; Path=${base}; HttpOnly; SameSite=Strict; Max-Age=0` },
      )
    }
    if (pathname === "/admin/v1/events")
      return stream(request, response, new URLSearchParams(search).get("workspace_id") ?? "")
    if (
      session.workspace_id !== null &&
      !pathname.startsWith(`/admin/v1/workspaces/${session.workspace_id}/`)
    )
      return refuse(404, "workspace_not_found", "There is no such workspace.")
    const portal = /^\/admin\/v1\/workspaces\/(\d+)\/portal-sessions$/.exec(pathname)
    if (portal !== null) {
      const code = randomBytes(32).toString("base64url")
      const expires_at = new Date(Date.now() + (body.expires_in ?? 3600) * 1000).toISOString()
      const { role, return_url = null } = body
      codes.set(code, {
        kind: "portal",
        workspace_id: Number(portal[1]),
        role,
        expires_at,
        return_url,
      })
      return say(201, { url: `${base}portal#code=${code}`, role, expires_at })
    }
    const answer =
      (await added.answer(method, pathname, search, body)) ??
      (await asOperator(method, pathname + search, body))
    return say(answer.status, answer.body)
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
