/** `docs/monitoring.md` uses metrics that a running service shows, and names all of them. */
import { assert, describe, it, layer } from "@effect/vitest"
import { NumberOwnership, Store, catalogue, reportProcess } from "@messaging-service/core"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { aListener } from "../Records.ts"
import { send } from "../v2/Asking.ts"
import { write } from "../v2/Received.ts"
import { anEndpoint, ask } from "../webhooks/Asking.ts"
import { aReceiver } from "../webhooks/Receiver.ts"
import { layerMeasured, scrape } from "./Scraping.ts"
import type { Scrape } from "./Scraping.ts"
import { findMetrics } from "./promql.ts"
import type { Selected } from "./promql.ts"

const page = readFileSync(new URL("../../../../docs/monitoring.md", import.meta.url), "utf8")

const deployed = (file: string) =>
  readFileSync(new URL(`../../../../deploy/${file}`, import.meta.url), "utf8")

const alerts = deployed("prometheus/alerts.yml")

/** The queries of the dashboard for Grafana. */
const drawn = Array.from(deployed("grafana/messaging-service.json").matchAll(/"expr": (".*"),?$/gm))
  .map(([, query = ""]) => String(JSON.parse(query)))
  .filter((query) => query !== "")

/** Alerts have one query to a block, dashboards one to a line. */
const written = [...page.matchAll(/```promql\n([^]*?)```/g)].flatMap(([, block = ""]) =>
  block.split(/\n(?=\S)/).filter((query) => query.trim() !== ""),
)

const queries = [...written, ...drawn]

/** The metrics in the tables, with their labels. */
const named = new Map(
  Array.from(page.matchAll(/^\| `(messaging_\w+)(?:\{([\w,]+)\})?`/gm), ([, name = "", labels]) => [
    name,
    labels?.split(",") ?? [],
  ]),
)

/** The label of a histogram's buckets. */
const ofBuckets = "le"

/** Of answers that this test does not request. */
const statuses = Object.values(catalogue).map(({ status }) => String(status))

/** An observed metric: its type, and the values of each of its labels. */
const labelNames = ({ families }: Scrape, metric: string) => {
  const name = families.has(metric) ? metric : metric.replace(/_(?:bucket|sum|count)$/, "")
  const family = families.get(name)
  const samples = family?.samples.filter((sample) => sample.name === metric) ?? []
  const getValues = (label: string) => samples.flatMap(({ labels }) => labels[label] ?? [])
  return { type: family?.type, isBucket: metric.endsWith("_bucket"), samples, getValues }
}

const wrongIn = (shown: Scrape, query: string, request: Selected): ReadonlyArray<string> => {
  const { groupedBy, matchers, metric, overTime, within } = request
  const { isBucket, samples, type, getValues } = labelNames(shown, metric)
  const wrong: Array<string> = []
  const must = (holds: boolean, what: string) => {
    if (!holds) wrong.push(`${metric} ${what}: ${query}`)
  }
  must(samples.length > 0, "is not shown")
  const counts = type === "counter" || type === "histogram"
  must(counts === (within[0] === "rate"), `is a ${type}`)
  must(
    overTime === ["rate", "max_over_time"].includes(within[0] ?? ""),
    "is used with the wrong range",
  )
  must(isBucket === within.includes("histogram_quantile"), "is used with the wrong buckets")
  for (const labels of groupedBy) {
    for (const label of labels ?? []) must(getValues(label).length > 0, `has no label ${label}`)
  }
  const quantile = within.indexOf("histogram_quantile")
  if (quantile > 0) must(groupedBy[quantile - 1]?.includes(ofBuckets) === true, "lost its buckets")
  for (const { label, operator, value } of matchers) {
    const values = [...getValues(label), ...(label === "status" && counts ? statuses : [])]
    must(getValues(label).length > 0, `has no label ${label}`)
    // Each alternative in the pattern must be an existing value.
    for (const way of operator === "=~" ? value.split("|") : [value]) {
      const pattern = new RegExp(`^(?:${way})$`)
      must(
        values.some((each) => (operator === "=~" ? pattern.test(each) : each === way)),
        `has no ${label} ${way}`,
      )
    }
  }
  return wrong
}

