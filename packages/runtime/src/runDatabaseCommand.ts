/** The server's commands for a database, in place of serving (docs/postgresql.md). */
import { databaseCommand } from "@messaging-service/service/compose"
import { Console, Effect } from "effect"
import { serviceVariables, storeChoice } from "./ServiceSettings.ts"
import { readVariables } from "./Variables.ts"
import type { Environment } from "./Variables.ts"

const { DATABASE_SCHEMA, DATABASE_URL } = serviceVariables

/** Reads no more of the environment than where the database is, and says what it did. */
export const runDatabaseCommand = Effect.fnUntraced(function* (
  name: string,
  environment: Environment,
) {
  const given = yield* readVariables({ DATABASE_SCHEMA, DATABASE_URL }, environment)
  yield* Console.log(yield* databaseCommand(name, storeChoice(given)))
})
