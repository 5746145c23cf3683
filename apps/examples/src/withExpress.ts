/** Mounted in Express 5 and 4, by the same two lines. */
import express from "express"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { openService } from "./mounted.ts"
import type { Mounted } from "./mounted.ts"

export const withExpress = async (operatorToken: string, make = express): Promise<Mounted> => {
  const messaging = await openService(operatorToken)
  const app = make()
  app.use("/messaging", messaging.nodeHandler)
  app.use(express.json())
  app.get("/", (_, response) => void response.send("my own page"))
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
