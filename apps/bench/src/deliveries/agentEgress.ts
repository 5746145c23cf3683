/**
 * A way out with the same posts over undici's own `Agent`, one for each workspace, because a look-up
 * takes of the share of the workspace that calls. For the comparison with the connections that the
 * service keeps itself: it checks the address at each connect and ends a call in time, but knows no
 * bound of how many connections wait, of a workspace or in all.
 */
import { Egress, EgressError, isPublicAddress } from "@messaging-service/core"
import type { PostAnswer, WorkspaceId } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { connect } from "node:net"
import { Agent } from "undici"
import type { Dispatcher } from "undici"

/** As long as the service keeps its own. */
const idleMillis = 4000

const openAgent = (allowPrivate: boolean): Agent =>
  new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
    keepAliveTimeout: idleMillis,
    keepAliveMaxTimeout: idleMillis,
    allowH2: false,
    connect: ({ hostname, port }, answer) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      socket.once("error", (error) => answer(error, null))
      socket.once("connect", () => {
        const address = socket.remoteAddress
        if (address !== undefined && (allowPrivate || isPublicAddress(address))) {
          return answer(null, socket)
        }
        socket.destroy()
        return answer(new EgressError({ reason: "blocked_address" }), null)
      })
    },
  })

const brokenOff = new EgressError({ reason: "connection" })

const answering = (
  maximumBytes: number,
  timeoutMillis: number,
  resume: (answer: Effect.Effect<PostAnswer, EgressError>) => void,
): Dispatcher.DispatchHandler => {
  let call: Dispatcher.DispatchController | undefined
  let answer: PostAnswer | undefined
  let received = 0
  const timer = setTimeout(() => {
    call?.abort(new EgressError({ reason: "timeout" }))
  }, timeoutMillis)
  const end = (error: EgressError) => {
    clearTimeout(timer)
    resume(answer === undefined ? Effect.fail(error) : Effect.succeed(answer))
  }
  return {
    onRequestStart: (controller) => {
      call = controller
    },
    onResponseStart: (_, status, headers) => {
      if (status >= 200) answer = { status, headers: headers as Readonly<Record<string, string>> }
    },
    onResponseData: (controller, chunk) => {
      received += chunk.length
      if (received > maximumBytes) controller.abort(brokenOff)
    },
    onResponseEnd: () => end(brokenOff),
    onResponseError: (_, cause) =>
      end(cause instanceof EgressError ? cause : new EgressError({ reason: "connection", cause })),
  }
}

export const layerAgentEgress = (allowPrivate: boolean): Layer.Layer<Egress> =>
  Layer.effect(
    Egress,
    Effect.gen(function* () {
      const agents = new Map<WorkspaceId, Agent>()
      yield* Effect.addFinalizer(() =>
        Effect.promise(() => Promise.all(Array.from(agents.values(), (agent) => agent.destroy()))),
      )
      const agentOf = (workspaceId: WorkspaceId): Agent => {
        const agent = agents.get(workspaceId) ?? openAgent(allowPrivate)
        agents.set(workspaceId, agent)
        return agent
      }
      const targets = new Map<string, URL>()
      const targetOf = (text: string): URL => {
        const target = targets.get(text) ?? new URL(text)
        targets.set(text, target)
        return target
      }
      return Egress.of({
        allows: () => Effect.succeed(true),
        fetch: () => Effect.fail(new EgressError({ reason: "blocked_address" })),
        post: (text, { body, headers, workspaceId }, { maximumBytes, timeoutMillis }) =>
          Effect.callback((resume) => {
            const { origin, pathname, search } = targetOf(text)
            agentOf(workspaceId).dispatch(
              { origin, path: pathname + search, method: "POST", headers, body, idempotent: false },
              answering(maximumBytes, timeoutMillis, resume),
            )
          }),
      })
    }),
  )