/** Where several workers share numbers, each shows its own. */
const layerSharing = layerMeasured({ ports: NumberOwnership.layerShared(10) })

layer(layerSharing)("the page about monitoring", (test) => {
  const shown = Effect.gen(function* () {
    const receiver = yield* aReceiver
    const { number, token } = yield* aListener()
    yield* write(number)
    yield* Effect.forkScoped(reportProcess)
    yield* Effect.repeat(
      Store.use(({ system }) => system.processes(1)),
      { until: ({ length }) => length > 0 },
    )
    yield* anEndpoint(token, receiver)
    const { id } = yield* send(token)
    yield* ask({ method: "DELETE", path: `/api/v2/messages/${id}`, token })
    return yield* Effect.repeat(scrape, {
      until: ({ value }) => value("messaging_workers") !== undefined,
    })
  })

  test.effect("uses existing metrics and labels in every query, each according to its type", () =>
    Effect.gen(function* () {
      const scraped = yield* shown
      assert.isAbove(queries.length, 10)
      const wrong = queries.flatMap((query) =>
        findMetrics(query).flatMap((request) => wrongIn(scraped, query, request)),
      )
      assert.deepStrictEqual(wrong, [])
    }),
  )

  test.effect("names every metric with its labels, and no other", () =>
    Effect.gen(function* () {
      const { families } = yield* shown
      const labelled = [...families].map(([name, { samples }]) => [
        name,
        Object.keys(samples[0]?.labels ?? {}).filter((label) => label !== ofBuckets),
      ])
      const sorted = (entries: ReadonlyArray<ReadonlyArray<unknown>>) =>
        entries
          .map(([name, labels]) => `${name} ${(labels as ReadonlyArray<string>).toSorted()}`)
          .toSorted()
      assert.deepStrictEqual(sorted([...named]), sorted(labelled))
    }),
  )
})

it("the alerts for Prometheus are those of the page, with its queries and times", () => {
  const oneLine = (text: string) => text.trim().replaceAll(/\s+/g, " ")
  const ofPage = page.matchAll(/```promql\n([^]*?)```\n\nFor (\d+) minutes?/g)
  const ofFile = alerts.matchAll(/ expr: \|\n([^]*?)\n {8}for: (\d+)m$/gm)
  const shown = (found: Iterable<RegExpMatchArray>) =>
    Array.from(found, ([, query = "", minutes]) => `${oneLine(query)} for ${minutes}`)
  const expected = shown(ofPage)
  assert.isAbove(expected.length, 10)
  assert.deepStrictEqual(shown(ofFile), expected)
})

it("the page scrapes the server's usual port, and a worker's", () => {
  const [, targets = ""] = /^      - targets: (\[.+\])$/m.exec(page) ?? []
  const configuration = new URL("../../../../docs/configuration.md", import.meta.url)
  const [, usual] = /^\| `PORT`[^|]*\| `(\d+)`/m.exec(readFileSync(configuration, "utf8")) ?? []
  const [, ofWorker] = /^`METRICS_PORT=(\d+)`/m.exec(page) ?? []
  assert.deepStrictEqual(JSON.parse(targets), [`127.0.0.1:${usual}`, `127.0.0.1:${ofWorker}`])
})

describe("a query", () => {
  it("is parsed with everything around each metric", () => {
    const query = `histogram_quantile(0.9, sum by (le) (rate(a_bucket{b="c",d!="e"}[5m]))) > 1
      and on() max(f) == 0`
    assert.deepStrictEqual(findMetrics(query), [
      {
        metric: "a_bucket",
        matchers: [
          { label: "b", operator: "=", value: "c" },
          { label: "d", operator: "!=", value: "e" },
        ],
        overTime: true,
        within: ["rate", "sum", "histogram_quantile"],
        groupedBy: [null, ["le"], null],
      },
      { metric: "f", matchers: [], overTime: false, within: ["max"], groupedBy: [null] },
    ])
  })

  it("that is malformed is refused", () => {
    for (const query of [
      "sum(a",
      "a b",
      "a > ",
      "rate(a[5m)",
      'a{b~"c"}',
      "sum by a (b)",
      "a ; b",
    ]) {
      assert.throws(() => findMetrics(query), Error, undefined, query)
    }
  })
})
