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

export const deliveryRow: Row = {
  id: "delivery",
  title: "webhook delivery loop / raw undici",
  prepare: Effect.fnUntraced(function* ({ database: makeDatabase, sizes }) {
    const database = yield* makeDatabase
    const receiver = yield* startReceiver
    yield* loadWorkspaces(database, endpointCount)
    const endpoints = yield* loadEndpoints(database, endpointCount, receiver.origin)
    const events = makeEvents(sizes.delivered)
    const service = yield* openServiceDelivery("service", database, events.length)
    const overAgent = yield* openServiceDelivery(
      "service over undici's Agent",
      database,
      events.length,
      layerAgentEgress(true),
    )
    const secrets = Object.fromEntries(
      endpoints.map(({ secretSalt, url }) => [
        new URL(url).pathname,
        service.signingSecrets.webhooks.of(secretSalt),
      ]),
    )
    const raw = yield* openRawUndici(receiver.origin, endpoints, events, secrets, callsAtOnce)

    const candidate = (delivery: Delivery): Candidate => ({
      name: delivery.name,
      run: Effect.gen(function* () {
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
      candidates: [candidate(service.delivery), candidate(overAgent.delivery), candidate(raw)],
      ratios: [
        {
          name: "service / raw undici",
          of: service.delivery.name,
          by: raw.name,
          limit: { atLeast: 0.6 },
        },
        {
          name: "connections kept by the service / by undici's Agent",
          of: service.delivery.name,
          by: overAgent.delivery.name,
          limit: null,
        },
      ],
      notes: [
        `${sizes.delivered.toLocaleString("en")} events to ${endpointCount} endpoints of one process, at most ${callsPerTarget} calls at once to each`,
        "service: the delivery loop claims from PostgreSQL, signs, calls through the guarded way out, and logs each attempt",
        "service over undici's Agent: the same with an Agent for each workspace in place of the connections that the service keeps",
        `raw undici: a pool of as many kept connections (${callsAtOnce}) posts the same bodies, signed, with the same headers, and writes nothing down`,
      ],
    }
  }),
}
