/** The worker's process: everything that happens by itself, for servers with `WORKER=separate`. */
import { Worker } from "@messaging-service/core"
import { addressOf, announce, logged, openService, runProcess } from "@messaging-service/runtime"
import type { CannotStart, ServiceSettings } from "@messaging-service/runtime"
import { Effect } from "effect"
import { readWorkerSettings } from "./WorkerSettings.ts"

/** Runs until interrupted; attempts under way then end first. */
const runWorker = (settings: ServiceSettings): Effect.Effect<never, CannotStart> =>
  logged(
    settings.log,
    Effect.scoped(
      Effect.gen(function* () {
        const service = yield* openService(settings, addressOf(settings.host, settings.port))
        yield* announce(settings.log, "worker ready")
        return yield* Effect.provideContext(
          Effect.flatMap(Worker, (worker) => worker.run),
          service,
        )
      }),
    ),
  )

runProcess(Effect.flatMap(readWorkerSettings(process.env), runWorker))
