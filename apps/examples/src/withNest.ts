/** Mounted in NestJS on Express, before `listen`, and so before the body parsers that it adds. */
import { Controller, Get } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import type { IncomingMessage, ServerResponse } from "node:http"
import { isOurs, openService } from "./mounted.ts"
import type { Mounted } from "./mounted.ts"

class OwnPage {
  show(): string {
    return "my own page"
  }
}
// What `@Controller()` and `@Get()` do: Node runs this file as it stands, and knows no decorators.
Reflect.decorate([Controller()], OwnPage)
const show = Reflect.getOwnPropertyDescriptor(OwnPage.prototype, "show")
Reflect.decorate([Get()], OwnPage.prototype, "show", show)

export const withNest = async (operatorToken: string): Promise<Mounted> => {
  const { close, listener } = await openService(operatorToken)
  const app = await NestFactory.create(
    { controllers: [OwnPage] },
    { logger: ["warn", "error"], forceCloseConnections: true },
  )
  app.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
    if (isOurs(request.url)) void listener(request, response)
    else next()
  })
  await app.listen(0, "127.0.0.1")
  return {
    url: await app.getUrl(),
    stop: async () => {
      await app.close()
      await close()
    },
  }
}
