/**
 * Queueing deliveries in the commit that they report: an event's to webhook endpoints, and a callback.
 * It only inserts, so that those who write for one target do not wait for one another; the claim
 * counts how many of a target go out at once.
 *
 * A lane that got a delivery is marked in `webhook_marks`; a claim takes the marks and looks at those
 * lanes again.
 */
import type { Callback } from "@messaging-service/core"
import { Effect } from "effect"
import type { Scope } from "effect"
import { bigint, columnsOf, instant, text, within } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { single } from "../database/Statement.ts"
import type { Parameters } from "../database/Statement.ts"

/** Tells that a commit of this process has queued deliveries. */
export class DeliveriesQueued {
  readonly #listeners = new Set<Effect.Effect<void>>()

  /** After the commit. */
  readonly tell: Effect.Effect<void> = Effect.suspend(() =>
    Effect.all(this.#listeners, { discard: true }),
  )

  readonly whenQueued = (tell: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => this.#listeners.add(tell)),
      () => Effect.sync(() => this.#listeners.delete(tell)),
    )
}

/** A message's callback, as functions take it that end messages. All else its event says. */
export const callbackColumns = columnsOf({
  target: { callback_target: text((callback) => callback.target) },
  url: { callback_url: text((callback) => callback.url) },
  body: { callback_body: text((callback) => callback.body) },
} satisfies FieldsOf<Pick<Callback, "target" | "url" | "body">>)

const connectionColumns = columnsOf({
  workspaceId: { workspace: bigint((callback) => callback.workspaceId) },
  target: { target: text((callback) => callback.target) },
  url: { url: text((callback) => callback.url) },
  createdAt: { created_at: instant((callback) => callback.createdAt) },
  eventId: { event_id: text((callback) => callback.eventId) },
  type: { type: text((callback) => callback.type) },
  body: { body: text((callback) => callback.body) },
} satisfies FieldsOf<Callback>)

/** Parameters for the callback of one event of a connection, if there is one. */
export const connectionParameters = <In>(
  event: string,
  callback: (input: In) => Callback | null,
): Parameters<In> => single(within(callback, connectionColumns), `p_${event}_`)

/** The same for the one callback that a change may have. */
export const callbackParameters = connectionParameters(
  "new",
  ({ callback }: { readonly callback: Callback | null }) => callback,
)
