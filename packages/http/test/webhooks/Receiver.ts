/** A customer's receiver of webhooks on loopback: it records calls and answers as scripted. */
import { listenOnLoopback } from "@messaging-service/testkit"
import { Effect } from "effect"
import type { Scope } from "effect"
import { createHmac } from "node:crypto"
import { createServer } from "node:http"
import type { IncomingHttpHeaders, ServerResponse } from "node:http"

export interface Delivery {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The received bytes. */
  readonly raw: Buffer
}

/** An event as an endpoint receives it. */
export interface EventBody {
  readonly id: string
  readonly type: string
  readonly created_at: string
  readonly data: {
    readonly message?: Readonly<Record<string, unknown>>
    readonly webhook_id?: number
  }
}

export type Answering = (response: ServerResponse, delivery: Delivery) => void

export const withStatus =
  (status: number, headers: Readonly<Record<string, string>> = {}): Answering =>
  (response) =>
    response.writeHead(status, headers).end()

export interface Receiver {
  readonly url: string
  readonly deliveries: Array<Delivery>
  /** Its answer from now on; 200 at first. */
  answer: Answering
  /** Unanswered calls now, and their maximum so far. */
  readonly open: () => number
  readonly maxOpen: () => number
}

export const aReceiver: Effect.Effect<Receiver, never, Scope.Scope> = Effect.gen(function* () {
  let open = 0
  let maxOpen = 0
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    maxOpen = Math.max(maxOpen, ++open)
    response.once("close", () => open--)
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const delivery: Delivery = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        raw: Buffer.concat(chunks),
      }
      receiver.deliveries.push(delivery)
      receiver.answer(response, delivery)
    })
  })
  const origin = yield* listenOnLoopback(server)
  const receiver: Receiver = {
    url: `${origin}/hook`,
    deliveries: [],
    answer: withStatus(200),
    open: () => open,
    maxOpen: () => maxOpen,
  }
  return receiver
})

export const bodyOfDelivery = ({ raw }: Delivery): EventBody =>
  JSON.parse(raw.toString("utf8")) as EventBody

export const eventIds = ({ deliveries }: Receiver): ReadonlyArray<string> =>
  deliveries.map((delivery) => bodyOfDelivery(delivery).id)

export const getTypes = ({ deliveries }: Receiver): ReadonlyArray<string> =>
  deliveries.map((delivery) => bodyOfDelivery(delivery).type)

/** The expected signature of a delivery, computed independently of the service. */
export const expectedSignature = ({ headers, raw }: Delivery, secret: string): string => {
  const mac = createHmac("sha256", secret)
  mac.update(`${String(headers["service-timestamp"])}.`)
  mac.update(raw)
  return `v1=${mac.digest("hex")}`
}
