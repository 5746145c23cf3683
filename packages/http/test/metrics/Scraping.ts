/** A service with its own metrics, and scrapes of it. */
import { assert } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { HttpTestClients } from "../HttpTestClients.ts"
import type { ServiceParts } from "../Service.ts"
import { expectBody, operate } from "../Records.ts"
import type { Created } from "../Records.ts"
import { layerWithWayOut } from "../webhooks/Asking.ts"
import { parseExposition } from "./exposition.ts"
import type { Family, Labels } from "./exposition.ts"

/** Counters begin at zero: other tests of this process count into other registries. */
export const layerMeasured = (parts: ServiceParts = {}) =>
  layerWithWayOut(parts).pipe(Layer.provide(Layer.sync(Metric.MetricRegistry, () => new Map())))

export interface Scrape {
  readonly families: ReadonlyMap<string, Family>
  /** The sum of the samples with these labels; undefined when there are none. */
  readonly value: (name: string, labels?: Labels) => number | undefined
  readonly labelValues: (label: string) => ReadonlyArray<string>
}

const has = (labels: Labels, expected: Labels): boolean =>
  Object.entries(expected).every(([name, value]) => labels[name] === value)

/** Reads `/metrics` without any credentials. */
export const scrape = Effect.gen(function* () {
  const { socket } = yield* HttpTestClients
  const answer = yield* socket.call({ path: "/metrics" })
  assert.strictEqual(answer.status, 200, answer.text)
  assert.strictEqual(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
  const families = parseExposition(answer.text)
  const samples = [...families.values()].flatMap((family) => family.samples)
  const shown: Scrape = {
    families,
    value: (name, expected = {}) => {
      const found = samples.filter((each) => each.name === name && has(each.labels, expected))
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
    },
    labelValues: (name) =>
      [...new Set(samples.flatMap(({ labels }) => labels[name] ?? []))].toSorted(),
  }
  return shown
})

/** Sets what the number's phone does with messages. */
export const behave = (number: Created, send: "succeed" | "fail" | "hang") =>
  Effect.map(
    operate({
      method: "PUT",
      path: `/admin/v1/simulator/numbers/${number.id}/behaviour`,
      json: { send },
    }),
    (answer) => expectBody(answer, 200),
  )
