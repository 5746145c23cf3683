/** The statement that accepts, against an INSERT into the same table. */
import { Effect } from "effect"
import { emptyOut, loadWorkspaces } from "../database/fixture.ts"
import { runScript } from "../database/Script.ts"
import type { Script } from "../database/Script.ts"
import { acceptScript, insertScript } from "../database/sendScripts.ts"
import { check, checkAccepted } from "../measuring/checks.ts"
import type { Row } from "../measuring/Comparison.ts"

const clients = 8

export const acceptRow: Row = {
  id: "accept",
  title: "accept statement / bare INSERT, 8 clients, many workspaces",
  prepare: Effect.fnUntraced(function* prepare({ database: makeDatabase, pgbench, sizes }) {
    const database = yield* makeDatabase
    yield* loadWorkspaces(database, sizes.workspaces)
    const run = (script: Script) =>
      Effect.andThen(
        emptyOut(database),
        runScript(pgbench, database, script, { clients, seconds: sizes.seconds }),
      )
    return {
      unit: "per second",
      candidates: [
        {
          name: "bare INSERT",
          run: Effect.gen(function* () {
            const { done, perSecond } = yield* run(insertScript(sizes.workspaces))
            yield* check("messages", yield* database.count("select count(*) from messages"), done)
            return perSecond
          }),
        },
        {
          name: "accept statement",
          run: Effect.gen(function* () {
            const { done, perSecond } = yield* run(acceptScript(sizes.workspaces))
            yield* checkAccepted(database, done)
            return perSecond
          }),
        },
      ],
      ratios: [
        {
          name: "accept statement / bare INSERT",
          numerator: "accept statement",
          denominator: "bare INSERT",
          limit: { atLeast: 0.3 },
        },
      ],
      notes: [
        "bare INSERT: one row into messages, with all its indexes, and nothing else",
        "accept statement: lane, allowance of a limited plan, quota and message",
      ],
    }
  }),
}
