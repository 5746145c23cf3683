/**
 * Number checks under SIGKILL: workers die while they check hundreds of phones; in the end each
 * phone has one result, and that is true (contract: Number checks).
 */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { processes } from "@messaging-service/testkit"
import { aSender } from "./crash/Clients.ts"
import type { Sender } from "./crash/Clients.ts"
import type { Cluster } from "./crash/Cluster.ts"
import { crashTest, runLoad } from "./crash/Storm.ts"

/** Phones of one check: many calls of the transport. */
const total = 600

/** Another rule than the emulator's default. */
const isRegistered = (n: number) => n % 3 === 0 || n % 10 === 7

const phone = (n: number) => `+4479460${String(n).padStart(5, "0")}`

/** A list that ends with its first phones again. */
const request = (check: number) =>
  Array.from({ length: total }, (_, n) =>
    n < total - 20 ? check * 1000 + n : check * 1000 + (n % 20),
  )

const startCheck = (cluster: Cluster, { keys, numberIds }: Sender, check: number) =>
  Effect.gen(function* () {
    const { body, status } = yield* cluster.request("POST", "/api/v2/number-checks", {
      token: keys[0]!,
      idempotencyKey: `check ${check}`,
      body: { phones: request(check).map(phone), from: numberIds[check % numberIds.length] },
    })
    assert.strictEqual(status, 202, JSON.stringify(body))
    return body.id as number
  })

interface Result {
  readonly id: number
  readonly phone: string
  readonly status: string
  readonly checked_at: string | null
}

/** All results, oldest first, page by page. */
const readResults = (cluster: Cluster, { keys }: Sender, id: number) =>
  Effect.gen(function* () {
    const results: Array<Result> = []
    let cursor: string | null = null
    do {
      const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`
      const { body, status } = yield* cluster.request(
        "GET",
        `/api/v2/number-checks/${id}/results?limit=100${query}`,
        { token: keys[1]! },
      )
      assert.strictEqual(status, 200, JSON.stringify(body))
      results.push(...body.data)
      cursor = body.next_cursor
    } while (cursor !== null)
    return results.toReversed()
  })

crashTest("a number check tells the truth of each phone once", (cluster, kills) =>
  Effect.gen(function* () {
    const sender = yield* aSender(cluster)
    // Each call takes so long that a kill meets one.
    for (const numberId of sender.numberIds) {
      yield* cluster.operate("PUT", `/admin/v1/simulator/numbers/${numberId}/behaviour`, {
        latency_ms: 400,
      })
    }
    const checks = [0, 1, 2, 3]
    const registered = checks.flatMap((check) =>
      Array.from({ length: total }, (_, n) => check * 1000 + n)
        .filter(isRegistered)
        .map(phone),
    )
    yield* cluster.operate("PUT", "/admin/v1/simulator/registered", { phones: registered })

    const ids = new Map<number, number>()
    const start = Effect.gen(function* () {
      for (const check of checks) ids.set(check, yield* startCheck(cluster, sender, check))
    })
    // Steps short enough that no living worker's call times out; some free the work of the dead.
    yield* runLoad(cluster, { kills, clients: [cluster.advance(20)], beforeKill: () => start })

    yield* processes.waitUntil(
      "every check is completed",
      Effect.gen(function* () {
        yield* cluster.advance(20)
        for (const id of ids.values()) {
          const { body } = yield* cluster.request("GET", `/api/v2/number-checks/${id}`, {
            token: sender.keys[2]!,
          })
          if (body.status !== "completed") return undefined
        }
        return true
      }),
    )

    const { body } = yield* cluster.request("GET", "/api/v2/number-checks?limit=100", {
      token: sender.keys[3]!,
    })
    assert.strictEqual(body.data.length, checks.length, "a repeated request makes no other check")
    for (const [check, id] of ids) {
      const expected = request(check).map((n) => ({
        phone: phone(n),
        status: isRegistered(n) ? "registered" : "not_registered",
      }))
      const results = yield* readResults(cluster, sender, id)
      assert.deepStrictEqual(
        results.map(({ phone, status }) => ({ phone, status })),
        expected,
        "one true result for each phone, in the order of the list",
      )
      assert(results.every(({ checked_at }) => checked_at !== null))
      const visible = yield* cluster.request("GET", `/api/v2/number-checks/${id}`, {
        token: sender.keys[4]!,
      })
      const known = expected.filter(({ status }) => status === "registered").length
      assert.deepInclude(visible.body, {
        status: "completed",
        total,
        checked: total,
        registered: known,
        not_registered: total - known,
      })
    }
  }),
)
