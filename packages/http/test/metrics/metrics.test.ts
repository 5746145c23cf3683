/** `/metrics`, read as Prometheus reads it (contract: Open paths). */
import { assert, describe, layer } from "@effect/vitest"
import { receivedFileStates, StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { HttpTestClients } from "../HttpTestClients.ts"
import { aKey, aListener, aNumber, aSender, operate, settle } from "../Records.ts"
import { path, send } from "../v2/Asking.ts"
import { ada, tryWrite, write } from "../v2/Received.ts"
import { anEndpoint, ask, pass, simulator } from "../webhooks/Asking.ts"
import { aReceiver, withStatus } from "../webhooks/Receiver.ts"
import { behave, layerMeasured, scrape } from "./Scraping.ts"
import { storeChanged } from "@messaging-service/testkit"

/** The test clock starts at the epoch. */
const inSeconds = (seconds: number) => new Date(seconds * 1000).toISOString()

layer(layerMeasured())("received messages", (it) => {
  it.effect("are counted once something was received, with what could not be read and gaps", () =>
    Effect.gen(function* () {
      const { number } = yield* aListener()
      const before = yield* scrape
      assert.notInclude([...before.families.keys()].join(), "messaging_received")
      yield* write(number, { remote_id: "A1" })
      yield* tryWrite(number, { from: ada, remote_id: "A1" })
      yield* tryWrite(number, { from: ada, remote_id: "A2", readable: false })
      yield* operate({ method: "POST", path: `${simulator}/numbers/${number.id}/gap` })
      yield* pass(601)
      const { value } = yield* scrape
      assert.deepStrictEqual(
        ["messages", "repeats", "unreadable", "gaps"].map((name) =>
          value(`messaging_received_${name}_total`),
        ),
        [2, 1, 1, 1],
      )
    }),
  )

  it.effect("have files that are counted by their states", () =>
    Effect.gen(function* () {
      const { number } = yield* aListener({ max_file_bytes: 10 })
      const states = Effect.map(scrape, ({ value }) =>
        receivedFileStates.map((state) => value(`messaging_received_files_total`, { state }) ?? 0),
      )
      const before = yield* states
      const aFile = (data: string) =>
        write(number, { kind: "document", media: { file_name: "a.txt", data: btoa(data) } })
      yield* aFile("small")
      yield* aFile("larger than ten bytes")
      yield* pass(1)
      const after = yield* states
      const came = after.map((count, index) => count - (before[index] ?? 0))
      assert.deepStrictEqual(
        Object.fromEntries(receivedFileStates.map((state, index) => [state, came[index]])),
        { ready: 1, remote: 1, too_large: 1, full: 0, gone: 0, refused: 0, off: 0 },
      )
    }),
  )
})

layer(layerMeasured())("messages and deliveries", (it) => {
  it.effect("are counted by their end, and unfinished ones are shown", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      receiver.answer = withStatus(500)
      const { number, token, workspace } = yield* aSender()
      const test = yield* aKey(workspace, { mode: "test" })
      const lost = yield* aNumber(workspace, { status: "disconnected" })
      yield* aNumber(workspace, { platform: "telegram" })
      const from = number.id

      yield* send(token, { from })
      yield* send(token, { from })
      yield* send(test.key, { from })
      const later = yield* send(token, { from, send_at: inSeconds(3600) })
      yield* send(token, { from, send_at: inSeconds(7200) })
      yield* ask({ method: "DELETE", path: `${path}/${later.id}`, token })
      yield* settle
      yield* anEndpoint(token, receiver)
      yield* behave(number, "fail")
      yield* send(token, { from })
      yield* settle
      yield* send(token, { from: lost.id })
      yield* settle

      const { families, value } = yield* scrape
      const accepted = "messaging_messages_accepted_total"
      assert.strictEqual(value(accepted, { mode: "live" }), 6)
      assert.strictEqual(value(accepted, { mode: "test" }), 1)
      const ended = (mode: string, status: string) =>
        value("messaging_messages_ended_total", { mode, status })
      assert.deepStrictEqual(
        ["sent", "failed", "cancelled", "expired"].map((status) => ended("live", status)),
        [2, 1, 1, 0],
      )
      assert.strictEqual(ended("test", "sent"), 1)

      const attempts = (outcome: string) => value("messaging_webhook_attempts_total", { outcome })
      assert.deepStrictEqual([attempts("http_status"), attempts("delivered")], [1, 0])
      assert.strictEqual(value("messaging_webhook_deliveries_pending"), 1)
      assert.strictEqual(value("messaging_webhook_retries_pending"), 1)

      assert.strictEqual(value("messaging_store_up"), 1)
      const waiting = "messaging_messages_waiting"
      assert.strictEqual(value(waiting, { status: "queued" }), 1)
      assert.strictEqual(value(waiting, { status: "scheduled" }), 1)
      assert.deepStrictEqual(
        families
          .get("messaging_numbers")
          ?.samples.map(({ labels, value: count }) => [
            labels["platform"],
            labels["status"],
            count,
          ]),
        [
          ["whatsapp", "connected", 1],
          ["whatsapp", "connecting", 0],
          ["whatsapp", "disconnected", 1],
          ["telegram", "connected", 1],
          ["telegram", "connecting", 0],
          ["telegram", "disconnected", 0],
        ],
      )
    }),
  )

  it.effect("that cannot be sent grow old; a lane that no worker can claim is not behind", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("10 minutes")
      yield* settle
      const { value } = yield* scrape
      const oldest = "messaging_oldest_waiting_seconds"
      assert.strictEqual(value(oldest, { connection: "not_connected" }), 600)
      assert.strictEqual(value(oldest, { connection: "connected" }), 0)
      assert.strictEqual(value("messaging_lane_lag_seconds"), 0)
    }),
  )

  it.effect("are in flight at a phone that hangs", () =>
    Effect.gen(function* () {
      const { number, token } = yield* aSender()
      yield* behave(number, "hang")
      yield* send(token)
      yield* TestClock.adjust("5 seconds")
      const { value } = yield* scrape
      assert.strictEqual(value("messaging_lanes_in_flight"), 1)
      assert.strictEqual(value("messaging_leases_run_out"), 0)
      const oldest = value("messaging_oldest_waiting_seconds", { connection: "connected" })
      assert.strictEqual(oldest, 5)
      yield* behave(number, "succeed")
      yield* TestClock.adjust("1 minute")
      yield* settle
    }),
  )
})

