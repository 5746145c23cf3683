/** Mounted in Express. Put it before body parsers: the service reads bodies itself. */
import express from "express"
import type { AddressInfo } from "node:net"
import { openService } from "./mounted.ts"
import type { Mounted } from "./mounted.ts"

export const withExpress = async (operatorToken: string): Promise<Mounted> => {
  const { close, listener } = await openService(operatorToken)
  const app = express()
  // A route leaves the address whole, which `app.use("/messaging", …)` would shorten.
  app.all("/messaging/*path", (request, response) => void listener(request, response))
  app.use(express.json())
  app.get("/", (_, response) => void response.send("my own page"))
  const server = app.listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await close()
    },
  }
}
