/** A value from a worker's metrics, where `METRICS_PORT` is set. */
import type { processes } from "@messaging-service/testkit"
import { Effect } from "effect"

export const figure = (worker: processes.ServiceProcess, name: string) =>
  Effect.gen(function* () {
    const [, url = ""] = yield* worker.awaitOutput(/metrics on (http:\/\/\S+)\/metrics/)
    const text = yield* Effect.promise(async () => (await fetch(`${url}/metrics`)).text())
    return Number(new RegExp(`^messaging_${name} (\\d+)`, "m").exec(text)?.[1])
  })