layer(layerMeasured())("requests", (it) => {
  it.effect("are counted by the route's template, method and status, and timed", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      const { id } = yield* send(token)
      for (const each of [id, 404_404, "abc"]) yield* ask({ path: `${path}/${each}/`, token })
      yield* ask({ path: `${path}/${id}`, token, method: "HEAD" })
      yield* ask({ path: `${path}/${id}` })
      const { value } = yield* scrape
      const route = `${path}/{id}`
      const requests = (method: string, status: string) =>
        value("messaging_http_requests_total", { surface: "/api/v2", route, method, status })
      assert.deepStrictEqual(
        [
          requests("GET", "200"),
          requests("GET", "404"),
          requests("GET", "401"),
          requests("HEAD", "200"),
        ],
        [1, 2, 1, 1],
      )
      const duration = "messaging_http_request_duration_seconds"
      assert.strictEqual(value(`${duration}_count`, { route, method: "GET" }), 4)
      assert.isAbove(value(`${duration}_sum`, { route, method: "GET" }) ?? 0, 0)
      assert.strictEqual(
        value("messaging_http_requests_total", {
          surface: "/admin/v1",
          route: "/admin/v1/workspaces/{id}/numbers",
          status: "201",
        }),
        1,
      )
    }),
  )

  it.effect("add no label, whatever their path, method or query", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const hostile = (mark: string) =>
        Effect.forEach(
          [
            { path: `/${mark}` },
            { path: `/api/v2/${mark}` },
            { path: `/api/v2/messages/${mark}/${mark}` },
            { path: `/api/v2/messages/${mark}%22%7D%0A` },
            { path: `/admin/v1/workspaces/${mark}` },
            { path: `/media/${mark}/${mark}.png` },
            { path: `/qr/${mark}.png` },
            { path: `/docs/${mark}` },
            { path: `/metrics/${mark}?${mark}` },
            { path: `//${mark}` },
            { path: "/api/v2/messages", method: "PROPFIND" },
            { path: "/api/v2/messages", method: "OPTIONS" },
            { path: `/${"a".repeat(5000)}${mark}` },
          ],
          (call) => socket.call({ token: mark, headers: [["x-request-id", mark]], ...call }),
          { discard: true },
        )
      yield* hostile("first")
      yield* scrape
      yield* scrape
      const before = yield* scrape
      for (let round = 0; round < 20; round++) yield* hostile(`mark${round}`)
      const after = yield* scrape
      const series = ({ families }: typeof after) =>
        [...families.values()].reduce((sum, { samples }) => sum + samples.length, 0)
      assert.strictEqual(series(after), series(before))
      assert.isTrue(
        after.labelValues("route").every((route) => route === "none" || /^\/[a-z]/.test(route)),
      )
      assert.notMatch(JSON.stringify([...after.families]), /mark|first|aaa/)
      assert.deepStrictEqual(after.labelValues("method"), [
        "GET",
        "HEAD",
        "OPTIONS",
        "POST",
        "other",
      ])
      assert.deepStrictEqual(after.labelValues("surface"), [
        "/admin/v1",
        "/api/v2",
        "/docs",
        "/media",
        "/metrics",
        "/qr",
        "none",
      ])
    }),
  )

  it.effect("for the metrics themselves are GET only, and need no token", () =>
    Effect.gen(function* () {
      const { socket, web } = yield* HttpTestClients
      const head = yield* socket.call({ path: "/metrics/", method: "HEAD" })
      assert.deepStrictEqual([head.status, head.text], [200, ""])
      const wrong = yield* socket.call({ path: "/metrics", method: "POST" })
      assert.deepStrictEqual([wrong.status, wrong.headers["allow"]], [405, "GET, HEAD"])
      const through = yield* web.call({ path: "/metrics" })
      assert.strictEqual(through.status, 200)
      assert.match(through.text, /^messaging_store_up 1$/m)
    }),
  )
})

