-- Accepts messages: each acceptance is written whole, on its own, or its broken guard is returned.
--
-- The first arrays hold one element for each acceptance, which are ordered by number; those that begin with
-- m_ one for each message, in the order of the acceptances, or none where all are null. Returns a row for
-- each acceptance: the broken guard, or null and the ids of its messages.
--
-- Locks: claims, then the lanes by id, then the workspaces with a limited plan by id. Everything that locks
-- both keeps that order, so calls wait for one another but never in a circle. A workspace with an unlimited
-- plan is only read: its senders do not wait for one another.
--
-- A caller's transaction stays open. It takes a key share of lane and workspace alone, so the number's
-- worker, cancels and expiry go on, and notes what it adds, the plan's note first. Its commit writes that
-- to both (finish_arrivals). A note is never committed: the transaction that makes it deletes it, and
-- another one that makes the same waits.
create function accept_messages(
  p_now timestamptz[],
  p_workspace bigint[],
  p_number bigint[],
  p_live boolean[],
  p_count integer[],
  p_due_at timestamptz[],
  p_allowance integer[],
  p_quota_at timestamptz[],
  p_quota_count integer[],
  p_quota_limit integer[],
  p_quota_window_millis bigint[],
  p_claim_key_id bigint[],
  p_claim_key text[],
  p_claim_fingerprint text[],
  p_claim_token text[],
  m_acceptance integer[],
  m_platform text[],
  m_from_phone text[],
  m_to_kind text[],
  m_to_phone text[],
  m_to_name text[],
  m_to_contact_id bigint[],
  m_text text[],
  m_media_id bigint[],
  m_attachment_id bigint[],
  m_media_url text[],
  m_media_type text[],
  m_media_file_name text[],
  m_send_at timestamptz[],
  m_expires_at timestamptz[],
  m_created_at timestamptz[],
  m_due_at timestamptz[],
  m_transport_id text[],
  m_callback_url text[],
  m_reference text[],
  m_campaign_id bigint[],
  m_campaign_row integer[],
  m_to_chat_id bigint[],
  m_to_address text[],
  m_reply_received_id bigint[],
  m_reply_message_id bigint[],
  p_lock_timeout integer
) returns table (guard text, ids bigint[])
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_size constant integer := cardinality(p_now);
  -- A campaign's limit is its own: its fullness is not everybody's.
  v_own_limit constant boolean := cardinality(m_campaign_id) > 0;
  -- A caller's transaction, which brings one acceptance at a time.
  v_joined constant boolean := p_lock_timeout is null;
  -- What its transaction has accepted before, from that number and of that plan.
  v_live_before integer;
  v_taken_before bigint;
  v_guards text[] := array_fill(null::text, array[v_size]);
  -- When the claims were made that this call gives up.
  v_claimed_at timestamptz[] := array_fill(null::timestamptz, array[v_size]);
  v_moment timestamptz;
  v_limited workspaces[];
  -- Whether an acceptance took allowance of a limited plan.
  v_taken boolean[] := array_fill(false, array[v_size]);
  v_lanes lanes[];
  v_lane lanes;
  v_lane_at integer := 0;
  v_lane_changed boolean := false;
  -- What this call has accepted for the present lane and not yet inserted.
  v_pending_at timestamptz[];
  v_pending_count integer[];
  v_accepted integer := 0;
  v_window interval;
  v_planned integer;
  v_bound integer;
  v_at integer;
  v_ids bigint[];
  v_first integer;
