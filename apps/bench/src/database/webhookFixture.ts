/** Webhook endpoints, and events that wait to be delivered to them. */
import type { EventId } from "@messaging-service/core"
import { Effect } from "effect"
import { bodyOfSent } from "../queues/sentMessage.ts"
import type { BenchDatabase } from "./BenchDatabase.ts"

export interface Endpoint {
  readonly id: number
  readonly url: string
  readonly secretSalt: string
}

/** An event as the outbox keeps it. */
export interface WaitingEvent {
  readonly id: string
  readonly body: string
}

const addEndpoints = `
with made as (
  insert into webhook_endpoints (
    workspace_id, key_id, mode, url, description, events, secret_salt, secret_last4,
    first_secret_last4, created_at
  )
  select
    place, place, 'live', $2::text || '/endpoints/' || place, '', array['message.sent'],
    lpad(place::text, 32, '0'), '0000', '0000', timestamptz '2026-01-01T00:00:00Z'
  from generate_series(1, $1::integer) place
  order by place
  returning *
),
lane as (
  insert into webhook_lanes (endpoint_id, delivered_since)
  select made.id, made.created_at
  from made
)
select made.id, made.url, made.secret_salt
from made
order by made.id`

/** Endpoints 1 to `count`, one for each of the workspaces with these ids, at paths of that origin. */
export const loadEndpoints = (database: BenchDatabase, count: number, origin: string) =>
  Effect.map(database.query(addEndpoints, [count, origin]), (rows): ReadonlyArray<Endpoint> =>
    rows.map((row) => ({
      id: Number(row["id"]),
      url: String(row["url"]),
      secretSalt: String(row["secret_salt"]),
    })),
  )

/** Different events, with bodies as the service makes them. */
export const makeEvents = (count: number): ReadonlyArray<WaitingEvent> =>
  Array.from({ length: count }, (_, index) => {
    const position = index + 1
    const id = `evt_${String(position).padStart(24, "0")}` as EventId
    const message = {
      id: position,
      workspaceId: 1,
      numberId: 1,
      phone: "+15551234567",
      transportId: String(position).padStart(20, "0"),
      createdAt: Date.UTC(2026, 0, 1),
    }
    return { id, body: bodyOfSent(message, id) }
  })

/** Nothing else waits, nothing was delivered; the events are dealt out to the endpoints in turn. */
export const loadDeliveries = Effect.fnUntraced(function* loadDeliveries(
  database: BenchDatabase,
  endpoints: number,
  events: ReadonlyArray<WaitingEvent>,
) {
  yield* database.query("truncate outbox, webhook_deliveries, webhook_marks, webhook_attempts")
  yield* database.query(
    `with announced as (
      insert into outbox (id, workspace_id, message_id, created_at, event_id, type, mode, body)
      select
        e.place, 1 + (e.place - 1) % $3::bigint, e.place,
        $4::timestamptz - interval '1 hour' + e.place * interval '1 ms', e.id, 'message.sent',
        'live', e.body
      from unnest($1::text[], $2::text[]) with ordinality e (id, body, place)
      returning id, workspace_id, created_at, event_id, type
    )
    insert into webhook_deliveries (endpoint_id, outbox_id, due_at, event_id, type)
    select announced.workspace_id, announced.id, announced.created_at, announced.event_id,
      announced.type
    from announced
    order by announced.id`,
    [events.map(({ id }) => id), events.map(({ body }) => body), endpoints, new Date()],
  )
  yield* database.query(
    `update webhook_lanes l
    set held_ids = '{}', held_leases = '{}', held_until = '{}',
      next_due = (
        select min(d.due_at)
        from webhook_deliveries d
        where d.endpoint_id = l.endpoint_id
      )`,
  )
  yield* database.query(
    "vacuum analyze outbox, webhook_deliveries, webhook_lanes, webhook_attempts, webhook_endpoints",
  )
})
