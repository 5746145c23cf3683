/** The figures of a workspace and of the service (contract: Figures), over sockets. */
import { assert, layer } from "@effect/vitest"
import { countFigures, Store, StoreUnavailable } from "@messaging-service/core"
import { storeChanged } from "@messaging-service/testkit"
import { Effect, Random } from "effect"
import { TestClock } from "effect/testing"
import { errorBody } from "../HttpTestClients.ts"
import { aKey, aNumber, aSender, expectBody, operate, remove, settle } from "../Records.ts"
import type { Created } from "../Records.ts"
import { cancel, send } from "../v2/Asking.ts"
import { layerService } from "../Service.ts"

const hour = 3_600_000

interface Bucket {
  readonly at: string
  readonly accepted: number
  readonly sent: number
  readonly failed: number
  readonly cancelled: number
  readonly wait_p50_ms: number | null
  readonly wait_p95_ms: number | null
}

interface FiguresBody {
  readonly now: string
  readonly buckets: ReadonlyArray<Bucket>
  readonly before: { readonly accepted: number; readonly sent: number; readonly failed: number }
  readonly failures: ReadonlyArray<{ readonly code: string; readonly count: number }>
  readonly wait_p50_ms: number | null
  readonly wait_p95_ms: number | null
  readonly waiting: {
    readonly queued: number
    readonly scheduled: number
    readonly oldest_due_at: string | null
  }
  readonly allowance: { readonly remaining: number | null }
  readonly storage: { readonly used_bytes: number; readonly limit_bytes: number }
}

const figures = (workspace: Created, query = "") =>
  Effect.map(operate({ path: `/admin/v1/workspaces/${workspace.id}/figures${query}` }), (answer) =>
    expectBody<FiguresBody>(answer, 200),
  )

const inMillis = (millis: number) => new Date(millis).toISOString().replace(".000", "")

layer(layerService())("the figures of a workspace", (it) => {
  it.effect("have buckets on whole hours up to the present one", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aSender()
      yield* TestClock.setTime(100 * 24 * hour + 90 * 60_000)
      const until = 100 * 24 * hour + 2 * hour
      const shapes = { "24h": [24, hour], "7d": [28, 6 * hour], "30d": [30, 24 * hour] } as const
      for (const [range, [count, width]] of Object.entries(shapes)) {
        const { buckets } = yield* figures(workspace, `?range=${range}`)
        assert.deepStrictEqual(
          buckets.map(({ at }) => at),
          Array.from({ length: count }, (_, index) => inMillis(until - (count - index) * width)),
        )
      }
    }),
  )

  it.effect("tell what happened, what waits, what is left and what files take", () =>
    Effect.gen(function* () {
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const { number, token, workspace } = yield* aSender({
        workspace: {
          plan: {
            name: "Small",
            messages_remaining: 10,
            reminders: true,
            qr_code_api: true,
            max_numbers: 5,
            media_storage_bytes: 1000,
          },
        },
      })
      const test = yield* aKey(workspace, { mode: "test" })
      const lost = yield* aNumber(workspace, { status: "disconnected" })
      yield* send(token, { from: number.id })
      yield* settle
      yield* send(test.key, { from: number.id })
      yield* send(token, { from: lost.id })
      const later = yield* send(token, { from: lost.id, send_at: inMillis(now + 5 * hour) })
      yield* send(token, { from: lost.id, send_at: inMillis(now + 6 * hour) })
      yield* cancel(token, later.id)
      const body = yield* figures(workspace)
      const { buckets, ...rest } = body
      assert.deepInclude(buckets.at(-1), {
        accepted: 4,
        sent: 1,
        failed: 0,
        cancelled: 1,
        wait_p50_ms: 1,
        wait_p95_ms: 1,
      })
      assert.deepStrictEqual(rest, {
        now: inMillis(now),
        before: { accepted: 0, sent: 0, failed: 0 },
        failures: [],
        wait_p50_ms: 1,
        wait_p95_ms: 1,
        waiting: { queued: 1, scheduled: 1, oldest_due_at: inMillis(now) },
        allowance: { remaining: 7 },
        storage: { used_bytes: 0, limit_bytes: 1000 },
      })
      const inTest = yield* figures(workspace, "?mode=test")
      assert.strictEqual(inTest.buckets.at(-1)?.accepted, 1)
    }),
  )

  it.effect("tell the wait of half of all messages, not of half of the hours", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aSender()
      const pause = (action: string) =>
        operate({
          method: "POST",
          path: `/admin/v1/workspaces/${workspace.id}/numbers/${number.id}/${action}`,
        })
      for (let message = 0; message < 5; message++) yield* send(token, { from: number.id })
      yield* settle
      for (let hours = 0; hours < 2; hours++) {
        yield* TestClock.adjust("1 hour")
        yield* pause("pause")
        yield* send(token, { from: number.id })
        yield* TestClock.adjust("100 seconds")
        yield* pause("resume")
        yield* settle
      }
      const { buckets, wait_p50_ms, wait_p95_ms } = yield* figures(workspace)
      assert.deepStrictEqual(
        buckets.slice(-3).map((bucket) => bucket.wait_p50_ms),
        [1, 120_000, 120_000],
      )
      assert.deepStrictEqual([wait_p50_ms, wait_p95_ms], [1, 120_000])
    }),
  )

  it.effect("add up to what happened over a random history", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aSender({ workspace: { plan: null } }).pipe(
        Effect.tap(({ workspace: created }) =>
          operate({
            method: "PATCH",
            path: `/admin/v1/workspaces/${created.id}`,
            json: {
              plan: {
                name: "Unlimited",
                messages_remaining: null,
                reminders: true,
                qr_code_api: true,
                max_numbers: null,
                media_storage_bytes: 0,
              },
            },
          }),
        ),
      )
      const random = yield* Random.Random
      const below = (bound: number) => Math.floor(random.nextDoubleUnsafe() * bound)
      const happened: Array<{ readonly at: number; readonly what: "accepted" | "cancelled" }> = []
      const lost = yield* aNumber(workspace, { status: "disconnected" })
      assert.notStrictEqual(lost.id, number.id)
      const waiting: Array<Created> = []
      for (let step = 0; step < 60; step++) {
        yield* TestClock.adjust(below(12 * hour))
        const at = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
        const [first] = waiting
        if (first === undefined || below(3) > 0) {
          waiting.push(yield* send(token, { from: lost.id }))
          happened.push({ at, what: "accepted" })
        } else {
          assert.strictEqual((yield* cancel(token, first.id)).status, 200)
          waiting.shift()
          happened.push({ at, what: "cancelled" })
        }
        if (below(4) === 0) yield* countFigures
      }
      for (const range of ["24h", "7d", "30d"]) {
        const { buckets } = yield* figures(workspace, `?range=${range}`)
        for (const [index, bucket] of buckets.entries()) {
          const until = Date.parse(buckets[index + 1]?.at ?? "9999-01-01")
          const inside = (what: string) =>
            happened.filter(
              (one) => one.what === what && one.at >= Date.parse(bucket.at) && one.at < until,
            ).length
          assert.deepInclude(bucket, {
            accepted: inside("accepted"),
            cancelled: inside("cancelled"),
          })
        }
      }
    }),
  )

  it.effect("are refused for a wrong span, and for a deleted workspace", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aSender()
      const path = `/admin/v1/workspaces/${workspace.id}/figures`
      const wrong = yield* operate({ path: `${path}?range=1y` })
      assert.deepInclude(errorBody(wrong), { code: "validation_failed", field: "range" })
      yield* remove(workspace)
      assert.strictEqual(errorBody(yield* operate({ path })).code, "workspace_not_found")
    }),
  )
})

