/** Mounted in a bare `node:http` server. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { openService } from "./mounted.ts"
import type { Mounted } from "./mounted.ts"

export const bareNode = async (operatorToken: string): Promise<Mounted> => {
  const messaging = await openService(operatorToken)
  const server = createServer((request, response) => {
    void messaging.nodeHandler(request, response, () => response.end("my own page"))
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
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
