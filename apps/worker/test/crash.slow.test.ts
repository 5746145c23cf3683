/**
 * The promise under SIGKILL. The HTTP process and two workers die at random moments while clients
 * send, schedule, batch, cancel and repeat. Afterwards every acknowledged message has exactly one
 * outcome, no copy reached a recipient twice, no cancelled one left, and the sums are right.
 */
import { assert } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Effect, Fiber } from "effect"
import { aSender, emptyLedger, oneRequest, scheduleAndCancel } from "./crash/Clients.ts"
import { checkAccounts } from "./crash/accounts.ts"
import { withDatabase } from "./crash/books.ts"
import { crashTest, runLoad } from "./crash/Storm.ts"

const clients = 6

crashTest("messages are neither lost nor sent twice", (cluster, kills) =>
  Effect.gen(function* () {
    const senders = yield* Effect.replicateEffect(aSender(cluster), 6)
    const ledger = emptyLedger()
    const dropping = Effect.gen(function* () {
      for (const { numberIds } of senders) {
        yield* cluster.operate("PUT", `/admin/v1/simulator/numbers/${numberIds[2]}/behaviour`, {
          send: "drop",
        })
      }
      yield* Effect.sleep("3 seconds")
    })
    const breaking = yield* Effect.forkScoped(Effect.forever(dropping))
    yield* runLoad(cluster, {
      kills,
      clients: Array.from({ length: clients }, () => oneRequest(cluster, senders, ledger)),
      // On the slowest machine each kill still meets work.
      untilKill: (killed) =>
        processes.waitUntil(
          "messages were accepted since the last kill",
          Effect.sync(() => (ledger.accepted.size > (killed + 1) * 3 ? true : undefined)),
        ),
      beforeKill: (killed) => scheduleAndCancel(cluster, senders[killed % senders.length]!, ledger),
    })
    yield* Fiber.interrupt(breaking)
    // Leases of the dead expire, and scheduled messages fall due.
    yield* cluster.advance(300)
    yield* cluster.settle

    const states = yield* checkAccounts(ledger).pipe(withDatabase(cluster))
    yield* Effect.logInfo("messages", {
      acknowledged: ledger.accepted.size,
      cancelled: ledger.cancelled.size,
      ...states,
    })
    // A storm in which nothing happened proves nothing.
    assert.isAbove(ledger.accepted.size, kills * 3)
    assert.isAbove(ledger.cancelled.size, 0)
    assert.isAbove(states["sent"] ?? 0, 0)
  }),
)
