/**
 * Queueing an event's deliveries in the commit that writes the event: one for each endpoint that
 * runs in the event's workspace and mode and subscribed to its type. Index
 * `webhook_endpoints_running`; without such an endpoint that look is all it costs.
 */

/** The core's `isToldOf`, of an endpoint that is not removed. */
export const isToldOf = (endpoint: string, event: string): string =>
  `${endpoint}.workspace_id = ${event}.workspace_id
        and ${endpoint}.mode = ${event}.mode
        and ${endpoint}.disabled_reason is null
        and ${endpoint}.removed_at is null
        and ${event}.type = any (${endpoint}.events)`

/**
 * Two parts of a `with`, after the part `announced`, which returns the outbox rows that it wrote. The
 * first, `queued`, holds a row for each delivery.
 */
export const fanOut = `queued as (
      insert into webhook_deliveries (endpoint_id, outbox_id, due_at, event_id, type)
      select e.id, announced.id, announced.created_at, announced.event_id, announced.type
      from announced
      join webhook_endpoints e on ${isToldOf("e", "announced")}
      returning endpoint_id
    ),
    told as (
      insert into webhook_news (endpoint_id)
      select distinct queued.endpoint_id
      from queued
    )`

/** After that and `writeCallbacks`: whether there is something to deliver. */
export const anyQueued = "exists (select from queued) or exists (select from called)"
