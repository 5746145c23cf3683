/**
 * A receiver that checks and records every call, as unreliable as real ones: it answers some with
 * an error, breaks the connection of some, and delays others.
 */
import { assert } from "@effect/vitest"
import { verifyWebhook } from "@messaging-service/client/webhook"
import type { WebhookEvent } from "@messaging-service/client/webhook"
import { listenOnLoopback } from "@messaging-service/testkit"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Sender } from "./Clients.ts"
import type { Cluster } from "./Cluster.ts"

/** One call, with a valid signature. */
export interface Call {
  readonly event: WebhookEvent
  readonly body: string
  readonly path: string
  /** Whether it got a 2xx. */
  readonly claimed: boolean
}

export interface Receiver {
  readonly url: string
  /** Secrets of endpoints by their path. */
  readonly secrets: Map<string, string>
  readonly calls: Array<Call>
  /** Why calls were rejected. */
  readonly refused: Array<string>
}

/** What calls meet, one after the other; an event that was called often enough is accepted. */
const profiles = ["take", "take", "fail", "take", "take slowly", "take", "break", "take"] as const

/** `patience`: calls for one event that can fail; its retries fall due within minutes. */
export const aReceiver = Effect.fnUntraced(function* ({ patience } = { patience: 2 }) {
  const secrets = new Map<string, string>()
  const calls: Array<Call> = []
  const refused: Array<string> = []
  const getCalls = new Map<string, number>()
  let count = 0

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const path = request.url ?? ""
    const verification = await verifyWebhook({
      body,
      headers: request.headers,
      secret: secrets.get(path) ?? "",
      // The service's clock is ahead of ours.
      toleranceSeconds: 86_400,
    })
    if (!verification.valid) {
      refused.push(`${path} ${verification.reason}`)
      response.writeHead(400).end()
      return
    }
    const { id } = verification.event
    const earlier = getCalls.get(id) ?? 0
    getCalls.set(id, earlier + 1)
    const profile = earlier < patience ? profiles[count++ % profiles.length] : "take"
    const claimed = profile !== "fail" && profile !== "break"
    calls.push({ event: verification.event, body: body.toString(), path, claimed })
    if (profile === "break") request.socket.destroy()
    else if (profile === "fail") response.writeHead(503).end()
    else if (profile === "take slowly") setTimeout(() => response.writeHead(204).end(), 300)
    else response.writeHead(204).end()
  }

  const server = createServer((request, response) => {
    // A caller killed during its call says nothing more.
    handle(request, response).catch(() => response.destroy())
  })
  const url = yield* listenOnLoopback(server)
  const receiver: Receiver = { url, secrets, calls, refused }
  return receiver
})

/** Registers it for the events of that workspace: these, or the ones that endpoints have by default. */
export const subscribe = (
  cluster: Cluster,
  { keys, workspaceId }: Sender,
  { secrets, url }: Receiver,
  events?: ReadonlyArray<string>,
) =>
  Effect.gen(function* () {
    const path = `/${workspaceId}`
    const { body, status } = yield* cluster.request("POST", "/api/v2/webhooks", {
      token: keys[0] ?? "",
      body: { url: url + path, ...(events === undefined ? {} : { events }) },
    })
    assert.strictEqual(status, 201, JSON.stringify(body))
    secrets.set(path, body.secret)
  })
