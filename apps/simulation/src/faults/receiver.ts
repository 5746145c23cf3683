/** The receivers of webhooks, which fail, are never reached, or get a call without answering. */
import { Egress, EgressError } from "@messaging-service/core"
import { Chance } from "@messaging-service/emulator"
import type { Process } from "@messaging-service/emulator"
import { Effect, Layer } from "effect"
import type { Coverage } from "../Coverage.ts"
import type { ReceivedCall, Recorder } from "../History.ts"
import type { FaultPoints } from "./FaultPoints.ts"
import { makeFetch } from "./sites.ts"

/** The result of the call by itself. */
const readCall = (
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Omit<ReceivedCall, "calledAt" | "reached" | "heard"> => {
  const isWebhook = headers["content-type"] === "application/json"
  return {
    kind: isWebhook ? "webhook" : "callback",
    url,
    eventId: headers["service-event-id"] ?? "",
    type: isWebhook ? (JSON.parse(body) as { readonly type: string }).type : "",
    body,
    timestamp: headers["service-timestamp"] ?? "",
    signature: headers["service-signature"] ?? "",
  }
}

/** Some receivers accept nothing before calm, so that retries are always pending then. */
const isDownInStorm = (url: string, faults: FaultPoints, seed: string): boolean =>
  faults.isStormy &&
  faults.mayHappen("hook.fails") &&
  new Chance(`${seed}/receiver ${url}`).below(4) === 0

/** Receivers that temporarily accept nothing, by URL, with the world's time at which they do again. */
export type Unwilling = Map<string, number>

/** The egress of a process. */
export const layerReceiver = (
  process: Process,
  faults: FaultPoints,
  record: Recorder,
  coverage: Coverage,
  seed: string,
  rejecting: Unwilling,
): Layer.Layer<Egress> => {
  const latency = new Chance(`${seed}/receiver/${process.name}`)
  const pause = Effect.suspend(() => Effect.sleep(latency.below(40)))
  return Layer.succeed(Egress, {
    allows: () => Effect.succeed(true),
    fetch: makeFetch(process, faults, coverage, seed),
    post: (url, { body, headers }) =>
      Effect.gen(function* () {
        const calledAt = process.world.now
        const call = readCall(url, body, headers)
        const received = (reached: boolean, heard: boolean) => {
          coverage.hit(`receiver ${call.kind} ${heard ? "heard" : reached ? "refused" : "away"}`)
          record.mixText(`${call.body} ${call.signature}`)
          const how = heard ? "" : reached ? " in vain" : " and does not reach it"
          record.add(
            { _tag: "Told", ...call, calledAt, reached, heard },
            `told ${call.url} ${call.type}${call.type === "" ? body : ""} ${call.eventId}${how}`,
          )
        }
        yield* pause
        const isDown =
          isDownInStorm(url, faults, seed) || (rejecting.get(url) ?? 0) > process.world.now
        const fails = faults.hits(process.name, "hook.fails") !== null || isDown
        const unheard = faults.hits(process.name, "hook.unheard")
        if (unheard !== null && unheard.below(2) === 0) {
          received(false, false)
          return yield* new EgressError({ reason: "connection" })
        }
        received(true, !fails && unheard === null)
        yield* pause
        if (unheard !== null) return yield* new EgressError({ reason: "timeout" })
        return { status: fails ? 503 : 200, headers: {} }
      }),
  })
}
