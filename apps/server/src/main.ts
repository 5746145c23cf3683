/** The server's process. */
import { runProcess } from "@messaging-service/runtime"
import { Effect } from "effect"
import { runServer } from "./Server.ts"
import { readServerSettings } from "./ServerSettings.ts"

runProcess(Effect.flatMap(readServerSettings(process.env), runServer))
