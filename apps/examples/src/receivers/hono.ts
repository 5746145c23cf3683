import { verifyWebhook } from "@messaging-service/client/webhook"
import type { WebhookEvent } from "@messaging-service/client/webhook"
import { Hono } from "hono"

export const receiver = (secret: string, handle: (event: WebhookEvent) => Promise<void>) => {
  const app = new Hono()
  app.post("/events", async (context) => {
    const body = await context.req.arrayBuffer()
    const { headers } = context.req.raw
    const webhook = await verifyWebhook({ body: new Uint8Array(body), headers, secret })
    if (!webhook.valid) return context.text(webhook.reason, 400)
    await handle(webhook.event)
    return context.body(null, 204)
  })
  return app
}
