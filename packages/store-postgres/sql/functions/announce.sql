-- What is announced, as a rule of a message that ended. The statement that ends it draws the position of its event,
-- which the message keeps too.
create type announcement as (
  event_position bigint,
  message_id bigint,
  workspace_id bigint,
  mode text,
  event_id text,
  event_type text,
  event_at timestamptz,
  event_body text,
  callback_target text,
  callback_url text,
  callback_body text,
  received_message_id bigint
);

-- Writes the events of messages that ended, queues their deliveries to the endpoints that subscribe to them and to
-- the messages' own callbacks, and marks the lanes of both. Whether deliveries were queued.
create function announce(p_ended announcement[]) returns boolean
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_queued boolean;
begin
  with ended as (
    select *
    from unnest(p_ended)
    order by event_position
    limit cardinality(p_ended)
  ),
  announced as (
    insert into outbox (
      id, workspace_id, message_id, created_at, event_id, type, mode, body, received_message_id
    )
    select
      ended.event_position, ended.workspace_id, ended.message_id, ended.event_at, ended.event_id, ended.event_type,
      ended.mode, ended.event_body, ended.received_message_id
    from ended
    returning id, workspace_id, mode, created_at, event_id, type
  ),
  queued as (
    insert into webhook_deliveries (
      endpoint_id, outbox_id, due_at, event_id, type, beside_received
    )
    select
      e.id, announced.id, announced.created_at, announced.event_id, announced.type,
      is_beside_received(e, announced.type)
    from announced
    join webhook_endpoints e on is_told_of(
      e, announced.workspace_id, announced.mode, announced.type
    )
    returning endpoint_id
  ),
  marked as (
    insert into webhook_marks (lane_id)
    select distinct queued.endpoint_id
    from queued
  ),
  called as (
    insert into webhook_deliveries (
      endpoint_id, outbox_id, workspace_id, url, due_at, event_id, type, body
    )
    select
      callback_lane(ended.workspace_id, ended.callback_target), ended.event_position,
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
    returning endpoint_id, workspace_id
  ),
  marked_callbacks as (
    insert into webhook_marks (lane_id, workspace_id)
    select distinct called.endpoint_id, called.workspace_id
    from called
  )
  select exists (select from queued) or exists (select from called)
  into v_queued;
  return v_queued;
end
$$;
