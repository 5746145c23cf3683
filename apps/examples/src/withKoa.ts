/** Mounted in Koa, before its own middleware. */
import Koa from "koa"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { openService } from "./mounted.ts"
import type { Mounted } from "./mounted.ts"

export const withKoa = async (operatorToken: string): Promise<Mounted> => {
  const messaging = await openService(operatorToken)
  const app = new Koa()
  app.use(async (context, next) => {
    if (!context.path.startsWith("/messaging/")) return next()
    // The response is the service's from here on.
    context.respond = false
    await messaging.nodeHandler(context.req, context.res)
  })
  app.use((context) => {
    context.body = "my own page"
  })
  const server = app.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      server.close()
      server.closeAllConnections()
      await messaging.close()
    },
  }
}
