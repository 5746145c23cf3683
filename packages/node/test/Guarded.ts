/** The egress for tests: guarded or not, with their own resolvers and connections. */
import { Egress, EgressError, OutboundRule } from "@messaging-service/core"
import type { FetchLimits, WorkspaceId } from "@messaging-service/core"
import { Effect, Layer, Stream } from "effect"
import { connect, isIP } from "node:net"
import type { TcpNetConnectOpts } from "node:net"
import { layerEgress } from "../src/Egress.ts"
import type { EgressOptions } from "../src/Egress.ts"
import type { Resolver } from "../src/Connections.ts"
import { realTimeLayer } from "../src/NodeServices.ts"

export const workspaceId = 1 as WorkspaceId

export const limits: FetchLimits = { maximumBytes: 1_000_000, timeoutMillis: 10_000, redirects: 3 }

const withRule = (allowPrivate: boolean, options: EgressOptions) =>
  Effect.provide(
    layerEgress(options).pipe(
      Layer.provide([Layer.succeed(OutboundRule, { allowPrivate }), realTimeLayer]),
    ),
  )

/** As in production. */
export const guarded = (options: EgressOptions = {}) => withRule(false, options)

/** As with `ALLOW_PRIVATE_TARGETS`. */
export const unguarded = (options: EgressOptions = {}) => withRule(true, options)

export const get = (url: string, changed: Partial<FetchLimits> = {}) =>
  Effect.gen(function* () {
    const egress = yield* Egress
    const answer = yield* egress.fetch(url, { ...limits, ...changed }, workspaceId)
    const chunks = yield* Stream.runCollect(answer.body)
    return {
      status: answer.status,
      headers: answer.headers,
      url: answer.url,
      text: Buffer.concat(chunks).toString("utf8"),
    }
  }).pipe(Effect.scoped)

/** Reason for a call without a response. */
export const reason = <A, R>(effect: Effect.Effect<A, EgressError, R>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)

/** A resolver with a list of answers; it repeats the last one. */
export const answering = (...answers: ReadonlyArray<ReadonlyArray<string>>) => {
  const requests: Array<string> = []
  const resolve: Resolver = (hostname) =>
    Effect.sync(() => {
      requests.push(hostname)
      return answers[Math.min(requests.length, answers.length) - 1]!
    })
  return { requests, resolve }
}

/**
 * Public by the guard's rule, which cannot know the owner of an address, but unassigned: no registry
 * has any of 3000::/4. So no test names an address that could exist.
 */
export const publicAddress = "3000::34"

/**
 * Dials `port` on loopback for every address, and records the addresses. With `disguised` the socket
 * claims to be connected to the first of them.
 */
export const dialing = (port: number, disguised: boolean) => {
  const dialed: Array<ReadonlyArray<string>> = []
  const dial = (options: TcpNetConnectOpts) => {
    const socket = connect({ host: "127.0.0.1", port })
    const host = options.host ?? ""
    const note = (addresses: ReadonlyArray<string>) => {
      dialed.push(addresses)
      if (disguised) Object.defineProperty(socket, "remoteAddress", { value: addresses[0] })
    }
    if (isIP(host) !== 0) note([host])
    else {
      options.lookup?.(host, { all: true }, (_error, answers) =>
        note(Array.isArray(answers) ? answers.map(({ address }) => address) : [answers]),
      )
    }
    return socket
  }
  return { dialed, dial }
}

export const neverDialed: NonNullable<EgressOptions["dial"]> = () => {
  throw new Error("nothing may be dialed here")
}