begin
  if not v_joined then
    perform set_config('lock_timeout', p_lock_timeout || 'ms', true);
  end if;

  for i in 1 .. v_size loop
    if p_claim_token[i] is not null then
      delete from idempotency_claims c
      where c.key_id = p_claim_key_id[i]
        and c.key = p_claim_key[i]
        and c.token = p_claim_token[i]
      returning c.claimed_at into v_moment;
      if found then
        v_claimed_at[i] := v_moment;
      else
        v_guards[i] := 'idempotency';
      end if;
    end if;
  end loop;

  -- A contact that was deleted after the facts were read.
  if cardinality(m_to_contact_id) > 0 then
    for v_at in
      select m.acceptance
      from unnest(m_acceptance, m_to_contact_id) m (acceptance, contact_id)
      where m.contact_id is not null
        and not exists (
          select
          from contacts c
          where c.id = m.contact_id
        )
    loop
      v_guards[v_at] := coalesce(v_guards[v_at], 'contact');
    end loop;
  end if;

  if v_joined then
    set constraints finish_arrivals deferred;
    -- The plan before the number: what waits for the plan of another caller holds no number of its own.
    if exists (select w
        from workspaces w
        where w.id = any (p_workspace)
          and 0 < any (p_allowance)
          and (messages_remaining(w)) is not null
        order by w.id) then
      insert into plan_arrivals as mine
      (workspace_id, messages)
      values (p_workspace[1], 0)
      on conflict (workspace_id) do update
      set messages = mine.messages
      returning mine.messages into v_taken_before;
    end if;
    insert into lane_arrivals as mine
    (number_id, live, finish)
    values (p_number[1], 0, current_schema())
    on conflict (number_id) do update
    set live = mine.live
    returning mine.live into v_live_before;
    v_lanes := array(
      select l
      from lanes l
      where l.number_id = any (p_number)
      order by l.number_id
      for key share
    );
    if cardinality(v_lanes) > 0 then
      v_lanes[1].quota_bound := v_lanes[1].quota_bound + v_live_before;
    end if;
    if v_taken_before is not null then
      v_limited := array(
        select w
        from workspaces w
        where w.id = any (p_workspace)
          and 0 < any (p_allowance)
          and (messages_remaining(w)) is not null
        order by w.id
        for key share
      );
      v_limited[1].plan_messages_remaining :=
        v_limited[1].plan_messages_remaining - v_taken_before;
    end if;
  else
    v_lanes := array(
      select l
      from lanes l
      where l.number_id = any (p_number)
      order by l.number_id
      for update
    );
    -- Only now, with all lanes locked. A plan that is unlimited is not in the list.
    v_limited := array(
      select w
        from workspaces w
        where w.id = any (p_workspace)
          and 0 < any (p_allowance)
          and (messages_remaining(w)) is not null
        order by w.id
      for update
    );
  end if;

  for i in 1 .. v_size loop
    continue when v_guards[i] is not null;

    if v_lane.number_id is distinct from p_number[i] then
      if v_lane_changed and not v_joined then
    update lanes l
    set next_due = v_lane.next_due,
      turn_due = v_lane.turn_due,
      front = v_lane.front,
      quota_bound = v_lane.quota_bound,
      quota_full_until = v_lane.quota_full_until
    where l.number_id = v_lane.number_id;
  end if;
      v_lane_changed := false;
      v_lane := null;
      while v_lane_at < cardinality(v_lanes)
        and v_lanes[v_lane_at + 1].number_id <= p_number[i]
      loop
        v_lane_at := v_lane_at + 1;
        v_lane := v_lanes[v_lane_at];
      end loop;
      v_pending_at := '{}';
      v_pending_count := '{}';
    end if;

    if v_lane.number_id is distinct from p_number[i]
      or v_lane.workspace_id <> p_workspace[i]
      or v_lane.removed_at is not null
    then
      v_guards[i] := 'number';
      continue;
    end if;

    v_at := null;
    if p_allowance[i] > 0 and cardinality(v_limited) > 0 then
      for k in 1 .. cardinality(v_limited) loop
        if v_limited[k].id = p_workspace[i] then
          v_at := k;
        end if;
      end loop;
      if v_at is not null
        and (messages_remaining(v_limited[v_at])) < p_allowance[i]
      then
        v_guards[i] := 'allowance';
        continue;
      end if;
    end if;

    if p_quota_at[i] is null then
      v_bound := v_lane.quota_bound + case when p_live[i] then p_count[i] else 0 end;
    elsif not v_own_limit and is_known_full(v_lane.quota_full_until, p_quota_at[i]) then
      v_guards[i] := 'quota';
      continue;
    elsif fits_by_bound(v_lane.quota_bound, p_quota_count[i], p_quota_limit[i]) then
      v_bound := v_lane.quota_bound + p_quota_count[i];
    else
      v_window := p_quota_window_millis[i] * interval '1 millisecond';
      select c.planned, c.bound
      into v_planned, v_bound
      from count_planned(
        p_number[i], p_quota_at[i], p_now[i], v_window, v_pending_at, v_pending_count
      ) c;
      for k in 1 .. cardinality(v_pending_at) loop
        v_bound := v_bound + v_pending_count[k];
      end loop;
      v_lane_changed := true;
      if not fits_exactly(v_planned, p_quota_count[i], p_quota_limit[i]) then
        v_guards[i] := 'quota';
        v_lane.quota_bound := v_bound;
        -- What is full now stays full until a message leaves the window. With messages that are
        -- not inserted yet the moment cannot be told, and the next refusal will find it.
        if cardinality(v_pending_at) = 0 and not v_own_limit then
          v_lane.quota_full_until := nullif(
            quota_room_at(p_number[i], p_now[i], 1, p_quota_limit[i], v_window), p_now[i]
          );
        end if;
        continue;
      end if;
      v_bound := v_bound + p_quota_count[i];
    end if;

    if not v_own_limit and takes_promised_room(
      v_lane.quota_full_until, p_quota_at[i], p_quota_window_millis[i] * interval '1 millisecond'
    ) then
      v_lane.quota_full_until := null;
    end if;
    v_accepted := v_accepted + 1;
    if v_at is not null then
      v_limited[v_at].plan_messages_remaining :=
        v_limited[v_at].plan_messages_remaining - p_allowance[i];
      v_taken[i] := true;
    end if;
    if p_live[i] then
      v_pending_at := v_pending_at || p_due_at[i];
      v_pending_count := v_pending_count || p_count[i];
      v_lane.quota_bound := v_bound;
      v_lane.next_due := next_due_accepted(v_lane, p_due_at[i]);
      v_lane.front := least(v_lane.front, p_due_at[i]);
      if cuts_turn(v_lane, p_due_at[i]) then
        v_lane.turn_due := null;
      end if;
      v_lane_changed := true;
    end if;
  end loop;

  if v_lane_changed and not v_joined then
    update lanes l
    set next_due = v_lane.next_due,
      turn_due = v_lane.turn_due,
      front = v_lane.front,
      quota_bound = v_lane.quota_bound,
      quota_full_until = v_lane.quota_full_until
    where l.number_id = v_lane.number_id;
  end if;

  if v_accepted > 0 and v_joined then
    update lane_arrivals a
    set live = a.live + p_count[1],
      due_at = least(a.due_at, p_due_at[1])
    where a.number_id = p_number[1]
      and p_live[1];
    update plan_arrivals a
    set messages = a.messages + p_allowance[1]
    where a.workspace_id = p_workspace[1]
      and v_taken[1];
  elsif v_accepted > 0 then
    for k in 1 .. cardinality(v_limited) loop
      update workspaces w
      set plan_messages_remaining = v_limited[k].plan_messages_remaining
      where w.id = v_limited[k].id
        and w.plan_messages_remaining <> v_limited[k].plan_messages_remaining;
    end loop;
  end if;

  if v_accepted > 0 then
    -- One message is the common case, and three times as cheap without the arrays' detour.
    if cardinality(m_due_at) = 1 then
      v_ids := array[nextval('messages_id_seq')];
      insert into messages (
        id, workspace_id, number_id, mode, state, allowance_taken, platform, from_phone, to_kind,
        to_phone, to_name, to_contact_id, text, media_id, attachment_id, media_url, media_type,
        media_file_name, send_at, expires_at, created_at, due_at, transport_id, callback_url,
        reference, campaign_id, campaign_row, to_chat_id, to_address, reply_received_id,
        reply_message_id
      )
      values (
        v_ids[1], p_workspace[1], p_number[1], case when p_live[1] then 'live' else 'test' end,
        'waiting', v_taken[1], m_platform[1], m_from_phone[1], m_to_kind[1], m_to_phone[1],
        m_to_name[1], m_to_contact_id[1], m_text[1], m_media_id[1], m_attachment_id[1],
        m_media_url[1], m_media_type[1], m_media_file_name[1], m_send_at[1], m_expires_at[1],
        m_created_at[1], m_due_at[1], m_transport_id[1], m_callback_url[1], m_reference[1],
        m_campaign_id[1], m_campaign_row[1], m_to_chat_id[1], m_to_address[1],
        m_reply_received_id[1], m_reply_message_id[1]
      );
    else
      v_ids := array(
        select nextval('messages_id_seq')
        from generate_series(1, cardinality(m_due_at))
      );
      insert into messages (
        id, workspace_id, number_id, mode, state, allowance_taken, platform, from_phone, to_kind,
        to_phone, to_name, to_contact_id, text, media_id, attachment_id, media_url, media_type,
        media_file_name, send_at, expires_at, created_at, due_at, transport_id, callback_url,
        reference, campaign_id, campaign_row, to_chat_id, to_address, reply_received_id,
        reply_message_id
      )
      select
        m.id, p_workspace[m.acceptance], p_number[m.acceptance],
        case when p_live[m.acceptance] then 'live' else 'test' end, 'waiting',
        v_taken[m.acceptance], m.platform, m.from_phone, m.to_kind, m.to_phone, m.to_name,
        m.to_contact_id, m.text, m.media_id, m.attachment_id, m.media_url, m.media_type,
        m.media_file_name, m.send_at, m.expires_at, m.created_at, m.due_at, m.transport_id,
        m.callback_url, m.reference, m.campaign_id, m.campaign_row, m.to_chat_id, m.to_address,
        m.reply_received_id, m.reply_message_id
      from unnest(
        v_ids, m_acceptance, m_platform, m_from_phone, m_to_kind, m_to_phone, m_to_name,
        m_to_contact_id, m_text, m_media_id, m_attachment_id, m_media_url, m_media_type,
        m_media_file_name, m_send_at, m_expires_at, m_created_at, m_due_at, m_transport_id,
        m_callback_url, m_reference, m_campaign_id, m_campaign_row, m_to_chat_id, m_to_address,
        m_reply_received_id, m_reply_message_id
      ) m (
        id, acceptance, platform, from_phone, to_kind, to_phone, to_name, to_contact_id, text,
        media_id, attachment_id, media_url, media_type, media_file_name, send_at, expires_at,
        created_at, due_at, transport_id, callback_url,
        reference, campaign_id, campaign_row, to_chat_id, to_address, reply_received_id,
        reply_message_id
      )
      where v_guards[m.acceptance] is null;
    end if;
  end if;

  v_first := 1;
  for i in 1 .. v_size loop
    guard := v_guards[i];
    ids := case when guard is null then v_ids[v_first : v_first + p_count[i] - 1] end;
    if v_claimed_at[i] is null then
      null;
    elsif guard is not null then
      -- The request may try again: its claim stays as it was.
      insert into idempotency_claims (key_id, key, fingerprint, token, claimed_at)
      values (
        p_claim_key_id[i], p_claim_key[i], p_claim_fingerprint[i], p_claim_token[i], v_claimed_at[i]
      );
    else
      -- A record that is still there is void: else the key could not have been claimed.
      insert into idempotency_records (key_id, key, fingerprint, made_ids, created_at)
      values (p_claim_key_id[i], p_claim_key[i], p_claim_fingerprint[i], ids, p_now[i])
      on conflict (key_id, key) do update
      set fingerprint = excluded.fingerprint,
        made_ids = excluded.made_ids,
        created_at = excluded.created_at,
        shown = null;
    end if;
    v_first := v_first + p_count[i];
    return next;
  end loop;
end
$$;
