/** Mounted in Hono, which speaks web-standard requests itself. */
import { serve } from "@hono/node-server"
import type { ServerType } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import { open } from "@messaging-service/service"
import { Hono } from "hono"
import type { AddressInfo } from "node:net"
import type { Mounted } from "./mounted.ts"

export const withHono = async (operatorToken: string): Promise<Mounted> => {
  const addresses = new WeakMap<Request, string>()
  const messaging = await open({
    http: {
      basePath: "/messaging",
      operatorToken,
      // A web-standard request does not know where it came from: the server does.
      clientAddress: (request) => addresses.get(request) ?? "",
    },
  })
  const app = new Hono()
  app.all("/messaging/*", (context) => {
    addresses.set(context.req.raw, getConnInfo(context).remote.address ?? "")
    return messaging.handler(context.req.raw)
  })
  app.get("/", (context) => context.text("my own page"))
  const server = await new Promise<ServerType>((resolve) => {
    const started = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, () =>
      resolve(started),
    )
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      if ("closeAllConnections" in server) server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await messaging.close()
    },
  }
}
