/**
 * The delivery loop: the calls that are due of webhook endpoints and of the receivers of callbacks. One
 * whose outcome was not recorded is made again when its lease runs out: at least once.
 */
import { Context, Effect, Layer } from "effect"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { WorkspaceId } from "../id/Ids.ts"
import { crowdedOf } from "../limit/Held.ts"
import { sharedResources } from "../limit/sharedResources.ts"
import { DeliveryQueue } from "../queue/DeliveryQueue.ts"
import type {
  ClaimedDelivery,
  DeliveryQuery,
  DeliveryResult,
  TargetKind,
} from "../queue/DeliveryQueue.ts"
import { DeliveryCall } from "../webhook/DeliveryCall.ts"
import { endpointLimit } from "../webhook/WebhookEndpoint.ts"
import { makeLeasedLoop } from "./LeasedWork.ts"
import type { LeasedLoop } from "./LeasedWork.ts"

/** How long a call stays claimed, in service time: what it may take, and some to record it. */
export const deliveryLeaseMillis = 20_000

/** Of a hundred receivers all that each may get, which costs little more than one. */
const batch = 512

/** Calls at once to one target (contract: Deliveries). */
export const callsPerTarget = 5

const { callbackCalls, receiverCalls } = sharedResources

/** Calls at once of one workspace. */
const perWorkspace: Readonly<Record<TargetKind, number>> = {
  webhook: endpointLimit * callsPerTarget,
  callback: callbackCalls.share.most,
}

type Kind = Pick<ClaimedDelivery, "kind" | "workspaceId">

/** The calls that a loop has under way. */
const makeUnderWay = () => {
  const counts = {
    webhook: new Map<WorkspaceId, number>(),
    callback: new Map<WorkspaceId, number>(),
  }
  const countOf = ({ kind, workspaceId }: Kind): number => counts[kind].get(workspaceId) ?? 0

  const end = (call: Kind): void => {
    const rest = countOf(call) - 1
    if (rest > 0) counts[call.kind].set(call.workspaceId, rest)
    else counts[call.kind].delete(call.workspaceId)
  }

  /** Counts a call; false when its workspace has its share under way already. */
  const begin = (call: Kind): boolean => {
    const count = countOf(call)
    if (count >= perWorkspace[call.kind]) return false
    counts[call.kind].set(call.workspaceId, count + 1)
    return true
  }

  const clear = (): void => {
    counts.webhook.clear()
    counts.callback.clear()
  }

  return { callbacks: counts.callback as ReadonlyMap<WorkspaceId, number>, begin, end, clear }
}

export class Deliverer extends Context.Service<Deliverer, LeasedLoop>()("core/Deliverer") {
  static readonly layer = Layer.effect(
    Deliverer,
    Effect.gen(function* () {
      const queue = yield* DeliveryQueue
      const { make } = yield* DeliveryCall
      const underWay = makeUnderWay()
      let claimsCallbacks = false

      const bounds = (limit: number): Pick<DeliveryQuery, "perTarget" | "callbacks"> => ({
        perTarget: callsPerTarget,
        callbacks: {
          limit,
          perWorkspace: perWorkspace.callback,
          held: new Map(underWay.callbacks),
        },
      })

      const roomForCallbacks = (): number => {
        let room = callbackCalls.whole
        for (const count of underWay.callbacks.values()) room -= count
        return Math.max(0, room)
      }

      /**
       * Claims what the bounds allow. Of two claims at once one takes no callbacks: neither knows
       * what the other takes. What claims cannot count are calls of endpoints that were removed
       * meanwhile, which still hang: with those beside it a call above the share is not made, and
       * handed out again when its lease runs out.
       */
      const claimWith = (
        claim: (
          given: ReturnType<typeof bounds>,
        ) => Effect.Effect<ReadonlyArray<ClaimedDelivery>, StoreUnavailable>,
      ) =>
        Effect.suspend(() => {
          if (claimsCallbacks) return claim(bounds(0))
          claimsCallbacks = true
          return Effect.ensuring(
            claim(bounds(roomForCallbacks())),
            Effect.sync(() => {
              claimsCallbacks = false
            }),
          )
        }).pipe(Effect.map((claimed) => claimed.filter(underWay.begin)))

      const { run, runOnce } = yield* makeLeasedLoop<ClaimedDelivery, DeliveryResult>({
        work: "deliveries",
        capacity: receiverCalls,
        batch,
        leaseMillis: deliveryLeaseMillis,
        workspaceOf: ({ workspaceId }) => workspaceId,
        claim: (query) => claimWith((given) => queue.claim({ ...query, ...given })),
        perform: (claimed) =>
          Effect.ensuring(
            make(claimed),
            Effect.sync(() => underWay.end(claimed)),
          ),
        settle: queue.settle,
        refill: {
          settleAndClaim: (results, query) =>
            claimWith((given) => queue.settleAndClaim(results, { ...query, ...given })),
          isPutOff: ({ nextAttemptAt }) => nextAttemptAt !== null,
        },
        crowded: () => crowdedOf(underWay.callbacks, callbackCalls),
      })
      return Deliverer.of({
        runOnce,
        // What a stopping loop had claimed and not begun did not end.
        run: Effect.andThen(Effect.sync(underWay.clear), run),
      })
    }),
  )
}
