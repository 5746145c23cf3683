/** The server's process; with an argument, a command for its database. */
import { runDatabaseCommand, runProcess } from "@messaging-service/runtime"
import { Effect } from "effect"
import { runServer } from "./Server.ts"
import { readServerSettings } from "./ServerSettings.ts"

const command = process.argv[2]

runProcess(
  command === undefined
    ? Effect.flatMap(readServerSettings(process.env), runServer)
    : runDatabaseCommand(command, process.env),
)
