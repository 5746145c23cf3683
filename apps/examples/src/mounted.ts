/** What the examples of mounting have in common: the handler, and which requests are its own. */
import { getRequestListener } from "@hono/node-server"
import { toWebHandler } from "@messaging-service/http"
import type { WebHandler } from "@messaging-service/http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Redacted } from "effect"
import { Service } from "./service.ts"

/** Where a server listens, and how it is stopped together with the service. */
export interface Mounted {
  readonly url: string
  readonly stop: () => Promise<void>
}

export type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** The service's own paths; the server beside it keeps all others. */
export const isOurs = (path: string): boolean =>
  /^\/(?:api\/v2|admin\/v1|health)(?:[/?]|$)/.test(path)

/** Builds the service and its handler, for as long as the server lives. */
export const openService = (
  operatorToken: string,
): WebHandler & { readonly listener: Listener } => {
  const addresses = new WeakMap<Request, string>()
  const web = toWebHandler(Service, {
    operatorToken: Redacted.make(operatorToken),
    emulator: null,
    publicUrl: "http://localhost",
    trustProxy: false,
    // A web-standard request does not know where it came from: Node's socket does.
    clientAddress: (request) => addresses.get(request) ?? "",
  })
  const listener = getRequestListener((request, { incoming }) => {
    addresses.set(request, incoming.socket.remoteAddress ?? "")
    return web.handler(request)
  })
  return { ...web, listener }
}
