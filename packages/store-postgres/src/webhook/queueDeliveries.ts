/**
 * Queueing deliveries in the commit that they report: an event's to webhook endpoints, and a callback.
 * It only inserts, so that those who write for one target do not wait for one another; the claim
 * counts how many of a target go out at once.
 *
 * A lane that got a delivery is marked in `webhook_marks`; a claim takes the marks and looks at those
 * lanes anew.
 */
import type { Callback } from "@messaging-service/core"
import { Effect } from "effect"
import type { Scope } from "effect"
import { bigint, columnsOf, instant, listed, text, within, without } from "../database/Fields.ts"
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

/** The core's `isRunning`. Index `webhook_endpoints_running` holds these endpoints alone. */
export const isRunning = (endpoint: string): string =>
  `(${endpoint}.disabled_reason is null and ${endpoint}.removed_at is null)`

/** Whether the endpoint asked for events of that type. */
export const subscribes = (endpoint: string, event: string): string =>
  `${event}.type = any (${endpoint}.events)`

/** The core's `isToldOf`, of an endpoint that is not removed. */
export const isToldOf = (endpoint: string, event: string): string =>
  `${endpoint}.workspace_id = ${event}.workspace_id
        and ${endpoint}.mode = ${event}.mode
        and ${isRunning(endpoint)}
        and ${subscribes(endpoint, event)}`

/**
 * Two parts of a `with`, after the part `announced`, which returns the outbox rows that it wrote. The
 * first, `queued`, holds a row for each delivery. Index `webhook_endpoints_running`; without such an
 * endpoint that look is all it costs.
 */
export const fanOut = `queued as (
      insert into webhook_deliveries (endpoint_id, outbox_id, due_at, event_id, type)
      select e.id, announced.id, announced.created_at, announced.event_id, announced.type
      from announced
      join webhook_endpoints e on ${isToldOf("e", "announced")}
      returning endpoint_id
    ),
    marked as (
      insert into webhook_marks (lane_id)
      select distinct queued.endpoint_id
      from queued
    )`

/** After that and `writeCallbacks`: whether there is something to deliver. */
export const anyQueued = "exists (select from queued) or exists (select from called)"

/** A message's callback, as functions take it that end messages. All else its event says. */
export const callbackColumns = columnsOf({
  target: { callback_target: text((callback) => callback.target) },
  url: { callback_url: text((callback) => callback.url) },
  body: { callback_body: text((callback) => callback.body) },
} satisfies FieldsOf<Pick<Callback, "target" | "url" | "body">>)

/**
 * The lane of a workspace's callbacks to that target: 52 bits of a hash, below zero. Two targets that
 * meet in one share its five calls, and nothing worse.
 */
const laneOf = (workspace: string, target: string): string =>
  `-1 - ('x' || left(encode(sha256(convert_to(
        ${workspace} || ' ' || ${target}, 'UTF8'
      )), 'hex'), 13))::bit(52)::bigint`

const columns = "endpoint_id, workspace_id, url, due_at, event_id, type, body"

/** A part of a `with`, after the part `called`: marks the lanes that got a callback. */
export const markCallbackLanes = `insert into webhook_marks (lane_id, workspace_id)
      select distinct called.endpoint_id, called.workspace_id
      from called`

/**
 * Two parts of a `with`, after the part `ended`, which returns the messages that came to their end. The
 * first, `called`, holds a row for each callback. The message's lane is locked, and so is every lane of
 * a workspace that is being deleted: either the deletion sees the callback, or this sees the deletion.
 */
export const writeCallbacks = `called as (
      insert into webhook_deliveries (${columns})
      select
        ${laneOf("ended.workspace_id", "ended.callback_target")},
        ended.workspace_id, ended.callback_url, ended.event_at, ended.event_id, ended.event_type,
        ended.callback_body
      from ended
      where ended.callback_url is not null
        -- Asked of these alone: without callbacks nothing is joined.
        and (
          select w.deleted_at is null
          from workspaces w
          where w.id = ended.workspace_id
        )
      order by ended.place
      returning endpoint_id, workspace_id
    ),
    marked_callbacks as (
      ${markCallbackLanes}
    )`

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

/** A part of a `with`: the callback of these values, and from where on it depends. */
export const callConnection = (value: (name: string) => string, from: string): string => {
  const rest = without(connectionColumns, "workspace", "target")
  return `called as (
      insert into webhook_deliveries (${columns})
      select ${laneOf(value("workspace"), value("target"))}, ${value("workspace")}, ${listed(rest, value)}
      ${from}
      returning endpoint_id, workspace_id
    )`
}

/** The core's `isReportedTo`. */
export const isReportedTo = (number: string, url: string): string =>
  `(${number}.callback_url = ${url} and ${number}.removed_at is null)`

/**
 * A statement that writes the callback of these parameters, if there is one and the number still
 * reports there. The number's lane is locked.
 */
export const report = (number: string, event: string): string => `with ${callConnection(
  (name) => `p_${event}_${name}`,
  `from numbers n
      where n.id = ${number}
        and ${isReportedTo("n", `p_${event}_url`)}`,
)}
      ${markCallbackLanes};`
