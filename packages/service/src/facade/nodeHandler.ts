/**
 * The HTTP interface for servers of Node's own requests: Express, Fastify, Koa, NestJS and `node:http`.
 * Node's own streams do the translation; a library for it would bring a framework with it. This module
 * also undoes what frameworks do to a request: cut a mount path off its address, and read its body.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { ReadableStream } from "node:stream/web"
import type { NodeRequest, NodeResponse } from "../api/Messaging.ts"
import { isBelow } from "./options.ts"

/** A request as frameworks hand it on. */
interface FrameworkRequest extends IncomingMessage {
  /** Express: the address before a mount path was cut off. */
  readonly originalUrl?: string
  /** Express: that mount path. */
  readonly baseUrl?: string
  /** Set by body parsers, sometimes without reading. */
  readonly body?: unknown
}

const readElsewhere =
  "A body parser read this request before the messaging service. Mount nodeHandler before it."

/** Whether a framework hands on nothing that the service answers. */
const isMountedElsewhere = (base: string, mount: string): boolean =>
  mount !== "" && !isBelow(mount, base) && (base === "" || !isBelow(base, mount))

const mountedElsewhere = (mount: string): string =>
  `nodeHandler is mounted at ${mount}, where it answers nothing: open the service with http: { basePath: "${mount}" }.`

const isJson = (request: IncomingMessage): boolean =>
  /^application\/(?:[\w.+-]+\+)?json\b/i.test(request.headers["content-type"] ?? "")

/** The body that a parser has read, as bytes; null if what the parser kept does not tell them. */
const parsedBody = (request: FrameworkRequest): Uint8Array<ArrayBuffer> | null => {
  const { body } = request
  if (body instanceof Uint8Array) return new Uint8Array(body)
  if (typeof body === "string") return new TextEncoder().encode(body)
  return body !== undefined && isJson(request)
    ? new TextEncoder().encode(JSON.stringify(body))
    : null
}

type Body = NonNullable<RequestInit["body"]>

/** `parsed` is the body where a parser has read it. Throws for a method that web requests forbid. */
const toWebRequest = (
  request: FrameworkRequest,
  url: string,
  parsed: Body | null,
  signal: AbortSignal,
): Request => {
  const headers = new Headers()
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index] ?? ""
    // HTTP/2 names the parts of the request line like headers.
    if (!name.startsWith(":")) headers.append(name, request.rawHeaders[index + 1] ?? "")
  }
  const host = request.headers.host ?? request.headers[":authority"] ?? "localhost"
  const method = request.method ?? "GET"
  const hasNone = method === "GET" || method === "HEAD"
  const init: RequestInit & { readonly duplex: "half" } = {
    method,
    headers,
    // Node's type of a web stream and the global one are declared apart.
    body: hasNone ? null : (parsed ?? (Readable.toWeb(request) as unknown as Body)),
    signal,
    duplex: "half",
  }
  return new Request(new URL(url, `http://${String(host)}`), init)
}

const writeResponse = async (answer: Response, response: ServerResponse): Promise<void> => {
  const cookies = answer.headers.getSetCookie()
  response.writeHead(answer.status, {
    ...Object.fromEntries(answer.headers),
    ...(cookies.length === 0 ? {} : { "set-cookie": cookies }),
  })
  if (answer.body === null) response.end()
  else await pipeline(Readable.fromWeb(answer.body as ReadableStream), response)
}

const writeError = (response: ServerResponse, status: number, code: string, message: string) =>
  writeResponse(
    Response.json(
      { error: { code, message } },
      { status, headers: { "cache-control": "no-store" } },
    ),
    response,
  )

/** Answers requests of Node's servers by a handler of web requests, which also takes the address. */
export const makeNodeHandler = (
  base: string,
  handler: (request: Request, address: string) => Promise<Response>,
): ((request: NodeRequest, response: NodeResponse, next?: () => void) => Promise<void>) => {
  let warned = false
  return async (input, givenResponse, next) => {
    const request = input as NodeRequest & FrameworkRequest
    const { baseUrl: mount = "" } = request
    if (!warned && isMountedElsewhere(base, mount)) {
      warned = true
      process.emitWarning(mountedElsewhere(mount), { code: "MESSAGING_MOUNT" })
    }
    const response = givenResponse as ServerResponse
    const url = request.originalUrl ?? request.url ?? "/"
    const path = url.split(/[?#]/, 1)[0] ?? ""
    if (next !== undefined && !isBelow(base, path)) return next()

    const parsed = request.readableDidRead ? parsedBody(request) : null
    if (request.readableDidRead && parsed === null) {
      process.emitWarning(readElsewhere, { code: "MESSAGING_BODY_READ" })
      return writeError(response, 500, "internal_error", readElsewhere)
    }
    const disconnected = new AbortController()
    response.once("close", () => disconnected.abort())
    let translated: Request
    try {
      translated = toWebRequest(request, url, parsed, disconnected.signal)
    } catch {
      return writeError(response, 404, "not_found", "There is nothing at this address.")
    }
    const answer = await handler(translated, request.socket.remoteAddress ?? "")
    try {
      await writeResponse(answer, response)
    } catch {
      // The client left in the middle of the response.
      response.destroy()
    }
  }
}
