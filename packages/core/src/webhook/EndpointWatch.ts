/**
 * What an operator reads in the log of webhook endpoints: one that begins to fail, one that recovers, and
 * one that the service has stopped. As this process sees it: each worker knows its own attempts.
 */
import { Effect } from "effect"
import type { WebhookId, WorkspaceId } from "../Ids.ts"
import { logThrottled } from "../monitoring/rareLog.ts"
import type { ClaimedDelivery, DeliveryResult } from "../queue/DeliveryQueue.ts"
import { WebhookStore } from "./WebhookStore.ts"

/** Failing endpoints that are known at a time. With more, all are said to fail once more. */
const mostFailing = 10_000

export interface EndpointWatch {
  /** Remembers whose endpoint it is where an attempt has failed. */
  performed(claimed: ClaimedDelivery, result: DeliveryResult): void
  /** Says what these attempts changed, once they are recorded. */
  recorded(results: ReadonlyArray<DeliveryResult>): Effect.Effect<void>
}

export const makeEndpointWatch: Effect.Effect<EndpointWatch, never, WebhookStore> = Effect.gen(
  function* () {
    const store = yield* WebhookStore
    /** Endpoints whose latest attempt failed, and whether that was said. */
    const failing = new Map<number, { readonly workspaceId: WorkspaceId; isSaid: boolean }>()

    /** An event is out of attempts; whether the endpoint stopped for it is the store's to say. */
    const logIfStopped = Effect.fnUntraced(
      function* (endpoint: number, workspaceId: WorkspaceId) {
        const found = yield* store.get({ workspaceId, mode: null }, endpoint as WebhookId)
        if (found === null || found.disabledReason !== "delivery_failures") return
        failing.delete(endpoint)
        yield* logThrottled("webhook endpoint stopped", {
          endpoint,
          reason: found.disabledReason,
        })
      },
      // What is asked for the log alone is not asked again.
      (logged) => Effect.ignore(logged),
    )

    const logResult = (result: DeliveryResult): Effect.Effect<void> => {
      const { error, kind, responseStatus, stopUnlessDeliveredSince, targetId } = result
      if (kind !== "webhook") return Effect.void
      const known = failing.get(targetId)
      if (known === undefined) return Effect.void
      if (error === null) {
        failing.delete(targetId)
        return known.isSaid
          ? logThrottled("webhook endpoint recovered", { endpoint: targetId })
          : Effect.void
      }
      const isNew = !known.isSaid
      known.isSaid = true
      const fails = isNew
        ? logThrottled("webhook endpoint fails", {
            endpoint: targetId,
            error,
            status: responseStatus,
          })
        : Effect.void
      return stopUnlessDeliveredSince === null
        ? fails
        : Effect.andThen(fails, logIfStopped(targetId, known.workspaceId))
    }

    return {
      performed: ({ workspaceId }, { error, kind, targetId }) => {
        if (kind !== "webhook" || error === null || failing.has(targetId)) return
        if (failing.size >= mostFailing) failing.clear()
        failing.set(targetId, { workspaceId, isSaid: false })
      },
      recorded: (results) =>
        Effect.suspend(() => {
          let logs: Effect.Effect<void> = Effect.void
          if (failing.size === 0) return logs
          for (const result of results) {
            const log = logResult(result)
            if (log !== Effect.void) logs = Effect.andThen(logs, log)
          }
          return logs
        }),
    }
  },
)
