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
import { signInLink } from "./signInLink.ts"

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
  commands: {
    doctor: doctorSummary,
    "sign-in-link": "Prints a link of the running server that signs an operator in, once.",
    ...databaseCommandSummaries,
  },
  runCommand: (command, options) => {
    if (command === "doctor") return runDoctor(name, start, options)
    if (command === "sign-in-link") {
      return Effect.flatMap(settings, (given) => signInLink(given, options))
    }
    return runDatabaseCommand(command, process.env, options)
  },
  run: Effect.flatMap(settings, runServer),
})
