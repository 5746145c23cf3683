/**
 * Webhooks: the service's delivery loop, against undici alone that makes the same calls. The process
 * that receives them checks each one.
 */
import { callsPerTarget } from "@messaging-service/core"
import { Effect } from "effect"
import { loadWorkspaces } from "../database/fixture.ts"
import { loadDeliveries, loadEndpoints, makeEvents } from "../database/webhookFixture.ts"
import type { Delivery } from "../deliveries/Delivery.ts"
import { layerAgentEgress } from "../deliveries/agentEgress.ts"
import { openRawUndici } from "../deliveries/rawUndici.ts"
import { openServiceDelivery } from "../deliveries/service.ts"
import { check } from "../measuring/checks.ts"
import type { Candidate, Row } from "../measuring/Comparison.ts"
import { startReceiver } from "../serving/processes.ts"

/** So many that the limit of calls at once to each does not govern the rate. */
const endpointCount = 64

const callsAtOnce = endpointCount * callsPerTarget

const rowBeside = (row: {
  readonly id: string
  readonly other: "raw undici" | "service over undici's Agent"
  readonly atLeast: number | null
  readonly note: string
}): Row => ({
  id: row.id,
  title: `webhook delivery loop / ${row.other}`,
  prepare: Effect.fnUntraced(function* prepare({ database: makeDatabase, sizes }) {
    const database = yield* makeDatabase
    const receiver = yield* startReceiver
    yield* loadWorkspaces(database, endpointCount)
    const endpoints = yield* loadEndpoints(database, endpointCount, receiver.origin)
    const events = makeEvents(sizes.delivered)
    const service = yield* openServiceDelivery("service", database, events.length)
    const secrets = Object.fromEntries(
      endpoints.map(({ secretSalt, url }) => [
        new URL(url).pathname,
        service.signingSecrets.webhooks.of(secretSalt),
      ]),
    )
    const other =
      row.other === "raw undici"
        ? yield* openRawUndici(receiver.origin, endpoints, events, secrets, callsAtOnce)
        : (yield* openServiceDelivery(row.other, database, events.length, layerAgentEgress(true)))
            .delivery

    const candidate = (delivery: Delivery): Candidate => ({
      name: delivery.name,
      run: Effect.gen(function* run() {
        yield* loadDeliveries(database, endpointCount, events)
        const started = performance.now()
        yield* delivery.deliverAll
        const seconds = (performance.now() - started) / 1000
        const received = yield* receiver.report({ secrets })
        yield* check("calls received", received.calls, events.length)
        yield* check("different deliveries received", received.deliveries, events.length)
        yield* check("calls wrongly signed", received.wronglySigned, 0)
        yield* check("calls with the wrong body", received.wrongBodies, 0)
        yield* delivery.checkDone
        return events.length / seconds
      }),
    })
    return {
      unit: "per second",
      candidates: [candidate(service.delivery), candidate(other)],
      ratios: [
        {
          name: `service / ${other.name}`,
          of: service.delivery.name,
          by: other.name,
          limit: row.atLeast === null ? null : { atLeast: row.atLeast },
        },
      ],
      notes: [
        `${sizes.delivered.toLocaleString("en")} events to ${endpointCount} endpoints of one process, at most ${callsPerTarget} calls at once to each`,
        "service: the delivery loop claims from PostgreSQL, signs, calls through the guarded way out, and logs each attempt",
        row.note,
      ],
    }
  }),
})

export const deliveryRow = rowBeside({
  id: "delivery",
  other: "raw undici",
  atLeast: 0.6,
  note: `raw undici: a pool of as many kept connections (${callsAtOnce}) posts the same bodies, signed, with the same headers, and writes nothing down`,
})

/** Apart from the row above, whose figures a second service in the process would lower. */
export const agentRow = rowBeside({
  id: "agent",
  other: "service over undici's Agent",
  atLeast: null,
  note: "service over undici's Agent: the same with an Agent for each workspace in place of the connections that the service keeps",
})
