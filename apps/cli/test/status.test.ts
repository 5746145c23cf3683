/** `status` against services that are not well, and what it advises. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { resolve } from "node:path"
import { toFigures, parseMetrics, findTroubles } from "../src/ServiceFigures.ts"
import { run } from "../src/run.ts"
import { aMachine } from "./aMachine.ts"

const figures = (...lines: ReadonlyArray<string>) => toFigures(parseMetrics(lines.join("\n")))

const advice = (...lines: ReadonlyArray<string>) =>
  findTroubles(figures(...lines)).map(({ trouble }) => trouble)

describe("the figures", () => {
  it("are those of the text format, whatever their labels hold", () => {
    assert.deepStrictEqual(
      parseMetrics('# HELP a b\nmessaging_a 1\nmessaging_b{x="1,2",y="a\\"}"} 2.5e3\n\nnonsense'),
      [
        { name: "messaging_a", labels: {}, value: 1 },
        { name: "messaging_b", labels: { x: "1,2", y: 'a\\"}' }, value: 2500 },
      ],
    )
  })

  it("add the numbers of all platforms, and are null where there are none", () => {
    const { numbers } = figures(
      'messaging_numbers{platform="whatsapp",status="connected"} 2',
      'messaging_numbers{platform="telegram",status="connected"} 3',
    )
    assert.deepStrictEqual(numbers, { connected: 5 })
    assert.deepInclude(figures(""), { numbers: null, queued: null, store_up: null, version: null })
  })

  it("say what to fix from where the alerts begin", () => {
    const alerts = readFileSync(
      resolve(import.meta.dirname, "../../../deploy/prometheus/alerts.yml"),
      "utf8",
    )
    for (const gauge of [
      "messaging_lane_lag_seconds",
      'messaging_oldest_waiting_seconds{connection="connected"}',
      "messaging_clock_skew_seconds",
    ]) {
      const at = alerts.indexOf(`max(${gauge}) > `)
      assert.isAtLeast(at, 0, gauge)
      const limit = Number.parseInt(alerts.slice(at + `max(${gauge}) > `.length), 10)
      assert.lengthOf(advice(`${gauge} ${limit}`), 0, gauge)
      assert.lengthOf(advice(`${gauge} ${limit + 1}`), 1, gauge)
    }
  })

  it("name a dead worker once, with its last sign of life", () => {
    const lines = ["messaging_workers_alive 0", "messaging_leases_run_out 2"]
    assert.deepStrictEqual(advice(...lines, "messaging_lane_lag_seconds 90"), [
      "no worker is running, so nothing is sent",
    ])
    assert.deepStrictEqual(advice(...lines, "messaging_worker_seen_seconds 41.2"), [
      "no worker is running, so nothing is sent: the last sign of one came 41 s ago",
    ])
    assert.deepStrictEqual(advice("messaging_workers_alive 1", "messaging_leases_run_out 2"), [
      "the worker of 2 numbers died while they were sending",
    ])
  })

  it("name one trouble once", () => {
    const lines = ['messaging_not_ready{reason="store"} 1', "messaging_store_up 0"]
    assert.deepStrictEqual(advice(...lines), ["the store does not answer, or takes no writes"])
    const unknown = advice('messaging_not_ready{reason="another"} 1')
    assert.deepStrictEqual(unknown, ["another"])
  })
})

describe("status", () => {
  const getStatus = async (
    answers: Readonly<Record<string, readonly [number, string] | "never">>,
    env: Readonly<Record<string, string>> = {},
    ...options: ReadonlyArray<string>
  ) => {
    const requests: Array<string> = []
    const server = createServer(({ url = "" }, response) => {
      requests.push(url)
      const answer = answers[url] ?? [404, "{}"]
      if (answer === "never") return
      response.writeHead(answer[0], { "content-type": "application/json" }).end(answer[1])
    })
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
    const { port } = server.address() as AddressInfo
    const ran = { output: "", remarks: "" }
    const machine = aMachine({
      env,
      print: (text) => void (ran.output += text),
      remark: (text) => void (ran.remarks += text),
    })
    const line = ["status", "--json", "--service", `http://127.0.0.1:${port}`, ...options]
    const code = await run(line, machine)
    server.close()
    server.closeAllConnections()
    return { code, requests, ...ran }
  }

  const operator = { MESSAGING_OPERATOR_KEY: "a token" }
  const ready = { "/health/ready": [200, '{"status":"ok"}'] } as const
  const noWorkers = "messaging_store_up 1\n"

  it.each([
    [401, "invalid_operator_token", 4, /"The operator token was refused, .* The address was http/],
    [429, "too_many_auth_failures", 6, /"Too many wrong operator tokens came from this address/],
  ] as const)(
    "shows what needs no token where one is refused with %i, and says so once",
    async (status, code, ending, line) => {
      const refused = [status, JSON.stringify({ error: { code, message: "No." } })] as const
      const ran = await getStatus(
        {
          ...ready,
          "/metrics": [200, noWorkers],
          "/admin/v1/figures": refused,
          "/admin/v1/held": refused,
        },
        operator,
      )
      assert.strictEqual(ran.code, ending)
      assert.deepInclude(JSON.parse(ran.output), { ready: true, store_up: true, held: null })
      assert.match(ran.remarks, line)
      assert.lengthOf(ran.remarks.trimEnd().split("\n"), 1)
      // Each wrong token counts towards the lock-out.
      assert.deepStrictEqual(ran.requests, ["/health/ready", "/metrics", "/admin/v1/figures"])
    },
  )

  it("names each question that is not answered in time, and asks the operator's once", async () => {
    const ran = await getStatus(
      { ...ready, "/metrics": "never", "/admin/v1/figures": "never", "/admin/v1/held": "never" },
      operator,
      "--timeout",
      "1",
    )
    assert.strictEqual(ran.code, 0)
    assert.deepInclude(JSON.parse(ran.output), { ready: true, store_up: null, held: null })
    assert.match(ran.remarks, /did not answer \/metrics within 1 s/)
    assert.match(ran.remarks, /the operator's part is missing: GET .*\/admin\/v1\/figures was not/)
    assert.deepStrictEqual(ran.requests, ["/health/ready", "/metrics", "/admin/v1/figures"])
  })

  it("ends with 6 where readiness is not answered in time", async () => {
    const ran = await getStatus({ "/health/ready": "never" }, {}, "--timeout", "1")
    assert.deepInclude(ran, { code: 6, output: "" })
    assert.match(ran.remarks, /did not answer \/health\/ready within 1 s/)
  })

  it("names the next command where something is held since a restore", async () => {
    const held = [{ workspace_id: 1, messages: 60, reminders: 4 }]
    const ran = await getStatus(
      {
        ...ready,
        "/metrics": [200, "messaging_workers_alive 1\n"],
        "/admin/v1/held": [200, JSON.stringify({ data: held })],
      },
      operator,
    )
    assert.strictEqual(ran.code, 0)
    const [{ trouble, what_to_do }] = JSON.parse(ran.output).troubles
    assert.strictEqual(trouble, "64 messages and reminders are held since a restore")
    assert.match(what_to_do, /^messaging held workspaces .*docs\/operating\.md/)
  })

  it("ends with 6 while the service is not ready, and says why and what to do", async () => {
    const ran = await getStatus({
      "/health/ready": [503, '{"status":"unavailable"}'],
      "/metrics": [200, 'messaging_not_ready{reason="disk"} 1\nmessaging_queued 1\n'],
    })
    assert.strictEqual(ran.code, 6)
    const { held, not_ready, ready, troubles } = JSON.parse(ran.output)
    assert.deepStrictEqual([ready, not_ready, held], [false, ["disk"], null])
    assert.deepStrictEqual(troubles, [
      {
        trouble: "nothing more can be written to the disk",
        what_to_do: "see that DATA_DIR exists and can be written, and that its disk has room",
      },
    ])
  })

  it("ends with 6 while no worker is running", async () => {
    const figures =
      "messaging_store_up 1\nmessaging_lanes_in_flight 3\nmessaging_leases_run_out 2\n"
    for (const [alive, code] of [
      [0, 6],
      [1, 0],
    ] as const) {
      const ran = await getStatus({
        "/health/ready": [200, '{"status":"ok"}'],
        "/metrics": [
          200,
          `${figures}messaging_workers_alive ${alive}\nmessaging_worker_seen_seconds 12\n`,
        ],
      })
      assert.strictEqual(ran.code, code)
      assert.deepInclude(JSON.parse(ran.output), { workers_alive: alive, worker_seen_seconds: 12 })
      assert.strictEqual(ran.remarks.includes("no worker is running"), alive === 0)
    }
  })

  it("asks the operator API for the workers where no figures are", async () => {
    const process = { name: "w", kind: "worker", numbers_held: null, shards_held: null }
    for (const [second, alive] of [
      [26, 1],
      [25, 0],
    ] as const) {
      const processes = [
        { ...process, works: true, seen_at: `2030-01-31T07:00:${second}Z` },
        { ...process, works: false, seen_at: "2030-01-31T07:01:00Z" },
      ]
      const ran = await getStatus(
        {
          "/health/ready": [200, '{"status":"ok"}'],
          "/admin/v1/held": [200, '{"data":[]}'],
          "/admin/v1/figures": [
            200,
            JSON.stringify({ now: "2030-01-31T07:01:00Z", store_up: true, processes }),
          ],
        },
        { MESSAGING_OPERATOR_KEY: "a token" },
      )
      assert.strictEqual(ran.code, alive === 1 ? 0 : 6)
      assert.deepInclude(JSON.parse(ran.output), {
        held: 0,
        workers_alive: alive,
        worker_seen_seconds: 60 - second,
      })
    }
  })

  it("works without figures, which METRICS_PORT moves elsewhere", async () => {
    const ran = await getStatus({ "/health/ready": [200, '{"status":"full"}'] })
    assert.strictEqual(ran.code, 0)
    assert.deepInclude(JSON.parse(ran.output), { ready: true, queued: null, troubles: [] })
    assert.match(ran.remarks, /with METRICS_PORT name its address with --metrics/)
  })

  it("ends with 6 where something else answers", async () => {
    const ran = await getStatus({ "/health/ready": [200, "<html>"] })
    assert.deepInclude(ran, { code: 6, output: "" })
    assert.match(ran.remarks, /no service answers at/)
  })
})
