/**
 * Two clients of one service: a real socket, and the web-standard handler. Requests are written out
 * in full, so a test can send what no well-behaved client would.
 */
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { request as nodeRequest } from "node:http"
import { toWebHandler } from "../src/index.ts"
import type { HttpServices, HttpSettings } from "../src/index.ts"

export interface Call {
  /** Default: GET. */
  readonly method?: string
  readonly path: string
  /** In order; a name may repeat. */
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>
  /** Sent as a bearer token. */
  readonly token?: string
  /** Sent as JSON, with the content type. */
  readonly json?: unknown
  /** Sent unchanged, without a content type. */
  readonly body?: string | Uint8Array
  /** Sends the body without a declared length. */
  readonly chunked?: boolean
  /** The body in the pieces in which it arrives, through the web handler. */
  readonly pieces?: ReadonlyArray<Uint8Array>
}

export interface Answer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** The parsed body, undefined when there is none. */
  readonly body: unknown
}

export interface ErrorBody {
  readonly code: string
  readonly message: string
  readonly field: string | null
  readonly docs: string
  readonly request_id: string
  readonly errors?: ReadonlyArray<{ readonly field: string | null; readonly message: string }>
  readonly [detail: string]: unknown
}

export const errorBody = (answer: Answer): ErrorBody =>
  (answer.body as { readonly error: ErrorBody }).error

export interface HttpTestClient {
  readonly name: "a socket" | "the web handler"
  readonly call: (call: Call) => Effect.Effect<Answer>
}

export class HttpTestClients extends Context.Service<
  HttpTestClients,
  {
    readonly socket: HttpTestClient
    readonly web: HttpTestClient
    readonly port: number
  }
>()("test/Doors") {
  static readonly layer = (settings: HttpSettings) =>
    Layer.effect(
      HttpTestClients,
      Effect.gen(function* () {
        const { address } = yield* HttpServer.HttpServer
        const port = "port" in address ? address.port : 0
        const services = yield* Effect.context<HttpServices>()
        const web = yield* Effect.acquireRelease(
          Effect.sync(() => toWebHandler(Layer.succeedContext(services), settings)),
          ({ dispose }) => Effect.promise(dispose),
        )
        return HttpTestClients.of({
          port,
          socket: {
            name: "a socket",
            call: (call) => Effect.promise((signal) => overSocket(port, call, signal)),
          },
          web: {
            name: "the web handler",
            call: (call) => Effect.promise(() => overWeb(web.handler, call)),
          },
        })
      }),
    )
}

const getHeaders = ({
  headers = [],
  json,
  token,
}: Call): ReadonlyArray<readonly [string, string]> => [
  ...(token === undefined ? [] : [["authorization", `Bearer ${token}`] as const]),
  ...(json === undefined ? [] : [["content-type", "application/json"] as const]),
  ...headers,
]

const encodeBody = ({ body, json }: Call): Uint8Array | undefined => {
  if (json !== undefined) return new TextEncoder().encode(JSON.stringify(json))
  return typeof body === "string" ? new TextEncoder().encode(body) : body
}

const toAnswer = (status: number, headers: Record<string, string>, text: string): Answer => ({
  status,
  headers,
  text,
  body:
    text !== "" && headers["content-type"] === "application/json" ? JSON.parse(text) : undefined,
})

const overSocket = (port: number, call: Call, signal: AbortSignal): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const bytes = encodeBody(call)
    const framing =
      bytes === undefined
        ? []
        : call.chunked === true
          ? ["transfer-encoding", "chunked"]
          : ["content-length", String(bytes.length)]
    const outgoing = nodeRequest({
      host: "127.0.0.1",
      port,
      method: call.method ?? "GET",
      path: call.path,
      agent: false,
      signal,
      headers: ["host", "127.0.0.1", ...framing, ...getHeaders(call).flat()],
    })
    outgoing.on("response", (incoming) => {
      const chunks: Array<Uint8Array> = []
      incoming.on("data", (chunk: Uint8Array) => chunks.push(chunk))
      incoming.on("end", () => {
        const headers: Record<string, string> = {}
        for (const [name, value] of Object.entries(incoming.headers)) headers[name] = String(value)
        resolve(toAnswer(incoming.statusCode ?? 0, headers, Buffer.concat(chunks).toString()))
      })
      incoming.on("error", reject)
    })
    outgoing.on("error", reject)
    outgoing.end(bytes)
  })

const inPieces = (bytes: Uint8Array): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, index) =>
    bytes.subarray(index * 65_536, (index + 1) * 65_536),
  )

const streamed = (pieces: ReadonlyArray<Uint8Array>): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })

const overWeb = async (
  handler: (request: Request) => Promise<Response>,
  call: Call,
): Promise<Answer> => {
  const bytes = call.pieces === undefined ? encodeBody(call) : Buffer.concat(call.pieces)
  const headers = new Headers()
  for (const [name, value] of getHeaders(call)) headers.append(name, value)
  if (bytes !== undefined && call.chunked !== true) {
    headers.set("content-length", String(bytes.length))
  }
  const response = await handler(
    new Request(`http://service.test${call.path}`, {
      method: call.method ?? "GET",
      headers,
      ...(bytes === undefined
        ? {}
        : { body: streamed(call.pieces ?? inPieces(bytes)), duplex: "half" }),
    } as RequestInit),
  )
  return toAnswer(response.status, Object.fromEntries(response.headers), await response.text())
}
