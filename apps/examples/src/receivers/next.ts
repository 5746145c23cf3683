import { verifyWebhook } from "@messaging-service/client/webhook"
import { remember } from "./remember.ts"

export const POST = async (request: Request): Promise<Response> => {
  const secret = process.env["WEBHOOK_SECRET"] ?? ""
  const body = await request.text()
  const webhook = await verifyWebhook({ body, headers: request.headers, secret })
  if (!webhook.valid) return new Response(webhook.reason, { status: 400 })
  await remember(webhook.event)
  return new Response(null, { status: 204 })
}
