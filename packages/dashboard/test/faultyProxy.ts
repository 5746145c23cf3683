/** A proxy on loopback before the real service: it passes everything on, but for what a test makes it do. */
import { createServer, request as send } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"

/**
 * `away` closes the connection without an answer; `cut` answers 200 and closes it in the middle of the body; `hollow`
 * answers 200 with an object that has nothing; `held` keeps the request until the fault changes.
 */
export type Fault =
  | "away"
  | "cut"
  | "hollow"
  | "held"
  | {
      readonly status: number
      readonly code: string
      readonly field?: string
      readonly retryAfterSeconds?: number
    }

export interface FaultyProxy {
  readonly url: string
  /** What requests of that method and path meet from now on; null passes them on. */
  readonly failWith: (fault: { readonly on: RegExp; readonly with: Fault } | null) => void
  readonly close: () => Promise<void>
}

export interface FaultyProxyOptions {
  /** Holds streams of events back, as proxies do that wait for the end of an answer. Default: false. */
  readonly buffersStreams?: boolean
}

export const requestIdOfFaults = "req_of_the_proxy"

const json = { "content-type": "application/json" }

const refuse = (response: ServerResponse, fault: Exclude<Fault, string>): void => {
  const { code, field = null, retryAfterSeconds: seconds, status } = fault
  const error = { code, message: `Refused: ${code}.`, field, request_id: requestIdOfFaults }
  response
    .writeHead(status, {
      ...json,
      ...(seconds === undefined ? {} : { "retry-after": String(seconds) }),
    })
    .end(JSON.stringify({ error }))
}

/** The first half of a body that never ends. */
const cut = (response: ServerResponse): void => {
  response.writeHead(200, { ...json, "content-length": "200" }).write('{"data":[{"id":1,')
  setImmediate(() => response.destroy())
}

const passOn = (
  service: string,
  request: IncomingMessage,
  response: ServerResponse,
  { buffersStreams = false }: FaultyProxyOptions,
): void => {
  const { headers, method, url } = request
  const passed = send(service + (url ?? "/"), { method, headers }, (answer) => {
    const isStream = answer.headers["content-type"]?.startsWith("text/event-stream")
    if (!(isStream && buffersStreams)) {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
      return
    }
    // The head passes, the events do not.
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    response.flushHeaders()
    answer.resume()
  })
  passed.on("error", () => response.destroy())
  response.on("close", () => passed.destroy())
  request.pipe(passed)
}

export const startFaultyProxy = async (
  service: string,
  options: FaultyProxyOptions = {},
): Promise<FaultyProxy> => {
  let fault: { readonly on: RegExp; readonly with: Fault } | null = null
  let changed = Promise.withResolvers<void>()

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const path = `${request.method} ${request.url?.split("?")[0]}`
    const met = (): Fault | null => (fault?.on.test(path) === true ? fault.with : null)
    while (met() === "held") await changed.promise
    const now = met()
    if (now === "away") request.socket.destroy()
    else if (now === "cut") cut(response)
    else if (now === "hollow") response.writeHead(200, json).end("{}")
    else if (now === null || now === "held") passOn(service, request, response, options)
    else refuse(response, now)
  }

  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    failWith: (next) => {
      fault = next
      changed.resolve()
      changed = Promise.withResolvers()
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
