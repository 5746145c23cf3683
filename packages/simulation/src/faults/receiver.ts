/** The receivers of webhooks, which fail, are never reached, or have heard and do not say so. */
import { Egress, EgressError } from "@messaging-service/core/ports"
import { Chance } from "@messaging-service/emulator"
import type { Process } from "@messaging-service/emulator"
import { Effect, Layer } from "effect"
import type { Recorder } from "../History.ts"
import type { FaultPoints } from "./FaultPoints.ts"

const readType = (body: string): string => {
  const { type } = JSON.parse(body) as { readonly type: string }
  return type
}

/** The way out of a process. */
export const layerReceiver = (
  process: Process,
  faults: FaultPoints,
  record: Recorder,
  seed: string,
): Layer.Layer<Egress> => {
  const latency = new Chance(`${seed}/receiver/${process.name}`)
  const pause = Effect.suspend(() => Effect.sleep(latency.below(40)))
  return Layer.succeed(Egress, {
    allows: () => Effect.succeed(true),
    fetch: () => Effect.fail(new EgressError({ reason: "dns" })),
    post: (_url, { body, headers }) =>
      Effect.gen(function* () {
        yield* pause
        const fails = faults.hits(process.name, "hook.fails") !== null
        const unheard = faults.hits(process.name, "hook.unheard")
        const id = headers["service-event-id"] ?? ""
        const type = readType(body)
        if (unheard !== null && unheard.below(2) === 0) {
          return yield* new EgressError({ reason: "connection" })
        }
        const heard = !fails && unheard === null
        record.add(
          { _tag: "Told", eventId: id, type, body, heard },
          `told ${type} ${id}${heard ? "" : " in vain"}`,
        )
        yield* pause
        if (unheard !== null) return yield* new EgressError({ reason: "timeout" })
        return { status: fails ? 503 : 200, headers: {} }
      }),
  })
}
