/** Faults planted in webhook endpoints, callbacks, keys and idempotency. */
import { edit } from "./PlantedFault.ts"
import type { PlantedFault } from "./PlantedFault.ts"

export const deliveryFaults: ReadonlyArray<PlantedFault> = [
  {
    name: "endpoints: retries outlive the removal",
    within: 120,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "now: number): void => {\n  dropAll(tables, row)",
        "now: number): void => {",
      ),
    ],
  },
  {
    name: "endpoints: pending deliveries outlive the stop",
    within: 150,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "disabledReason: reason }\n  dropAll(tables, row)",
        "disabledReason: reason }",
      ),
    ],
  },
  {
    name: "endpoints: a removed one hears of new events",
    within: 70,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "if (row.removed || !isSubscribedTo",
        "if (!isSubscribedTo",
      ),
    ],
  },
  {
    name: "endpoints: a stopped one hears of new events",
    within: 10,
    edits: [
      edit(
        "core/src/model/WebhookEndpoint.ts",
        "  endpoint.disabledReason === null &&\n  endpoint.workspaceId",
        "  endpoint.workspaceId",
      ),
    ],
  },
  {
    name: "endpoints: events of the other mode",
    within: 10,
    edits: [
      edit(
        "core/src/model/WebhookEndpoint.ts",
        "  endpoint.mode === event.mode &&\n  endpoint.events",
        "  endpoint.events",
      ),
    ],
  },
  {
    name: "endpoints: types that it did not ask for",
    within: 15,
    edits: [
      edit(
        "core/src/model/WebhookEndpoint.ts",
        "  endpoint.mode === event.mode &&\n  endpoint.events.includes(event.type)",
        "  endpoint.mode === event.mode",
      ),
    ],
  },
  {
    name: "endpoints: the limit is not guarded",
    within: 15,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "owner === undefined || holdsAllEndpoints(owner.endpoints, limit)",
        "owner === undefined",
      ),
    ],
  },
  {
    name: "endpoints: resuming ignores the limit",
    within: 100,
    unfound: "too few workspaces hold five running endpoints when a stopped one is resumed",
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        'if (holdsAllEndpoints(owner.endpoints, limit)) return "limit"',
        "",
      ),
    ],
  },
  {
    name: "endpoints: a revoked key makes one",
    within: 12,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "if (input.keyId !== null && tables",
        "if (input.keyId !== 0 && false && tables",
      ),
    ],
  },
  {
    name: "endpoints: the idempotency claim is not guarded",
    within: 12,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        'if (isLost(tables, idempotency)) return { _tag: "Conflict", guard: "idempotency" }',
        "",
      ),
    ],
  },
  {
    name: "endpoints: the idempotency claim is not finished",
    within: 60,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "finishClaim(tables, idempotency, [row.endpoint.id])",
        "",
      ),
    ],
  },
  {
    name: "endpoints: a repeat shows a secret",
    within: 20,
    edits: [
      edit(
        "core/src/service/Webhooks.ts",
        "Effect.map(endpointAsCreated)",
        "Effect.map((secretFields) => ({ ...endpointAsCreated(secretFields), secret: secretFields.secretSalt }))",
      ),
    ],
  },
  {
    name: "endpoints: revocation stops none",
    within: 10,
    edits: [
      edit(
        "store-memory/src/workspaces.ts",
        "if (endpoint.endpoint.keyId === id) stop",
        "if (endpoint.endpoint.keyId !== endpoint.endpoint.keyId) stop",
      ),
    ],
  },
  {
    name: "endpoints: resuming does not let it run",
    within: 10,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "row.endpoint = { ...row.endpoint, disabledReason: null }",
        "",
      ),
    ],
  },
  {
    name: "idempotency: shared by all API keys",
    within: 15,
    edits: [edit("store-memory/src/tables.ts", "`${claim.keyId} ${claim.key}`", "claim.key")],
  },
  {
    name: "idempotency: another body is answered",
    within: 20,
    edits: [
      edit(
        "core/src/model/Idempotency.ts",
        "outcome.record.fingerprint === requested.fingerprint",
        "outcome.record !== null",
      ),
    ],
  },
  {
    name: "signatures: rotation changes nothing",
    within: 15,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "row.endpoint = { ...row.endpoint, ...secret }",
        "row.endpoint = { ...row.endpoint, secretLast4: secret.secretLast4 }",
      ),
    ],
  },
  {
    name: "signatures: the time is not signed",
    within: 5,
    edits: [edit("core/src/model/WebhookEndpoint.ts", "`${timestamp}.${body}`", "body")],
  },
  {
    name: "signatures: callbacks keep the first secret",
    within: 30,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "(tables.workspaces.get(lane.workspaceId)?.callbackSalt ?? null)",
        "null",
      ),
    ],
  },
  {
    name: "signatures: callbacks use the key of webhooks",
    within: 20,
    edits: [
      edit(
        "core/src/worker/Deliverer.ts",
        "secret: secrets.callbacks.of",
        "secret: secrets.webhooks.of",
      ),
    ],
  },
  {
    name: "signatures: a retry keeps its first timestamp",
    within: 20,
    edits: [
      edit(
        "core/src/worker/Deliverer.ts",
        "const timestamp = Math.floor(startedAt / 1000)",
        "const timestamp = Math.floor(startedAt / 1000) - 2",
      ),
    ],
  },
  {
    name: "deliveries: a redelivery is not queued",
    within: 10,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "queue(tables, row, event, now)\n        return event.type",
        "return event.type",
      ),
    ],
  },
  {
    name: "deliveries: a redelivery forgets the call in flight",
    within: 20,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "if (delivery.lane.inFlight.has(delivery.id)) delivery.isReplaced = true\n  else drop",
        "drop",
      ),
    ],
  },
  {
    name: "deliveries: a ping is not queued",
    within: 10,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        'queue(tables, row, { id: eventId, type: "ping", body, url: null }, createdAt)',
        "",
      ),
    ],
  },
  {
    name: "deliveries: a redelivery of the other mode",
    within: 30,
    edits: [
      edit(
        "core/src/model/WebhookEndpoint.ts",
        "  event.mode === endpoint.mode &&\n  endpoint.events",
        "  endpoint.events",
      ),
    ],
  },
  {
    name: "deliveries: a redelivery of types it did not ask for",
    within: 20,
    edits: [
      edit(
        "core/src/model/WebhookEndpoint.ts",
        "  endpoint.events.includes(event.type) &&\n  event.createdAt",
        "  event.createdAt",
      ),
    ],
  },
  {
    name: "deliveries: a redelivery from before the endpoint",
    within: 200,
    edits: [
      edit(
        "core/src/model/WebhookEndpoint.ts",
        "event.createdAt >= endpoint.createdAt",
        "event.createdAt > 0",
      ),
    ],
  },
  {
    name: "deliveries: a dead worker's call is never made again",
    within: 10,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "if (!isLeased(leaseUntil, now)) inFlight.delete(id)",
        "if (false) inFlight.delete(id)",
      ),
    ],
  },
  {
    name: "deliveries: settled without checking the lease",
    within: 40,
    unfound: "what a late result settles has been called, so the log and the receiver still agree",
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "deliveryInFlight === undefined ||\n    deliveryInFlight.lease !== result.lease",
        "deliveryInFlight === undefined",
      ),
    ],
  },
  {
    name: "deliveries: a retry waits for the next event",
    within: 20,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "  reschedule(tables, lane)\n  if (lane.kind",
        "  if (result.nextAttemptAt === null) reschedule(tables, lane)\n  else placeInAgenda(tables.deliveryQueue, lane, null)\n  if (lane.kind",
      ),
    ],
  },
  {
    name: "deliveries: the next event puts a retry off",
    within: 20,
    edits: [
      edit("store-memory/src/webhooks.ts", "Math.min(lane.agendaAt ?? dueAt, dueAt)", "dueAt"),
      edit(
        "store-memory/src/webhooks.ts",
        "  addPending({\n    id",
        "  for (const other of lane.pending) if (other.attempts > 0) other.dueAt += 3000\n  addPending({\n    id",
      ),
    ],
  },
  {
    name: "deliveries: a success brings none forward",
    within: 60,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "for (const result of results) bringForward(tables, result)",
        "",
      ),
    ],
  },
  {
    name: "deliveries: given up after four failures",
    within: 30,
    edits: [
      edit(
        "core/src/worker/Deliverer.ts",
        "  25 * minute,\n  90 * minute,\n  4 * hour,\n  7 * hour,\n  10 * hour,\n",
        "",
      ),
    ],
  },
  {
    name: "deliveries: the log calls every attempt delivered",
    within: 20,
    edits: [
      edit("store-memory/src/webhooks.ts", "      error: result.error,", "      error: null,"),
    ],
  },
  {
    name: "deliveries: an attempt is logged twice",
    within: 5,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "findLog(tables, lane)?.push(logged)",
        "findLog(tables, lane)?.push(logged, logged)",
      ),
    ],
  },
  {
    name: "deliveries: word of what is queued gets lost",
    within: 5,
    edits: [
      edit(
        "store-memory/src/webhooks.ts",
        "    queue(tables, row, { id, type, body, url: null }, createdAt)\n    reportQueued(tables)",
        "    queue(tables, row, { id, type, body, url: null }, createdAt)",
      ),
    ],
  },
  {
    name: "callbacks: one attempt",
    within: 20,
    edits: [edit("core/src/worker/Deliverer.ts", "[10 * second, minute, 4 * minute]", "[]")],
  },
  {
    name: "callbacks: five attempts",
    within: 30,
    edits: [
      edit(
        "core/src/worker/Deliverer.ts",
        "[10 * second, minute, 4 * minute]",
        "[10 * second, minute, 4 * minute, minute]",
      ),
    ],
  },
  {
    name: "callbacks: none of a cancelled message",
    within: 20,
    edits: [
      edit(
        "store-memory/src/lanes.ts",
        "  call(tables, callback)",
        '  if (event.type !== "message.cancelled") call(tables, callback)',
      ),
    ],
  },
  {
    name: "callbacks: what expired is said to be cancelled",
    within: 20,
    edits: [edit("core/src/model/MessageChange.ts", 'expired: "EXPIRED"', 'expired: "CANCELLED"')],
  },
  {
    name: "keys: a revoked one is let in",
    within: 60,
    edits: [edit("core/src/model/Auth.ts", 'if (revokedAt !== null) return "api_key_revoked"', "")],
  },
  {
    name: "keys: one request too many in a minute",
    within: 80,
    edits: [edit("core/src/model/Auth.ts", "exceeded: used > limit", "exceeded: used > limit + 1")],
  },
  {
    name: "keys: one request too few in a minute",
    within: 100,
    unfound: "answers that callers did not hear may be the missing one",
    edits: [edit("core/src/model/Auth.ts", "exceeded: used > limit", "exceeded: used >= limit")],
  },
  {
    name: "keys: a late request begins its window again",
    within: 150,
    edits: [
      edit("core/src/model/Auth.ts", "return ahead >= 0 && ahead <= length", "return ahead === 0"),
    ],
  },
]
