/** A send with an `Idempotency-Key`, against one without. */
import { Effect } from "effect"
import { emptyOut, loadWorkspaces } from "../database/fixture.ts"
import { runScript } from "../database/Script.ts"
import { sendScript } from "../database/sendScripts.ts"
import { check, checkAccepted } from "../measuring/checks.ts"
import type { Candidate, Row } from "../measuring/Comparison.ts"

const clients = 8

export const idempotencyRow: Row = {
  id: "idempotency",
  title: "accept with an idempotency key / without, 8 clients",
  prepare: Effect.fnUntraced(function* ({ database: makeDatabase, pgbench, sizes }) {
    const database = yield* makeDatabase
    yield* loadWorkspaces(database, sizes.workspaces)
    const candidate = (name: string, claimed: boolean): Candidate => ({
      name,
      run: Effect.gen(function* () {
        yield* emptyOut(database)
        const script = sendScript(sizes.workspaces, claimed)
        const { done, perSecond } = yield* runScript(pgbench, database, script, {
          clients,
          seconds: sizes.seconds,
        })
        yield* checkAccepted(database, done)
        const records = yield* database.count("select count(*) from idempotency_records")
        yield* check("idempotency records", records, claimed ? done : 0)
        const claims = yield* database.count("select count(*) from idempotency_claims")
        yield* check("claims left", claims, 0)
        return perSecond
      }),
    })
    return {
      unit: "per second",
      candidates: [candidate("without key", false), candidate("with key", true)],
      ratios: [
        {
          name: "with key / without",
          of: "with key",
          by: "without key",
          limit: { atLeast: 0.75 },
        },
      ],
      notes: ["both: the service's statements that load and accept, one after the other"],
    }
  }),
}
