/** Mounted in Hono, which speaks web-standard requests itself. */
import { serve } from "@hono/node-server"
import type { ServerType } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import { Hono } from "hono"
import type { AddressInfo } from "node:net"
import { openService } from "./mounted.ts"
import type { Mounted } from "./mounted.ts"

export const withHono = async (operatorToken: string): Promise<Mounted> => {
  const { close, handle } = await openService(operatorToken)
  const app = new Hono()
  app.all("/messaging/*", (context) => handle(context.req.raw, getConnInfo(context).remote.address))
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
      await close()
    },
  }
}
