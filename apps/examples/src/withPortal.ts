/** The service with its pages below a path of a Hono server, and a link into a workspace's portal. */
import { serve } from "@hono/node-server"
import type { ServerType } from "@hono/node-server"
import { open } from "@messaging-service/service"
import { Hono } from "hono"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import type { Mounted } from "./mounted.ts"

interface WithPortal extends Mounted {
  /** Signs in once. */
  readonly link: string
}

export const withPortal = async (): Promise<WithPortal> => {
  const app = new Hono()
  const server: ServerType = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 })
  await once(server, "listening")
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const messaging = await open({ http: { basePath: "/messaging", publicUrl: url } })
  const pages = messaging.handler({ dashboard: true })
  app.all("/messaging/*", (context) => pages(context.req.raw))
  app.get("/", (context) => context.text("my own page"))

  const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
  await messaging
    .as(shop)
    .messages.send({ to: { phone: "+15550100002" }, text: "Your table is ready" })
  const link = await messaging.portalLink(shop, {
    role: "member",
    returnUrl: "https://shop.example.com/account",
  })
  return {
    url,
    link: link.url,
    stop: async () => {
      if ("closeAllConnections" in server) server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await messaging.close()
    },
  }
}
