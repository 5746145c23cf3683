/**
 * What statements that queue deliveries share: their parameters for a callback, and word to this
 * process's loops after the commit. The functions of `sql/` insert the deliveries, and mark their lanes
 * in `webhook_marks`, which a claim takes. They only insert, so writers for one target do not wait for
 * one another; the claim counts how many of a target go out at once.
 */
import type { Callback } from "@messaging-service/core"
import { Effect } from "effect"
import type { Scope } from "effect"
/** Tells that a commit of this process has queued deliveries. */
export class DeliveriesQueued {
  readonly #listeners = new Set<Effect.Effect<void>>()

  /** After the commit. */
  readonly notify: Effect.Effect<void> = Effect.suspend(() => this.#reportAll())

  #reportAll(): Effect.Effect<void> {
    return Effect.all(this.#listeners, { discard: true })
  }

  readonly whenQueued = (notify: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => this.#listeners.add(notify)),
      () => Effect.sync(() => this.#listeners.delete(notify)),
    )
}

/** The callback of one event of a connection, as functions and statements take it. */
type CallbackParams<Event extends string> = {
  readonly [Name in `${Event}${"Target" | "Url" | "EventId" | "Type" | "Body"}`]: string | null
} & {
  readonly [Name in `${Event}${"Workspace" | "CreatedAt"}`]: number | null
}

export const toCallbackParams = <const Event extends string>(
  event: Event,
  callback: Callback | null,
): CallbackParams<Event> =>
  ({
    [`${event}Workspace`]: callback?.workspaceId ?? null,
    [`${event}Target`]: callback?.target ?? null,
    [`${event}Url`]: callback?.url ?? null,
    [`${event}CreatedAt`]: callback?.createdAt ?? null,
    [`${event}EventId`]: callback?.eventId ?? null,
    [`${event}Type`]: callback?.type ?? null,
    [`${event}Body`]: callback?.body ?? null,
  }) as CallbackParams<Event>

/** The same of the one callback that a change may have. */
export const newCallback = (callback: Callback | null): CallbackParams<"new"> =>
  toCallbackParams("new", callback)
