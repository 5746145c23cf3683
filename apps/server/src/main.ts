/** The server's process; with an argument, a command for its database. */
import { runProcess, runProgram } from "@messaging-service/node/process"
import { databaseCommandSummaries, runDatabaseCommand } from "@messaging-service/service/compose"
import { Effect } from "effect"
import { runServer } from "./Server.ts"
import { readServerSettings, serverVariableNames } from "./ServerSettings.ts"

runProcess(
  runProgram(
    {
      name: "messaging-server",
      summary: "Serves the HTTP interface, and sends messages unless WORKER=separate.",
      variables: serverVariableNames,
      commands: databaseCommandSummaries,
      runCommand: (name, options) => runDatabaseCommand(name, process.env, options),
      run: Effect.flatMap(readServerSettings(process.env), runServer),
    },
    process.argv.slice(2),
  ),
)
