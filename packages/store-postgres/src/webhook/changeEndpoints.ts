/**
 * What changes endpoints: making one, letting a stopped one run again, queueing one more delivery, and
 * stopping and removing, which end what is pending in the same commit. An event that is being written
 * meanwhile may still queue a delivery: the claim that takes its mark drops it.
 *
 * Locks: the claim, then the key, then the workspace, so that two of a workspace count one after the
 * other and none is missed by a revocation or a deletion; then the lanes by endpoint; then the
 * endpoints.
 */
import type { NewWebhook } from "@messaging-service/core"
import { bigint, columnsOf, instant, integer, listed, text, texts } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { joined, part, single, sqlFunction, taking } from "../database/Statement.ts"
import { claimParameters, finishesClaim, isClaimHeld } from "../PostgresIdempotency.ts"
import { isRunning, subscribes } from "./queueDeliveries.ts"

/** What is written of a new endpoint. */
export const newFields = {
  workspaceId: { workspace_id: bigint((endpoint) => endpoint.workspaceId) },
  mode: { mode: text((endpoint) => endpoint.mode) },
  keyId: { key_id: bigint((endpoint) => endpoint.keyId) },
  url: { url: text((endpoint) => endpoint.url) },
  description: { description: text((endpoint) => endpoint.description) },
  events: { events: texts((endpoint) => endpoint.events) },
  secretSalt: { secret_salt: text((endpoint) => endpoint.secretSalt) },
  secretLast4: { secret_last4: text((endpoint) => endpoint.secretLast4) },
  createdAt: { created_at: instant((endpoint) => endpoint.createdAt) },
} satisfies FieldsOf<NewWebhook>

const newColumns = columnsOf(newFields)

/** The core's `holdsAllEndpoints`, of a workspace whose row is locked. */
export const holdsAllEndpoints = (workspace: string, limit: string): string => `${limit} <= (
      select count(*)
      from webhook_endpoints e
      where e.workspace_id = ${workspace}
        and ${isRunning("e")}
    )`

/** The core's `deliveredSinceAfter` and `isSilent`, of a lane and when it was last delivered to. */
export const deliveredSinceAfter = (lane: string, deliveredAt: string): string =>
  `greatest(${lane}.delivered_since, ${deliveredAt})`

export const isSilent = (deliveredSince: string, stopUnlessDeliveredSince: string): string =>
  `${deliveredSince} <= ${stopUnlessDeliveredSince}`

/** When the latest of attempts was delivered, as far as their leases hold; null when none was. */
export const lastDeliveredAt = (attempt: string): string =>
  `max(${attempt}.attempted_at) filter (where ${attempt}.delivery_id > 0 and ${attempt}.error is null)`

/** The endpoint's id, or which guard broke. */
export const insertEndpoint = sqlFunction(
  "insert_webhook_endpoint",
  joined(part("endpoint", single(newColumns, "p_")), taking({ limit: integer }), claimParameters),
  "table (guard text, id bigint)",
)`
  declare
    v_id bigint;
  begin
    if not ${isClaimHeld} then
      return query select 'idempotency', v_id;
      return;
    end if;

    if p_key_id is not null then
      perform
      from api_keys k
      where k.id = p_key_id
        and k.revoked_at is null
      for share;
      if not found then
        return query select 'key', v_id;
        return;
      end if;
    end if;

    perform
    from workspaces w
    where w.id = p_workspace_id
      and w.deleted_at is null
    for no key update;
    if not found or ${holdsAllEndpoints("p_workspace_id", "p_limit")} then
      return query select 'limit', v_id;
      return;
    end if;

    insert into webhook_endpoints (first_secret_last4, ${listed(newColumns)})
    values (p_secret_last4, ${listed(newColumns, (name) => `p_${name}`)})
    returning webhook_endpoints.id into v_id;
    insert into webhook_lanes (endpoint_id, delivered_since)
    values (v_id, p_created_at);
    ${finishesClaim("array[v_id]", "p_created_at")};
    return query select null, v_id;
  end`

/** The core's `canBeRedelivered`. */
export const canBeRedelivered = (event: string, endpoint: string): string =>
  `${event}.workspace_id = ${endpoint}.workspace_id
      and ${event}.mode = ${endpoint}.mode
      and ${subscribes(endpoint, event)}
      and ${event}.created_at >= ${endpoint}.created_at`

const ofEndpoint = { workspaceId: bigint, mode: text, id: bigint }

/** How the endpoint stands, once its lane is locked: `running`, `stopped` or `no endpoint`. */
const lockEndpoint = sqlFunction(
  "lock_webhook_endpoint",
  "p_workspace_id bigint, p_mode text, p_id bigint",
  "text",
)`
  begin
    perform
    from webhook_lanes l
    where l.endpoint_id = p_id
    for no key update;

    return coalesce(
      (
        select case when ${isRunning("e")} then 'running' else 'stopped' end
        from webhook_endpoints e
        where e.id = p_id
          and e.workspace_id = p_workspace_id
          and (p_mode is null or e.mode = p_mode)
          and e.removed_at is null
      ),
      'no endpoint'
    );
  end`

const lockIt = `${lockEndpoint.name}(p_workspace_id, p_mode, p_id)`

/** What became of it: `running`, `limit` or `no endpoint`. */
export const resumeEndpoint = sqlFunction(
  "resume_webhook_endpoint",
  taking({ ...ofEndpoint, limit: integer, now: instant }),
  "text",
)`
  declare
    v_state text;
  begin
    perform
    from workspaces w
    where w.id = p_workspace_id
      and w.deleted_at is null
    for no key update;
    if not found then
      return 'no endpoint';
    end if;

    v_state := ${lockIt};
    if v_state <> 'stopped' then
      return v_state;
    end if;
    if ${holdsAllEndpoints("p_workspace_id", "p_limit")} then
      return 'limit';
    end if;

    update webhook_endpoints e
    set disabled_reason = null
    where e.id = p_id;
    update webhook_lanes l
    set delivered_since = p_now
    where l.endpoint_id = p_id;
    return 'running';
  end`