interface ServiceBody {
  readonly store_up: boolean
  readonly waiting: unknown
  readonly processes: ReadonlyArray<object>
  readonly [field: string]: unknown
}

const service = Effect.map(operate({ path: "/admin/v1/figures" }), (answer) =>
  expectBody<ServiceBody>(answer, 200),
)

const answers = { broken: false, reads: 0 }

const layerCounted = storeChanged(({ system }) => ({
  system: {
    figures: (now, max) =>
      Effect.suspend(() => {
        answers.reads++
        return answers.broken
          ? Effect.fail(new StoreUnavailable({ operation: "figures", cause: "broken" }))
          : system.figures(now, max)
      }),
  },
}))

layer(layerService({ instead: layerCounted }))("the figures of the service", (it) => {
  it.effect("are those of the metrics, with the processes", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aSender()
      const lost = yield* aNumber(workspace, { status: "disconnected" })
      yield* send(token, { from: lost.id })
      const { system } = yield* Store
      const seenAt = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const report = {
        name: "worker-1",
        kind: "worker",
        works: true,
        numbersHeld: 3,
        shardsHeld: 64,
      } as const
      yield* system.reportProcess({ ...report, seenAt })
      const body = yield* service
      assert.deepInclude(body, {
        store_up: true,
        waiting: { queued: 1, scheduled: 0 },
        oldest_waiting_seconds: { connected: 0, not_connected: 0 },
        lane_lag_seconds: 0,
        lanes_in_flight: 0,
        leases_run_out: 0,
        webhook_deliveries_pending: 0,
        webhook_retries_pending: 0,
        clock_skew_seconds: 0,
      })
      assert.deepStrictEqual(body.processes, [
        {
          name: "worker-1",
          kind: "worker",
          works: true,
          seen_at: inMillis(seenAt),
          numbers_held: 3,
          shards_held: 64,
        },
      ])
    }),
  )

  it.effect("are read once in five seconds, and are null while the store does not answer", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("10 seconds")
      const before = answers.reads
      yield* Effect.all([service, service, service], { concurrency: "unbounded" })
      assert.strictEqual(answers.reads, before + 1)
      answers.broken = true
      yield* TestClock.adjust("10 seconds")
      const body = yield* service
      assert.deepInclude(body, { store_up: false, waiting: null, numbers: null, processes: [] })
      answers.broken = false
    }),
  )
})
