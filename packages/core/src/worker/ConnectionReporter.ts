/**
 * Writes down how the connections stand that this process keeps, where every process can read it: at
 * once when one changes, and every few seconds to say that the process lives and when the far side was
 * last heard. A store that does not answer is told again.
 */
import { Clock, Effect } from "effect"
import type { NumberId } from "../Ids.ts"
import { logTrouble } from "../monitoring/rareLog.ts"
import { shouldReplace } from "../number/Connection.ts"
import type { ConnectionReport } from "../number/Connection.ts"
import { NumberStore } from "../number/NumberStore.ts"
import { sleep } from "../time/RealTime.ts"
import { TelegramTransport, WhatsAppTransport } from "../transport/Transport.ts"

/** How often connections are looked at, in real time. */
const lookMillis = 500

/** Makes the loop; `runOnce` keeps what is new since the last time. */
export const makeConnectionReporter = Effect.gen(function* () {
  const store = yield* NumberStore
  const transports = [yield* WhatsAppTransport, yield* TelegramTransport]
  const sources = transports.flatMap(({ connections }) => connections ?? [])
  const kept = new Map<NumberId, { readonly report: ConnectionReport; readonly at: number }>()

  const runOnce = Effect.gen(function* () {
    const reports = (yield* Effect.all(sources)).flat()
    const now = yield* Clock.currentTimeMillis
    const changed = reports.filter((one) => shouldReplace(one, kept.get(one.numberId), now))
    yield* store.reportConnections(changed, now)
    const known = new Set(reports.map(({ numberId }) => numberId))
    for (const numberId of kept.keys()) if (!known.has(numberId)) kept.delete(numberId)
    for (const report of changed) kept.set(report.numberId, { report, at: now })
  })

  const run: Effect.Effect<never> =
    // Simulated phones keep no connections, and nothing has to look at them.
    sources.length === 0
      ? Effect.never
      : runOnce.pipe(
          Effect.catchCause((cause) =>
            logTrouble("how connections stand is written down later", cause),
          ),
          Effect.andThen(sleep(lookMillis)),
          Effect.forever,
        )
  return { runOnce, run }
})