/** Like the next, it returns the event's type, or how the endpoint stands. */
export const queuePing = sqlFunction(
  "queue_webhook_ping",
  taking({ ...ofEndpoint, eventId: text, createdAt: instant, body: text }),
  "text",
)`
  declare
    v_state constant text := ${lockIt};
  begin
    if v_state <> 'running' then
      return v_state;
    end if;
    insert into webhook_deliveries (endpoint_id, due_at, event_id, type, body)
    values (p_id, p_created_at, p_event_id, 'ping', p_body);
    update webhook_lanes l
    set next_due = least(l.next_due, p_created_at)
    where l.endpoint_id = p_id;
    return 'ping';
  end`

/** Or `no event`. */
export const redeliverEvent = sqlFunction(
  "redeliver_webhook_event",
  taking({ ...ofEndpoint, eventId: text, now: instant }),
  "text",
)`
  declare
    v_state constant text := ${lockIt};
    v_event record;
    v_replaced bigint[];
  begin
    if v_state <> 'running' then
      return v_state;
    end if;

    -- Index outbox_by_event_id.
    select o.id as outbox_id, o.type, null::text as body
    into v_event
    from outbox o
    join webhook_endpoints e on e.id = p_id
    where o.event_id collate "C" = p_event_id
      and ${canBeRedelivered("o", "e")}
    -- Its erasure waits, and then sees this delivery.
    for key share of o;
    if not found then
      -- Index webhook_attempts_of_pings. A ping is in no outbox; its attempts keep its body.
      select null::bigint as outbox_id, a.type, a.body
      into v_event
      from webhook_attempts a
      where a.event_id collate "C" = p_event_id
        and a.endpoint_id = p_id
        and a.type = 'ping'
      limit 1;
    end if;
    if not found then
      return 'no event';
    end if;

    with replaced as (
      delete from webhook_deliveries d
      where d.endpoint_id = p_id
        and d.event_id = p_event_id
      returning d.id, d.last_attempt_id
    ),
    forgotten as (
      update webhook_attempts a
      set next_attempt_at = null
      from replaced
      where a.id = replaced.last_attempt_id
    )
    select coalesce(array_agg(replaced.id), '{}')
    into v_replaced
    from replaced;

    insert into webhook_deliveries (endpoint_id, outbox_id, due_at, event_id, type, body)
    values (p_id, v_event.outbox_id, p_now, p_event_id, v_event.type, v_event.body);

    update webhook_lanes l
    set next_due = least(l.next_due, p_now),
      held_ids = rest.ids,
      held_leases = rest.leases,
      held_until = rest.until
    from webhook_lanes before
    cross join lateral (
      select
        coalesce(array_agg(held.id), '{}') as ids,
        coalesce(array_agg(held.lease), '{}') as leases,
        coalesce(array_agg(held.until), '{}') as until
      from unnest(before.held_ids, before.held_leases, before.held_until) held (id, lease, until)
      where held.id <> all (v_replaced)
    ) rest
    where before.endpoint_id = p_id
      and l.endpoint_id = p_id;
    return v_event.type;
  end`

/** Ends everything that is to be delivered to these endpoints; their lanes are locked. */
const endPending = sqlFunction("end_webhook_deliveries", "p_endpoints bigint[]", "void")`
  begin
    with ended as (
      delete from webhook_deliveries d
      where d.endpoint_id = any (p_endpoints)
      returning d.last_attempt_id
    )
    update webhook_attempts a
    set next_attempt_at = null
    from ended
    where a.id = ended.last_attempt_id;

    update webhook_lanes l
    set next_due = null,
      held_ids = '{}',
      held_leases = '{}',
      held_until = '{}'
    where l.endpoint_id = any (p_endpoints);
  end`

/** Ends those of them that have not ended, with what is pending: their ids are in `v_ended`. */
const endThem = (change: string, hasNotEnded: string): string => `perform
    from webhook_lanes l
    where l.endpoint_id = any (p_endpoints)
    order by l.endpoint_id
    for no key update;

    with ended as (
      update webhook_endpoints e
      set ${change}
      where e.id = any (p_endpoints)
        and ${hasNotEnded}
      returning e.id
    )
    select array_agg(ended.id)
    into v_ended
    from ended;
    if v_ended is not null then
      perform ${endPending.name}(v_ended);
    end if;`

/** Stops those of them that run. */
export const stopEndpoints = sqlFunction(
  "stop_webhook_endpoints",
  "p_endpoints bigint[], p_reason text",
  "void",
)`
  declare
    v_ended bigint[];
  begin
    ${endThem("disabled_reason = p_reason", isRunning("e"))}
  end`

/** Removes them; their log goes when it is old enough. Returns how many there were. */
export const removeEndpoints = sqlFunction(
  "remove_webhook_endpoints",
  "p_endpoints bigint[], p_now timestamptz",
  "integer",
)`
  declare
    v_ended bigint[];
  begin
    ${endThem("removed_at = p_now", "e.removed_at is null")}
    delete from webhook_lanes l
    where l.endpoint_id = any (v_ended);
    return coalesce(cardinality(v_ended), 0);
  end`

export const endpointFunctions = [
  insertEndpoint,
  lockEndpoint,
  resumeEndpoint,
  queuePing,
  redeliverEvent,
  endPending,
  stopEndpoints,
  removeEndpoints,
]
