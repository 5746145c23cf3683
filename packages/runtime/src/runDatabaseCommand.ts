/** The server's commands for a database, in place of serving (docs/postgresql.md). */
import { databaseCommand, databaseCommands } from "@messaging-service/service/compose"
import { Console, Effect } from "effect"
import { checkStore, dataDirectoryOf, serviceVariables, storeChoice } from "./ServiceSettings.ts"
import { readVariables } from "./Variables.ts"
import type { Environment } from "./Variables.ts"

const { DATABASE_SCHEMA, DATABASE_URL, DATA_DIR } = serviceVariables

/** What each command does, by its name. */
export const databaseCommandSummaries: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(databaseCommands).map(([name, { summary }]) => [name, summary]),
)

/** Reads no more of the environment than where the database is, and says what it did. */
export const runDatabaseCommand = Effect.fnUntraced(function* (
  name: string,
  environment: Environment,
  options: ReadonlyArray<string> = [],
) {
  const given = yield* readVariables({ DATABASE_SCHEMA, DATABASE_URL, DATA_DIR }, environment)
  const store = storeChoice(given)
  yield* checkStore(store)
  const place = { store, dataDirectory: dataDirectoryOf(given) }
  yield* Console.log(yield* databaseCommand(name, place, options))
})
