/** What happens to a webhook endpoint and its events, whichever port asks. */
import type {
  DisabledReason,
  MessageEvent,
  NewWebhook,
  WebhookEndpoint,
  WebhookId,
  WebhookScope,
} from "@messaging-service/core"
import { isToldOf } from "@messaging-service/core"
import { dropAll, emptyLane, queue } from "./DeliveryLane.ts"
import type { EndpointRow } from "./DeliveryLane.ts"
import { tellQueued } from "./World.ts"
import type { WorkspaceRow, World } from "./World.ts"

export const openEndpoint = (world: World, owner: WorkspaceRow, given: NewWebhook): EndpointRow => {
  const row = world.endpoints.insert((id: WebhookId): EndpointRow => ({
    ...emptyLane(given.workspaceId),
    kind: "webhook",
    id,
    endpoint: { ...given, id, firstSecretLast4: given.secretLast4, disabledReason: null },
    removed: false,
    deliveredSince: given.createdAt,
    log: [],
  }))
  owner.endpoints.push(row)
  return row
}

export const isRunning = ({ endpoint, removed }: EndpointRow): boolean =>
  !removed && endpoint.disabledReason === null

/** The endpoint as the port shows it. */
export const shown = ({ endpoint, log }: EndpointRow): WebhookEndpoint => ({
  ...endpoint,
  lastAttempt: (log.at(-1)?.attempt ?? null) as WebhookEndpoint["lastAttempt"],
})

/** The endpoint, unless it is unknown, removed or not to be seen in that scope. */
export const endpointIn = (
  world: World,
  { workspaceId, mode }: WebhookScope,
  id: WebhookId,
): EndpointRow | undefined => {
  const row = world.endpoints.get(id)
  if (row === undefined || row.removed || row.endpoint.workspaceId !== workspaceId) return undefined
  return mode === null || row.endpoint.mode === mode ? row : undefined
}

/** Queues a message's event for every endpoint that is to hear of it. */
export const fanOut = (world: World, owner: WorkspaceRow, event: MessageEvent): void => {
  const { id, type, body, createdAt } = event
  for (const row of owner.endpoints) {
    if (row.removed || !isToldOf(row.endpoint, event)) continue
    queue(world, row, { id, type, body, url: null }, createdAt)
    tellQueued(world)
  }
}

/** Stops a running endpoint. */
export const stop = (world: World, row: EndpointRow, reason: DisabledReason): void => {
  if (!isRunning(row)) return
  row.endpoint = { ...row.endpoint, disabledReason: reason }
  dropAll(world, row)
}

export const removeEndpoint = (world: World, row: EndpointRow): void => {
  dropAll(world, row)
  row.removed = true
  row.log = []
}
