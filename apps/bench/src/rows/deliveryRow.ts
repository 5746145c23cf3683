/**
 * Webhooks: the service's delivery loop, against undici alone that makes the same calls. The process
 * that receives them checks each one.
 */
import { callsPerTarget } from "@messaging-service/core"
import { Effect } from "effect"
import { loadWorkspaces } from "../database/fixture.ts"
import { loadDeliveries, loadEndpoints, makeEvents } from "../database/webhookFixture.ts"
import type { Delivery } from "../deliveries/Delivery.ts"
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
  prepare: Effect.fnUntraced(function* prepare({ database: makeDatabase, sizes }) {
    const database = yield* makeDatabase
    const receiver = yield* startReceiver
    yield* loadWorkspaces(database, endpointCount)
    const endpoints = yield* loadEndpoints(database, endpointCount, receiver.origin)
    const events = makeEvents(sizes.delivered)
    const service = yield* openServiceDelivery(database, events.length)
    const secrets = Object.fromEntries(
      endpoints.map(({ secretSalt, url }) => [
        new URL(url).pathname,
        service.signingSecrets.webhooks.of(secretSalt),
      ]),
    )
    const { origin } = receiver
    const undici = yield* openRawUndici(origin, endpoints, events, secrets, callsAtOnce)

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
      candidates: [candidate(service.delivery), candidate(undici)],
      ratios: [
        {
          name: "service / raw undici",
          numerator: service.delivery.name,
          denominator: undici.name,
          limit: { atLeast: 0.6 },
        },
      ],
      notes: [
        `${sizes.delivered.toLocaleString("en")} events to ${endpointCount} endpoints of one process, at most ${callsPerTarget} calls at once to each`,
        "service: the delivery loop claims from PostgreSQL, signs, calls through the guarded way out, and logs each attempt",
        `raw undici: a pool of as many kept connections (${callsAtOnce}) posts the same bodies, signed, with the same headers, and writes nothing down`,
      ],
    }
  }),
}
