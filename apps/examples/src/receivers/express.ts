import { verifyWebhook } from "@messaging-service/client/webhook"
import type { WebhookEvent } from "@messaging-service/client/webhook"
import express from "express"

export const receiver = (
  secret: string,
  handle: (event: WebhookEvent) => Promise<void>,
): express.Express => {
  const app = express()
  // The signature is over the bytes: no `express.json()` before this route.
  app.post("/events", express.raw({ type: "application/json" }), async (request, response) => {
    const { body, headers } = request
    const webhook = await verifyWebhook({ body, headers, secret })
    if (!webhook.valid) return void response.status(400).send(webhook.reason)
    await handle(webhook.event)
    response.status(204).end()
  })
  return app
}
