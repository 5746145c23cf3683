/**
 * A receiver on Node's own server, of webhooks (version 2, JSON) and, at `/callback`, of callbacks
 * (version 1, forms). It keeps each body unchanged, accepts only bodies signed with the secret of
 * their kind, and prints them. `PORT`, `WEBHOOK_SECRET` (the endpoint's) and `CALLBACK_SECRET` (the
 * workspace's) come from the environment; leave out the secret of what you do not receive.
 */
import { verifyCallback, verifyWebhook } from "@messaging-service/client/webhook"
import type { CallbackReport, WebhookEvent } from "@messaging-service/client/webhook"
import { createServer } from "node:http"
import type { IncomingMessage } from "node:http"

const { CALLBACK_SECRET, PORT = "8090", WEBHOOK_SECRET } = process.env

/** A delivery may repeat: these have been handled. A real receiver remembers them longer. */
const seen = new Set<string>()

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const ofWebhook = (event: WebhookEvent): string => {
  const { data, id, type } = event
  if (type === "ping") return `${type} ${id}: webhook ${data.webhook_id} works`
  if ("received_message" in data && !("reaction" in data)) {
    const { chat, kind, media, text } = data.received_message
    const file = media === null ? "" : `, file ${media.state}`
    return `${type} ${id}: ${kind} "${text}" in chat ${chat.id}${file}`
  }
  if (!("message" in data)) return `${type} ${id}: ${JSON.stringify(data)}`
  return `${type} ${id}: message ${data.message.id} is ${data.message.status}`
}

const ofCallback = (report: CallbackReport): string =>
  report.kind === "message"
    ? `callback: message ${report.msg_id} is ${report.status}`
    : `callback: number ${report.whatsapp_client} is ${report.event}`

/** The printable content of a request, or why it is refused. */
type Judgement =
  | { readonly believed: true; readonly key: string; readonly line: string }
  | { readonly believed: false; readonly reason: string }

const judge = async (request: IncomingMessage): Promise<Judgement> => {
  const isCallback = request.url === "/callback"
  const secret = isCallback ? CALLBACK_SECRET : WEBHOOK_SECRET
  if (secret === undefined) return { believed: false, reason: "not_expected" }
  const signed = { body: await readBody(request), headers: request.headers, secret }
  if (isCallback) {
    const callback = await verifyCallback(signed)
    if (!callback.valid) return { believed: false, reason: callback.reason }
    return { believed: true, key: `callback ${callback.id}`, line: ofCallback(callback.report) }
  }
  const webhook = await verifyWebhook(signed)
  if (!webhook.valid) return { believed: false, reason: webhook.reason }
  return { believed: true, key: webhook.event.id, line: ofWebhook(webhook.event) }
}

const server = createServer(async (request, response) => {
  const judgement = await judge(request)
  if (!judgement.believed) {
    console.log(`refused: ${judgement.reason}`)
    response.writeHead(400).end(`${judgement.reason}\n`)
    return
  }
  if (!seen.has(judgement.key)) console.log(`verified ${judgement.line}`)
  seen.add(judgement.key)
  response.writeHead(204).end()
})

server.listen(Number(PORT), "127.0.0.1", () => {
  console.log(`receiver listening on http://127.0.0.1:${PORT}`)
})
