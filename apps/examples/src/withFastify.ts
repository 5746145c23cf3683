/** Mounted in Fastify, before its routing and body parsing. */
import { fastify } from "fastify"
import { isOurs, openService } from "./mounted.ts"
import type { Mounted } from "./mounted.ts"

export const withFastify = async (operatorToken: string): Promise<Mounted> => {
  const { close, listener } = await openService(operatorToken)
  const app = fastify({ forceCloseConnections: true })
  app.addHook("onRequest", async (request, reply) => {
    if (!isOurs(request.url)) return
    // From here on the answer is the service's.
    reply.hijack()
    await listener(request.raw, reply.raw)
  })
  app.get("/", () => "my own page")
  const url = await app.listen({ host: "127.0.0.1", port: 0 })
  return {
    url,
    stop: async () => {
      await app.close()
      await close()
    },
  }
}
