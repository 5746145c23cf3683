/** The server's process; with an argument, a command. */
import { runProcess, runProgram } from "@messaging-service/node/process"
import { databaseCommandSummaries, runDatabaseCommand } from "@messaging-service/service/compose"
import { Effect } from "effect"
import { runDoctor } from "./doctor.ts"
import { runServer } from "./Server.ts"
import { readServerSettings, serverVariableNames } from "./ServerSettings.ts"

runProcess(
  runProgram(
    {
      name: "messaging-server",
      summary: "Serves the HTTP interface, and sends messages unless WORKER=separate.",
      variables: serverVariableNames,
      commands: {
        doctor: "Looks at everything that a start needs, and says what to mend.",
        ...databaseCommandSummaries,
      },
      runCommand: (name, options) =>
        name === "doctor"
          ? runDoctor(process.env, options)
          : runDatabaseCommand(name, process.env, options),
      run: Effect.flatMap(readServerSettings(process.env), runServer),
    },
    process.argv.slice(2),
  ),
)
