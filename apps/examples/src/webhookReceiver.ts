/**
 * A receiver of webhooks on Node's own server: it keeps each body as it came, believes only what the
 * endpoint's secret signed, and prints what it got. `PORT` and `WEBHOOK_SECRET` come from the
 * environment.
 */
import { verifyWebhook } from "@messaging-service/verify-webhook"
import type { WebhookEvent } from "@messaging-service/verify-webhook"
import { createServer } from "node:http"
import type { IncomingMessage } from "node:http"

const { PORT = "8090", WEBHOOK_SECRET: secret = "" } = process.env

/** A delivery may be repeated: these have been dealt with. A real receiver remembers them longer. */
const seen = new Set<string>()

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const handle = (event: WebhookEvent): void => {
  if (seen.has(event.id)) return
  seen.add(event.id)
  const about =
    event.type === "ping"
      ? `webhook ${event.data.webhook_id} works`
      : `message ${event.data.message.id} is ${event.data.message.status}`
  console.log(`verified ${event.type} ${event.id}: ${about}`)
}

const server = createServer(async (request, response) => {
  const body = await readBody(request)
  const verification = await verifyWebhook({ body, headers: request.headers, secret })
  if (verification.valid) {
    handle(verification.event)
    response.writeHead(204).end()
  } else {
    console.log(`refused: ${verification.reason}`)
    response.writeHead(400).end(`${verification.reason}\n`)
  }
})

server.listen(Number(PORT), "127.0.0.1", () => {
  console.log(`receiver listening on http://127.0.0.1:${PORT}`)
})
