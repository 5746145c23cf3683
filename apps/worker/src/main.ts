/** The worker's process: all background work, for servers with `WORKER=separate`. */
import { OwnKind, Worker, version } from "@messaging-service/core"
import { HttpOptions, monitoringApp } from "@messaging-service/http"
import type { CannotStart } from "@messaging-service/node"
import {
  getAddress,
  announce,
  listen,
  withLogging,
  runProcess,
  logStop,
  terminalWriter,
} from "@messaging-service/node/process"
import type { HttpListener } from "@messaging-service/node/process"
import { doctorSummary, openService, runDoctor } from "@messaging-service/service/compose"
import { Effect } from "effect"
import { readWorkerSettings, workerVariableNames } from "./WorkerSettings.ts"
import type { WorkerSettings } from "./WorkerSettings.ts"

/** Runs until interrupted; running attempts then end first. */
const runWorker = (settings: WorkerSettings): Effect.Effect<never, CannotStart> => {
  const { metricsPort, service } = settings
  const { host, log, port } = service
  return withLogging(
    log,
    Effect.scoped(
      Effect.gen(function* () {
        const listener =
          metricsPort === null
            ? null
            : yield* listen(host, metricsPort, { portVariable: "METRICS_PORT" })
        const built = yield* Effect.provideService(
          openService(service, getAddress(host, port), terminalWriter()),
          OwnKind,
          "worker",
        )
        return yield* Effect.provideContext(work(settings, listener), built)
      }),
    ),
  )
}

const work = Effect.fnUntraced(function* work(
  { service }: WorkerSettings,
  listener: HttpListener | null,
) {
  const worker = yield* Worker
  if (listener === null) {
    yield* announce(service.log, `worker ready (version ${version})`)
    return yield* logStop(worker.run)
  }
  const app = yield* Effect.provideService(monitoringApp, HttpOptions, {
    operatorToken: null,
    emulator: null,
    publicUrl: service.publicUrl ?? getAddress(service.host, service.port),
    trustProxy: false,
  })
  yield* announce(
    service.log,
    `worker ready (version ${version}; metrics on ${listener.url}/metrics)`,
  )
  return yield* Effect.all([listener.serve(app), worker.run], {
    concurrency: "unbounded",
    discard: true,
  }).pipe(Effect.andThen(Effect.never), logStop)
})

const settings = readWorkerSettings(process.env)

const start = Effect.map(settings, ({ metricsPort, service }) => ({
  service,
  ports: { METRICS_PORT: metricsPort },
}))

const name = "messaging-worker"

runProcess({
  name,
  summary: "Sends messages and calls webhooks, for servers with WORKER=separate.",
  variables: workerVariableNames,
  commands: { doctor: doctorSummary },
  runCommand: (_, options) => runDoctor(name, start, options),
  run: Effect.flatMap(settings, runWorker),
})
