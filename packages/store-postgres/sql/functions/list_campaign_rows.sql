-- Rows of a campaign in their order, after one of them: of one phone, or of some statuses or a code: for each of them an
-- index finds in that order, or all.
--
-- Never null: place, state, status
create function list_campaign_rows(
  p_id bigint,
  p_statuses text[],
  p_code text,
  p_phone text,
  p_after integer,
  p_limit integer
) returns table (
  place integer,
  line integer,
  recipient jsonb,
  needs text,
  recipient_key text,
  phone text,
  row_values jsonb,
  send_at timestamptz,
  expires_at timestamptz,
  state text,
  code text,
  field text,
  first_row integer,
  status text,
  message_id bigint,
  sent_text text,
  number_id bigint,
  taken_on_at timestamptz,
  sent_at timestamptz,
  delivered_at timestamptz,
  read_at timestamptz,
  error_code text,
  error_message text
)
language plpgsql stable
set search_path from current
as $$
#variable_conflict use_column
declare
  v_campaign campaigns;
  v_rows integer[];
begin
  select *
  into v_campaign
  from campaigns c
  where c.id = p_id
    and c.removed_at is null;
  if not found then
    return;
  end if;

  if p_phone is not null then
    v_rows := array(
      select r.row
      from (
        -- Index campaign_rows_by_phone.
        select r.row
        from campaign_rows r
        where r.campaign_id = p_id
          and r.phone = p_phone
          and r.state <> 'taken'
        union
        -- Index messages_by_phone.
        select m.campaign_row
        from unnest(
          array['waiting', 'sent', 'delivered', 'read', 'failed', 'cancelled', 'expired']
        ) asked (state)
        join messages m on m.workspace_id = v_campaign.workspace_id
          and m.mode = v_campaign.mode
          and m.to_phone = p_phone
          and m.state = asked.state
          and m.campaign_id = p_id
      ) found
      join campaign_rows r on r.campaign_id = p_id
        and r.row = found.row
      left join messages m on m.id = r.message_id
      where r.phone = p_phone
        and r.row > p_after
        and r.row <= v_campaign.last_row
        and (p_statuses is null or row_status(r.state, r.last_status, m.state, v_campaign.state) = any (p_statuses))
        and (p_code is null or p_code = coalesce(m.error_code, row_code(r.state, r.code, v_campaign.state)))
      order by r.row
      limit p_limit
    );
  elsif p_statuses is null and p_code is null then
    v_rows := array(
      select r.row
      from campaign_rows r
      where r.campaign_id = p_id
        and r.row > p_after
        and r.row <= v_campaign.last_row
      order by r.row
      limit p_limit
    );
  else
    v_rows := array(
      select found.row
      from (
        (
          -- Those that were not taken on. Index campaign_rows_ended.
          select r.row
          from unnest(array['refused', 'skipped', 'expired']) asked (state)
          cross join lateral (
            select e.row
            from campaign_rows e
            where (p_statuses is null or asked.state = any (p_statuses))
              and e.campaign_id = p_id
              and e.state in ('refused', 'skipped', 'expired')
              and e.state = asked.state
              and (p_code is null or e.code = p_code)
              and e.row > p_after
              and e.row <= v_campaign.last_row
            order by e.row
            limit p_limit
          ) r
        )
        union all
        (
          -- Pending ones, which a stopped campaign has skipped. The primary key: most of them are pending.
          select r.row
          from campaign_rows r
          where (
              p_statuses is null
              or row_status('pending', null, null, v_campaign.state) = any (p_statuses)
            )
            and (p_code is null or p_code = row_code('pending', null, v_campaign.state))
            and v_campaign.pending > 0
            and r.campaign_id = p_id
            and r.row > p_after
            and r.row <= v_campaign.last_row
            and r.state = 'pending'
          order by r.row
          limit p_limit
        )
        union all
        (
          -- Index messages_by_campaign.
          select m.campaign_row
          from unnest(
            array['waiting', 'sent', 'delivered', 'read', 'failed', 'cancelled', 'expired']
          ) asked (state)
          cross join lateral (
            select e.campaign_row
            from messages e
            where (
                p_statuses is null
                or row_status('taken', null, asked.state, v_campaign.state) = any (p_statuses)
              )
              and e.campaign_id = p_id
              and e.state = asked.state
              and (p_code is null or e.error_code = p_code)
              and e.campaign_row > p_after
            order by e.campaign_row
            limit p_limit
          ) m
        )
        union all
        (
          -- Index campaign_rows_erased.
          select r.row
          from unnest(array['sent', 'delivered', 'read', 'failed', 'cancelled', 'expired']) asked (status)
          cross join lateral (
            select e.row
            from campaign_rows e
            where (p_statuses is null or asked.status = any (p_statuses))
              and p_code is null
              and e.campaign_id = p_id
              and e.last_status = asked.status
              and e.row > p_after
            order by e.row
            limit p_limit
          ) r
        )
      ) found
      order by found.row
      limit p_limit
    );
  end if;

  return query
  select
    r.row, r.line, r.recipient, r.needs, r.recipient_key, r.phone, r.row_values, r.send_at,
    r.expires_at,
    case when row_code(r.state, null, v_campaign.state) = 'stopped' then 'skipped' else r.state end,
    row_code(r.state, r.code, v_campaign.state), r.field, r.first_row,
    row_status(r.state, r.last_status, m.state, v_campaign.state),
    m.id, m.text, r.number_id, r.taken_on_at, m.sent_at, m.delivered_at, m.read_at, m.error_code,
    m.error_message
  from campaign_rows r
  left join messages m on m.id = r.message_id
  where r.campaign_id = p_id
    and r.row = any (v_rows)
  order by r.row;
end
$$;
