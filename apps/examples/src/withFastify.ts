/** Mounted in Fastify, before its routing and body parsing. */
import { fastify } from "fastify"
import { openService } from "./mounted.ts"
import type { Mounted } from "./mounted.ts"

export const withFastify = async (operatorToken: string): Promise<Mounted> => {
  const messaging = await openService(operatorToken)
  const app = fastify({ forceCloseConnections: true })
  app.addHook("onRequest", async (request, reply) => {
    if (!request.url.startsWith("/messaging/")) return
    // The response is the service's from here on.
    reply.hijack()
    await messaging.nodeHandler(request.raw, reply.raw)
  })
  app.get("/", () => "my own page")
  const url = await app.listen({ host: "127.0.0.1", port: 0 })
  return {
    url,
    stop: async () => {
      await app.close()
      await messaging.close()
    },
  }
}
