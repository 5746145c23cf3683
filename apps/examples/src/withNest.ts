/** Mounted in NestJS on Express, before `listen`, and so before the body parsers that it adds. */
import { Controller, Get } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import { openService } from "./mounted.ts"
import type { Mounted } from "./mounted.ts"

class OwnPage {
  show(): string {
    return "my own page"
  }
}
// What `@Controller()` and `@Get()` do: Node runs this file directly, and knows no decorators.
Reflect.decorate([Controller()], OwnPage)
const show = Reflect.getOwnPropertyDescriptor(OwnPage.prototype, "show")
Reflect.decorate([Get()], OwnPage.prototype, "show", show)

export const withNest = async (operatorToken: string): Promise<Mounted> => {
  const messaging = await openService(operatorToken)
  const app = await NestFactory.create(
    { controllers: [OwnPage] },
    { logger: ["warn", "error"], forceCloseConnections: true },
  )
  app.use("/messaging", messaging.nodeHandler)
  await app.listen(0, "127.0.0.1")
  return {
    url: await app.getUrl(),
    stop: async () => {
      await app.close()
      await messaging.close()
    },
  }
}
