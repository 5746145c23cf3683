-- Reads all facts of an acceptance in one round trip. Also claims the idempotency key, and caches when a
-- full number has room again.
create function load_acceptance(p_query jsonb)
returns json
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_workspace constant bigint := p_query ->> 'workspaceId';
  -- The modes of the numbers that the key sees.
  v_seen constant text[] := array(select jsonb_array_elements_text(p_query -> 'seen'));
  v_from bigint := p_query ->> 'from';
  v_phones constant jsonb := p_query -> 'phones';
  v_contacts constant jsonb := p_query -> 'contactIds';
  v_chats constant jsonb := p_query -> 'chatIds';
  v_media constant bigint := p_query ->> 'mediaId';
  v_exact constant jsonb := nullif(p_query -> 'exactQuota', 'null');
  v_claim constant jsonb := nullif(p_query -> 'idempotency', 'null');
  v_now constant timestamptz := p_query ->> 'now';
  v_lock_timeout constant text := p_query ->> 'lockTimeout';
  v_row workspaces;
  v_refused json;
  v_facts json;
  v_contact_ids json;
  v_contact_facts json;
  v_chat_facts json;
  v_reply_received constant bigint := p_query #>> '{replyTo,receivedMessageId}';
  v_reply_message constant bigint := p_query #>> '{replyTo,messageId}';
  v_quoted json;
  v_media_facts json;
  v_exact_facts json;
  v_window interval;
  v_planned_at timestamptz;
  v_planned integer;
  v_count integer;
  v_limit integer;
  v_counted bigint;
  v_room_at timestamptz;
