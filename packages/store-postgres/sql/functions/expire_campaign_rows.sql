-- Pending rows become expired once their own time, or without one the campaign's, has passed: how many, up to p_limit.
--
-- Locks: the campaign, then its rows.
--
-- Never null: answer
create function expire_campaign_rows(p_id bigint, p_now timestamptz, p_limit integer)
returns integer
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_campaign campaigns;
  v_expired integer;
begin
  select *
  into v_campaign
  from campaigns c
  where c.id = p_id
    and not has_campaign_ended(c)
    and c.removed_at is null
  for no key update;
  if not found then
    return 0;
  end if;

  -- Index campaign_rows_expiring.
  update campaign_rows r
  set state = 'expired'
  where r.campaign_id = p_id
    and r.row = any (array(
      (
        select own.row
        from campaign_rows own
        where own.campaign_id = p_id
          and own.state = 'pending'
          and own.expires_at <= p_now
          and own.row <= v_campaign.last_row
        limit p_limit
      )
      union all
      (
        select other.row
        from campaign_rows other
        where v_campaign.expires_at <= p_now
          and other.campaign_id = p_id
          and other.state = 'pending'
          and other.expires_at is null
          and other.row <= v_campaign.last_row
        limit p_limit
      )
      limit p_limit
    ));
  get diagnostics v_expired = row_count;
  if v_expired > 0 then
    update campaigns c
    set pending = c.pending - v_expired,
      expired = c.expired + v_expired
    where c.id = p_id;
  end if;
  return v_expired;
end
$$;
