/** What the examples of mounting have in common: the service, and which requests are its own. */
import { getRequestListener } from "@hono/node-server"
import { open } from "@messaging-service/service"
import type { IncomingMessage, ServerResponse } from "node:http"

/** Where a server listens, and how it is stopped together with the service. */
export interface Mounted {
  readonly url: string
  readonly stop: () => Promise<void>
}

const basePath = "/messaging"

/** The service has everything below its path; the server beside it keeps all others. */
export const isOurs = (url: string | undefined): boolean => url?.startsWith(`${basePath}/`) === true

/** Opens the service, for as long as the server lives. */
export const openService = async (operatorToken: string) => {
  const addresses = new WeakMap<Request, string>()
  const messaging = await open({
    http: {
      basePath,
      operatorToken,
      // A web-standard request does not know where it came from: the server does.
      clientAddress: (request) => addresses.get(request) ?? "",
    },
  })
  /** For servers of web-standard requests. */
  const handle = (request: Request, address = ""): Promise<Response> => {
    addresses.set(request, address)
    return messaging.handler(request)
  }
  /** For servers of Node's own requests. */
  const listener: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void> =
    getRequestListener((request, { incoming }) => handle(request, incoming.socket.remoteAddress), {
      // The program's own `Request` and `Response` stay what they are.
      overrideGlobalObjects: false,
    })
  return { handle, listener, close: messaging.close }
}
