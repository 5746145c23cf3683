/** The server's process; with an argument, a command. */
import { runProcess } from "@messaging-service/node/process"
import {
  databaseCommandSummaries,
  doctorSummary,
  runDatabaseCommand,
  runDoctor,
} from "@messaging-service/service/compose"
import { Effect } from "effect"
import { runServer } from "./Server.ts"
import { readServerSettings, serverVariableNames } from "./ServerSettings.ts"

const settings = readServerSettings(process.env)

const start = Effect.map(settings, ({ adminPort, metricsPort, service }) => ({
  service,
  ports: { PORT: service.port, ADMIN_PORT: adminPort, METRICS_PORT: metricsPort },
}))

const name = "messaging-server"

runProcess({
  name,
  summary: "Serves the HTTP interface, and sends messages unless WORKER=separate.",
  variables: serverVariableNames,
  commands: { doctor: doctorSummary, ...databaseCommandSummaries },
  runCommand: (command, options) =>
    command === "doctor"
      ? runDoctor(name, start, options)
      : runDatabaseCommand(command, process.env, options),
  run: Effect.flatMap(settings, runServer),
})
