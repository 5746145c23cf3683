/** Requests about webhooks, and a service that can reach receivers on loopback. */
import { OutboundRule } from "@messaging-service/core"
import { layerEgress, realTimeLayer } from "@messaging-service/node"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { HttpTestClients } from "../HttpTestClients.ts"
import type { Call } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import type { ServiceParts } from "../Service.ts"
import { expectBody, operate, settle } from "../Records.ts"
import type { Created, PageBody } from "../Records.ts"
import type { Receiver } from "./Receiver.ts"

export const path = "/api/v2/webhooks"

export const simulator = "/admin/v1/simulator"

export const hook = { url: "https://example.com/hook" }

/** A real egress, to private addresses too, as with `ALLOW_PRIVATE_TARGETS`. */
const layerOpenEgress = layerEgress().pipe(
  Layer.provideMerge(Layer.succeed(OutboundRule, { allowPrivate: true })),
  Layer.provide(realTimeLayer),
)

export const layerWithWayOut = (parts: ServiceParts = {}) =>
  layerService({ egress: layerOpenEgress, ...parts })

export interface DeliveryBody {
  readonly event_id: string
  readonly type: string
  readonly status: string
  readonly attempt: number
  readonly response_status: number | null
  readonly error: string | null
  readonly attempted_at: string
  readonly next_attempt_at: string | null
}

/** An endpoint in an answer. */
export interface EndpointBody {
  readonly id: number
  readonly url: string
  readonly description: string
  readonly events: ReadonlyArray<string>
  readonly secret_last4: string
  readonly active: boolean
  readonly disabled_reason: string | null
  readonly created_at: string
  readonly last_delivery: DeliveryBody | null
  readonly secret: string
}

/** An entry of the operator's delivery log. */
export interface LogBody extends Omit<DeliveryBody, "status"> {
  readonly id: number
  readonly duration_ms: number
}

export const ask = (call: Call) =>
  Effect.flatMap(HttpTestClients, ({ socket }) => socket.call(call))

export const create = (
  token: string,
  fields: Readonly<Record<string, unknown>>,
  headers: Call["headers"] = [],
) => ask({ method: "POST", path, token, headers, json: fields })

export const anEndpoint = (
  token: string,
  receiver: Pick<Receiver, "url">,
  fields: Readonly<Record<string, unknown>> = {},
) =>
  Effect.map(create(token, { url: receiver.url, ...fields }), (answer) =>
    expectBody<EndpointBody>(answer, 201),
  )

export const read = (token: string, endpoint: Created) =>
  Effect.map(ask({ path: `${path}/${endpoint.id}`, token }), (answer) =>
    expectBody<EndpointBody>(answer, 200),
  )

export const listed = (token: string) =>
  Effect.map(ask({ path, token }), (answer) =>
    expectBody<{ readonly data: ReadonlyArray<EndpointBody> }>(answer, 200).data.map(
      ({ id }) => id,
    ),
  )

export const remove = (token: string, endpoint: Created) =>
  ask({ method: "DELETE", path: `${path}/${endpoint.id}`, token })

export const rotate = (token: string, endpoint: Created) =>
  Effect.map(
    ask({ method: "POST", path: `${path}/${endpoint.id}/rotate-secret`, token }),
    (answer) => expectBody<EndpointBody>(answer, 200),
  )

export const test = (token: string, endpoint: Created) =>
  ask({ method: "POST", path: `${path}/${endpoint.id}/test`, token })

/** The operator's path of the workspace's endpoints. */
export const operatorPath = (workspace: Created, endpoint?: Created, rest = "") =>
  `/admin/v1/workspaces/${workspace.id}/webhooks${
    endpoint === undefined ? "" : `/${endpoint.id}`
  }${rest}`

export const log = (workspace: Created, endpoint: Created, query = "") =>
  Effect.map(
    operate({ path: operatorPath(workspace, endpoint, `/deliveries${query}`) }),
    (answer) => expectBody<PageBody<LogBody>>(answer, 200),
  )

export const resume = (workspace: Created, endpoint: Created) =>
  operate({ method: "POST", path: operatorPath(workspace, endpoint, "/resume") })

export const redeliver = (workspace: Created, endpoint: Created, eventId: unknown) =>
  operate({
    method: "POST",
    path: operatorPath(workspace, endpoint, "/redeliver"),
    json: { event_id: eventId },
  })

/** Moves time on by so many seconds, and waits until what fell due is done. */
export const pass = (seconds: number) =>
  Effect.gen(function* () {
    yield* TestClock.adjust(seconds * 1000)
    yield* settle
  })
