/** A send with an `Idempotency-Key`, against one without. */
import { Effect } from "effect"
import { emptyOut, loadWorkspaces } from "../database/fixture.ts"
import { runScript } from "../database/Script.ts"
import type { Script } from "../database/Script.ts"
import { postScript, sendScript } from "../database/sendScripts.ts"
import { check, checkAccepted } from "../measuring/checks.ts"
import type { Candidate, Row } from "../measuring/Comparison.ts"

const clients = 8

export const idempotencyRow: Row = {
  id: "idempotency",
  title: "accept with an idempotency key / without, 8 clients",
  prepare: Effect.fnUntraced(function* prepare({ database: makeDatabase, pgbench, sizes }) {
    const database = yield* makeDatabase
    yield* loadWorkspaces(database, sizes.workspaces)
    const candidate = (name: string, script: Script, claimed: boolean): Candidate => ({
      name,
      run: Effect.gen(function* run() {
        yield* emptyOut(database)
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
      candidates: [
        candidate("without key", sendScript(sizes.workspaces, false), false),
        candidate("with key", sendScript(sizes.workspaces, true), true),
        candidate("admitted, without key", postScript(sizes.workspaces), false),
        candidate("admitted, with key", postScript(sizes.workspaces, true), true),
      ],
      ratios: [
        {
          name: "with key / without",
          numerator: "with key",
          denominator: "without key",
          limit: { atLeast: 0.75 },
        },
        {
          name: "the same with admission in both",
          numerator: "admitted, with key",
          denominator: "admitted, without key",
          limit: null,
        },
      ],
      notes: [
        "the service's statements that load and accept, one after the other; admitted: with that of admission before them",
      ],
    }
  }),
}
