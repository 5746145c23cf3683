/**
 * From a link's host to the addresses that may be called, all of them checked: the rule of who may be
 * reached is asked of what a name resolves to, not of the name.
 *
 * Look-ups of one name that are under way at the same time are one look-up, and a workspace has a
 * bounded number of them: names whose servers are silent delay their own workspace alone.
 */
import {
  EgressError,
  isPublicAddress,
  makePlaces,
  sharedResources,
} from "@messaging-service/core/ports"
import type { OutboundRule, WorkspaceId } from "@messaging-service/core/ports"
import { Effect, Fiber } from "effect"
import type { Scope } from "effect"
import { isIP } from "node:net"

/** All addresses of a host name. Fails with `dns` when there is none. */
export type Resolver = (hostname: string) => Effect.Effect<ReadonlyArray<string>, EgressError>

/** A look-up for a workspace, of whose share it takes. */
export type LookUp = (hostname: string, workspaceId: WorkspaceId) => ReturnType<Resolver>

interface UnderWay {
  readonly answer: Fiber.Fiber<ReadonlyArray<string>, EgressError>
  /** Those that wait for the answer: without any it is not asked for any longer. */
  waiting: number
}

/** Look-ups that share a resolver. What is under way ends with the scope. */
export const sharedLookUps = (resolve: Resolver): Effect.Effect<LookUp, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const places = makePlaces<WorkspaceId>(sharedResources.nameLookUps)
    const underWay = new Map<string, UnderWay>()

    const begin = (hostname: string) =>
      Effect.gen(function* () {
        const answer: UnderWay["answer"] = yield* Effect.suspend(() => resolve(hostname)).pipe(
          Effect.interruptible,
          Effect.forkIn(scope),
        )
        const begun: UnderWay = { answer, waiting: 0 }
        underWay.set(hostname, begun)
        answer.addObserver(() => forget(hostname, begun))
        return begun
      })

    const forget = (hostname: string, ended: UnderWay) => {
      if (underWay.get(hostname) === ended) underWay.delete(hostname)
    }

    const join = (hostname: string) =>
      Effect.gen(function* () {
        const joined = underWay.get(hostname) ?? (yield* begin(hostname))
        joined.waiting++
        return joined
      })

    const leave = (hostname: string, left: UnderWay) =>
      Effect.suspend(() => {
        left.waiting--
        if (left.waiting > 0) return Effect.void
        forget(hostname, left)
        return Fiber.interrupt(left.answer)
      })

    return (hostname, workspaceId) =>
      Effect.scoped(
        Effect.andThen(
          places.take(workspaceId),
          Effect.acquireUseRelease(
            join(hostname),
            ({ answer }) => Fiber.join(answer),
            (joined) => leave(hostname, joined),
          ),
        ),
      )
  })

/** `hostname` as it stands in a parsed URL. */
export const withoutBrackets = (hostname: string): string =>
  hostname.startsWith("[") ? hostname.slice(1, -1) : hostname

/** Whether the rule lets this address be called. */
export const mayCall = (rule: OutboundRule, address: string): boolean =>
  rule.allowPrivate || isPublicAddress(address)

/**
 * The addresses of a host, resolved once and all of them allowed; a literal is its own address. Fails
 * with `dns`, or with `blocked_address` when a single one may not be called: a name that leads to both
 * sides of the wall is no honest one.
 */
export const callableAddresses = (
  lookUp: LookUp,
  rule: OutboundRule,
  host: string,
  workspaceId: WorkspaceId,
): Effect.Effect<ReadonlyArray<string>, EgressError> =>
  Effect.gen(function* () {
    const addresses = isIP(host) === 0 ? yield* lookUp(host, workspaceId) : [host]
    if (addresses.length === 0) {
      return yield* new EgressError({ reason: "dns", cause: `no address for ${host}` })
    }
    const blocked = addresses.find((address) => isIP(address) === 0 || !mayCall(rule, address))
    return blocked === undefined
      ? addresses
      : yield* new EgressError({ reason: "blocked_address", cause: blocked })
  })
