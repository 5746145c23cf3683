/** The service's page and the rule file for Prometheus: the same alerts, at the same thresholds. */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { assert, it } from "vitest"
import { alerts, alertsOverTime, raisedBy, thresholds } from "../pages/service/alerts.ts"
import { alertTexts } from "../pages/service/words.ts"

const rules = [
  ...readFileSync(
    resolve(import.meta.dirname, "../../../deploy/prometheus/alerts.yml"),
    "utf8",
  ).matchAll(
    /- alert: (\w+)\n\s+expr: \|\n([\s\S]*?)\n\s+for: \w+\n\s+labels:\n\s+severity: (\w+)\n\s+annotations:\n\s+summary: (.*)/g,
  ),
].map(([, name = "", expression = "", severity = "", summary = ""]) => ({
  name,
  expression,
  severity,
  summary,
}))

it("the page knows every alert of the rule file, and no other", () => {
  assert.isAbove(rules.length, 8)
  assert.sameMembers(
    rules.map(({ name }) => name),
    [...alerts.map(({ name }) => name), ...alertsOverTime],
  )
})

it("each alert of the page has the rule's threshold, severity and title", () => {
  for (const { name, severity } of alerts) {
    const rule = rules.find((one) => one.name === name)
    const compared = [...(rule?.expression.matchAll(/ (?:>|==) (\d+(?:\.\d+)?)/g) ?? [])]
    assert.isNotEmpty(compared, name)
    for (const [, number] of compared) assert.strictEqual(Number(number), thresholds[name], name)
    assert.strictEqual(rule?.severity, severity)
    if (name !== "MessagingWorkerDies") assert.strictEqual(alertTexts[name].title, rule?.summary)
  }
})

it("an alert shows above its threshold, the worst first", () => {
  const well = {
    now: "2030-01-31T07:00:00Z",
    store_up: true,
    store_slow: false,
    waiting: { queued: 0, scheduled: 0 },
    oldest_waiting_seconds: { connected: 3600, not_connected: 9000 },
    lane_lag_seconds: 60,
    lanes_in_flight: 0,
    leases_run_out: 0,
    webhook_deliveries_pending: 0,
    webhook_retries_pending: 0,
    numbers: [],
    disk: null,
    clock_skew_seconds: -2,
    version: "0.1.0",
    processes: [
      {
        name: "worker-1",
        kind: "worker" as const,
        works: true,
        seen_at: "2030-01-31T06:59:26Z",
        numbers_held: null,
        shards_held: null,
      },
    ],
  }
  assert.deepStrictEqual(raisedBy(well), [])
  const ill = {
    ...well,
    oldest_waiting_seconds: { connected: 3601, not_connected: 0 },
    lane_lag_seconds: 61,
    clock_skew_seconds: -2.1,
    leases_run_out: 1,
  }
  assert.deepStrictEqual(
    raisedBy(ill).map(({ name }) => name),
    [
      "MessagingNothingIsSent",
      "MessagingClockWrong",
      "MessagingMessagesGrowOld",
      "MessagingWorkerDies",
    ],
  )
  assert.deepStrictEqual(
    raisedBy({ ...well, store_up: false, lane_lag_seconds: null }).map(({ name }) => name),
    ["MessagingStoreAway"],
  )
  const [worker] = well.processes
  for (const processes of [
    [],
    [{ ...worker!, works: false }],
    [{ ...worker!, seen_at: "2030-01-31T06:59:25Z" }],
  ]) {
    assert.deepStrictEqual(
      raisedBy({ ...well, processes }).map(({ name }) => name),
      ["MessagingNoWorker"],
    )
  }
})
