import { verifyWebhook } from "@messaging-service/client/webhook"
import type { WebhookEvent } from "@messaging-service/client/webhook"
import fastify from "fastify"

export const receiver = (secret: string, handle: (event: WebhookEvent) => Promise<void>) => {
  const app = fastify()
  // The signature is over the bytes: this instance leaves JSON unparsed.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_, body, done) => done(null, body))
  app.post("/events", async ({ body, headers }, reply) => {
    const webhook = await verifyWebhook({ body: body as Buffer, headers, secret })
    if (!webhook.valid) return reply.status(400).send(webhook.reason)
    await handle(webhook.event)
    return reply.status(204).send()
  })
  return app
}