begin
  if v_claim is not null then
    -- A transaction of a caller's may hold the claim for long.
    if v_lock_timeout is not null then
      perform set_config('lock_timeout', v_lock_timeout || 'ms', true);
    end if;
    v_refused := claim_idempotency_key(
      (v_claim ->> 'keyId')::bigint, v_claim ->> 'key', v_claim ->> 'fingerprint',
      v_claim ->> 'token', v_now
    );
    if v_refused is not null then
      return json_build_object('claim', v_refused);
    end if;
  end if;

  if jsonb_array_length(v_phones) > 0 then
    -- Index contacts_by_address.
    select json_object_agg(c.address, c.id)
    into v_contact_ids
    from contacts c
    where c.workspace_id = v_workspace
      and c.address in (select asked.phone from jsonb_array_elements_text(v_phones) asked (phone));
  end if;
  if jsonb_array_length(v_contacts) > 0 then
    select json_agg(
      json_build_object(
        'id', c.id, 'workspaceId', c.workspace_id, 'name', c.name, 'phone', c.phone,
        'username', c.username, 'createdAt', epoch_millis(c.created_at)
      )
    )
    into v_contact_facts
    from contacts c
    where c.workspace_id = v_workspace
      and c.id in (select asked.id::bigint from jsonb_array_elements_text(v_contacts) asked (id));
  end if;
  if jsonb_array_length(v_chats) > 0 then
    select
      json_agg(answered.chat),
      coalesce(v_from, (array_agg(answered.number_id order by asked.place))[1])
    into v_chat_facts, v_from
    from jsonb_array_elements_text(v_chats) with ordinality asked (id, place)
    join chats c on c.id = asked.id::bigint
      and c.workspace_id = v_workspace
      and c.mode = p_query ->> 'mode'
    cross join lateral answered_chat(c) answered;
  end if;
  if v_reply_received is not null then
    select json_build_object(
      'numberId', r.number_id, 'isThere', r.revoked_at is null, 'chat', answered.chat, 'to', null
    )
    into v_quoted
    from received_messages r
    cross join lateral shown_received(r) shown
    join chats c on c.id = r.chat_id
    cross join lateral answered_chat(c) answered
    where r.id = v_reply_received
      and r.workspace_id = v_workspace
      and r.mode = p_query ->> 'mode';
  elsif v_reply_message is not null then
    select json_build_object(
      'numberId', m.number_id, 'isThere', has_left(m), 'chat', answered.chat, 'to', json_build_object(
        'to_kind', m.to_kind, 'to_phone', m.to_phone, 'to_name', m.to_name, 'to_contact_id', m.to_contact_id,
        'to_chat_id', m.to_chat_id, 'to_address', m.to_address
      )
    )
    into v_quoted
    from messages m
    left join chats c on c.id = m.to_chat_id
    left join lateral answered_chat(c) answered on true
    where m.id = v_reply_message
      and m.workspace_id = v_workspace
      and m.mode = p_query ->> 'mode';
  end if;
  if v_media is not null then
    select json_build_object(
      'id', m.id, 'workspaceId', m.workspace_id, 'mode', m.mode, 'fileName', m.file_name,
      'type', m.type, 'mimeType', m.mime_type, 'size', m.size, 'storageKey', m.storage_key,
      'createdAt', epoch_millis(m.created_at)
    )
    into v_media_facts
    from media_files m
    where m.id = v_media
      and m.workspace_id = v_workspace
      and m.mode = p_query ->> 'mode'
      and m.state = 'kept';
  end if;
  if v_exact is not null then
    v_window := (v_exact #>> '{planned,limit,windowMillis}')::bigint * interval '1 millisecond';
    v_planned_at := v_exact #>> '{planned,plannedAt}';
    v_count := v_exact #>> '{planned,count}';
    v_limit := v_exact #>> '{planned,limit,messages}';
    v_counted := v_exact ->> 'numberId';
  end if;
  if v_counted is not null then
    select c.planned
    into v_planned
    from count_planned(v_counted, v_planned_at, v_planned_at, v_window, '{}', '{}') c;
    v_room_at := v_planned_at;
    if not fits_exactly(v_planned, v_count, v_limit) then
      v_room_at := quota_room_at(v_counted, v_planned_at, v_count, v_limit, v_window);
      -- Remembered to spare the next sender a count, but not while the lane is locked: waiting
      -- for the lock would cost more. Nor in a caller's transaction, which would keep it locked.
      perform
      from lanes l
      where l.number_id = v_counted
        and v_lock_timeout is not null
      for no key update skip locked;
      if found then
        update lanes l
        set quota_full_until = nullif(
          quota_room_at(l.number_id, v_now, 1, v_limit, v_window), v_now
        )
        where l.number_id = v_counted;
      end if;
    end if;
    v_exact_facts := json_build_object('planned', v_planned, 'roomAt', epoch_millis(v_room_at));
  end if;

  if v_from is not null then
    select json_agg(json_build_object(
'number', json_build_object(
  'id', n.id, 'workspaceId', n.workspace_id, 'mode', n.mode, 'phone', n.phone, 'label', n.label,
  'platform', n.platform, 'status', n.status, 'loginMethod', n.login_method, 'createdAt',
  epoch_millis(n.created_at)
),
'bound', l.quota_bound,
'fullUntil', epoch_millis(l.quota_full_until),
'exact', null
))
    into v_facts
    from numbers n
    join lanes l on l.number_id = n.id
    where n.id = v_from
      and n.workspace_id = v_workspace
      and n.removed_at is null
      and n.mode = any (v_seen);
  elsif v_exact is not null and v_counted is null then
    -- For a reminder's run, which takes the one with most room.
    select json_agg(
      json_build_object(
'number', json_build_object(
  'id', n.id, 'workspaceId', n.workspace_id, 'mode', n.mode, 'phone', n.phone, 'label', n.label,
  'platform', n.platform, 'status', n.status, 'loginMethod', n.login_method, 'createdAt',
  epoch_millis(n.created_at)
),
'bound', l.quota_bound,
'fullUntil', epoch_millis(l.quota_full_until),
'exact', json_build_object(
          'planned', c.planned,
          'roomAt', epoch_millis(case
            when fits_exactly(c.planned, v_count, v_limit) then v_planned_at
            else quota_room_at(n.id, v_planned_at, v_count, v_limit, v_window)
          end)
        )
)
      order by n.id
    )
    into v_facts
    from numbers n
    join lanes l on l.number_id = n.id
    cross join lateral count_planned(
      n.id, v_planned_at, v_planned_at, v_window, '{}', '{}'
    ) c
    where n.workspace_id = v_workspace
      and n.removed_at is null
      and n.mode = any (v_seen)
      and n.status = 'connected';
  else
    select json_agg(json_build_object(
'number', json_build_object(
  'id', n.id, 'workspaceId', n.workspace_id, 'mode', n.mode, 'phone', n.phone, 'label', n.label,
  'platform', n.platform, 'status', n.status, 'loginMethod', n.login_method, 'createdAt',
  epoch_millis(n.created_at)
),
'bound', l.quota_bound,
'fullUntil', epoch_millis(l.quota_full_until),
'exact', null
) order by n.id)
    into v_facts
    from (
      (
        select n.*
        from numbers n
        where n.workspace_id = v_workspace
          and n.removed_at is null
          and n.mode = any (v_seen)
          and n.status = 'connected'
          and n.platform = 'whatsapp'
        order by n.id
        limit 2
      )
      union all
      (
        select n.*
        from numbers n
        where n.workspace_id = v_workspace
          and n.removed_at is null
          and n.mode = any (v_seen)
          and n.status = 'connected'
          and n.platform = 'telegram'
        order by n.id
        limit 2
      )
    ) n
    join lanes l on l.number_id = n.id;
  end if;

  select w.*
  into v_row
  from workspaces w
  where w.id = v_workspace;
  if v_lock_timeout is null then
    v_row.plan_messages_remaining :=
      v_row.plan_messages_remaining - coalesce(
      (
        select a.messages
        from plan_arrivals a
        where a.workspace_id = v_workspace
      ),
      0
    );
  end if;
  return json_build_object(
    'plan', case
      when v_row.plan_name is not null then json_build_object(
        'name', v_row.plan_name, 'messagesRemaining', v_row.plan_messages_remaining, 'reminders',
        v_row.plan_reminders, 'qrCodeApi', v_row.plan_qr_code_api, 'maxNumbers',
        v_row.plan_max_numbers, 'mediaStorageBytes', v_row.plan_media_storage_bytes
      )
    end,
    'numbers', v_facts,
    'contactIds', v_contact_ids,
    'contacts', v_contact_facts,
    'chats', v_chat_facts,
    'quoted', v_quoted,
    'media', v_media_facts,
    'exact', v_exact_facts
  );
end
$$;
