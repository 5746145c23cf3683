/** Mounted in a bare `node:http` server, beside a route of its own. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { isOurs, openService } from "./mounted.ts"
import type { Mounted } from "./mounted.ts"

export const bareNode = async (operatorToken: string): Promise<Mounted> => {
  const { close, listener } = await openService(operatorToken)
  const server = createServer((request, response) => {
    if (isOurs(request.url)) void listener(request, response)
    else response.end("my own page")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
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