describe("the store", () => {
  let outcome: Effect.Effect<void, StoreUnavailable> = Effect.void
  let reads = 0
  const moodyFigures = storeChanged(({ system: figures }) => ({
    system: {
      figures: (now, countAtMost) =>
        Effect.suspend(() => {
          reads++
          return Effect.andThen(outcome, figures.figures(now, countAtMost))
        }),
    },
  }))

  layer(layerMeasured({ instead: moodyFigures }))("when the store does not answer", (it) => {
    it.effect("is asked once in five seconds, however many scrape", () =>
      Effect.gen(function* () {
        reads = 0
        yield* Effect.all([scrape, scrape, scrape], { concurrency: "unbounded" })
        assert.strictEqual(reads, 1)
        yield* TestClock.adjust("4999 millis")
        yield* scrape
        assert.strictEqual(reads, 1)
        yield* TestClock.adjust("1 millis")
        yield* scrape
        assert.strictEqual(reads, 2)
      }),
    )

    for (const [what, bad] of [
      ["fails", Effect.fail(new StoreUnavailable({ operation: "figures", cause: null }))],
      ["has a bug", Effect.die(new Error("a bug"))],
      ["keeps silent", Effect.never],
    ] as const) {
      it.effect(`that ${what} omits its gauges, and no others, until it answers`, () =>
        Effect.gen(function* () {
          yield* TestClock.adjust("5 seconds")
          outcome = bad
          const down = yield* scrape
          assert.strictEqual(down.value("messaging_store_up"), 0)
          assert.deepStrictEqual([...down.families.keys()].toSorted(), [
            "messaging_build_info",
            "messaging_callback_attempts_total",
            "messaging_callers_hold_seconds",
            "messaging_campaign_rows_taken_total",
            "messaging_clock_skew_seconds",
            "messaging_http_request_duration_seconds",
            "messaging_http_requests_total",
            "messaging_library_faults_total",
            "messaging_messages_accepted_total",
            "messaging_messages_ended_total",
            "messaging_not_ready",
            "messaging_shard_moves_total",
            "messaging_store_risk",
            "messaging_store_up",
            "messaging_webhook_attempts_total",
          ])
          outcome = Effect.void
          const up = yield* scrape
          assert.strictEqual(up.value("messaging_store_up"), 1)
          assert.strictEqual(up.value("messaging_messages_waiting", { status: "queued" }), 0)
        }),
      )
    }
  })
})
