/**
 * The benchmarks: `--smoke` for a run that only shows that they work, `--json FILE` for the report as
 * JSON too, `--only ROW,ROW` for some of the rows, `--sessions COUNT` for so many connected live
 * numbers in their rows; or `--counts` alone for what a message costs in counts, each with its limit.
 */
import { runMain } from "@effect/platform-node/NodeRuntime"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import { Console, Data, Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { loadavg } from "node:os"
import { parseArgs } from "node:util"
import { countedSettings } from "./counts/Cost.ts"
import { runCounts } from "./counts/run.ts"
import { measure } from "./measuring/rounds.ts"
import { headText, machine, rowText } from "./report.ts"
import type { MeasuredRow, Report } from "./report.ts"
import { rows } from "./rows/index.ts"
import { fullSizes, openSetup, serverSettings, smokeSettings, smokeSizes } from "./Setup.ts"

class WrongArguments extends Data.TaggedError("WrongArguments")<{ readonly message: string }> {}

const readArguments = Effect.gen(function* readArguments() {
  const { values } = yield* Effect.try({
    try: () =>
      parseArgs({
        options: {
          counts: { type: "boolean", default: false },
          smoke: { type: "boolean", default: false },
          json: { type: "string" },
          only: { type: "string" },
          sessions: { type: "string" },
        },
      }),
    catch: (cause) => new WrongArguments({ message: String(cause) }),
  })
  const only = values.only?.split(",") ?? rows.map(({ id }) => id)
  const unknown = only.filter((id) => !rows.some((row) => row.id === id))
  if (unknown.length > 0) {
    return yield* new WrongArguments({
      message: `no such row: ${unknown.join(", ")}; there are ${rows.map(({ id }) => id).join(", ")}`,
    })
  }
  const sizes = values.smoke ? smokeSizes : fullSizes
  const sessions = values.sessions === undefined ? sizes.sessions : Number(values.sessions)
  if (!Number.isInteger(sessions) || sessions < 2) {
    return yield* new WrongArguments({ message: "--sessions must be a whole number from 2 on" })
  }
  const telegramSessions = values.sessions === undefined ? sizes.telegramSessions : sessions
  return {
    counts: values.counts,
    smoke: values.smoke,
    json: values.json,
    only,
    sizes: { ...sizes, sessions, telegramSessions },
  }
})

const run = Effect.fnUntraced(function* run(
  { json, only, sizes, smoke }: Effect.Success<typeof readArguments>,
  settings: Readonly<Record<string, string>>,
) {
  const setup = yield* openSetup(sizes)
  const postgres = yield* Effect.scoped(
    Effect.flatMap(setup.database, (database) => database.query("show server_version")),
  )
  const head = {
    smoke,
    rounds: sizes.rounds,
    node: process.versions.node,
    postgres: String(postgres[0]?.["server_version"]),
    pgbench: setup.pgbench,
    ...machine(),
    settings,
  }
  yield* Console.log(headText(head))
  const measured: Array<MeasuredRow> = []
  for (const { id, prepare, title } of rows.filter((row) => only.includes(row.id))) {
    const figures = yield* Effect.scoped(
      Effect.flatMap(prepare(setup), (comparison) => measure(comparison, sizes.rounds, !smoke)),
    )
    const row = { id, title, machineLoad: loadavg()[0] ?? 0, ...figures }
    measured.push(row)
    yield* Console.log(rowText(row))
  }
  if (json !== undefined) {
    const report: Report = { ...head, rows: measured }
    yield* Effect.promise(() => writeFile(json, `${JSON.stringify(report, null, 2)}\n`))
  }
})

const program = Effect.flatMap(readArguments, (options) => {
  if (options.counts) {
    return Effect.flatMap(openSetup(smokeSizes), runCounts).pipe(
      Effect.provide(EmbeddedPostgres.layer({ settings: countedSettings })),
    )
  }
  const settings = options.smoke ? smokeSettings : serverSettings
  return run(options, settings).pipe(Effect.provide(EmbeddedPostgres.layer({ settings })))
})

runMain(Effect.scoped(program))
