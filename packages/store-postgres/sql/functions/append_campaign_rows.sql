-- Appends rows to a draft; the guard that did not hold, or null. Rows of an upload count from its last commit on.
-- What another upload left behind goes.
--
-- Locks: the claim, as everywhere first; then the campaign.
create function append_campaign_rows(
  p_id bigint,
  p_revision bigint,
  p_after integer,
  p_upload text,
  p_until timestamptz,
  p_is_last boolean,
  p_now timestamptz,
  p_made_ids bigint[],
  p_shown jsonb,
  p_claim_key_id bigint,
  p_claim_key text,
  p_claim_fingerprint text,
  p_claim_token text,
  r_row integer[],
  r_line integer[],
  r_recipient jsonb[],
  r_needs text[],
  r_recipient_key text[],
  r_phone text[],
  r_values jsonb[],
  r_send_at timestamptz[],
  r_expires_at timestamptz[],
  r_state text[],
  r_code text[],
  r_field text[],
  r_first_row integer[]
) returns text
language plpgsql
set search_path from current
as $$
#variable_conflict use_column
declare
  v_campaign campaigns;
  v_goes_on boolean;
  v_last_row integer;
begin
  if not hold_idempotency_claim(p_claim_key_id, p_claim_key, p_claim_token) then
    return 'idempotency';
  end if;

  select *
  into v_campaign
  from campaigns c
  where c.id = p_id
    and c.revision = p_revision
    and c.state = 'draft'
    and c.removed_at is null
  for no key update;
  if not found then
    return 'campaign';
  end if;

  v_goes_on := coalesce(v_campaign.upload = p_upload, false);
  if not v_goes_on and v_campaign.upload is not null and v_campaign.upload_until > p_now then
    return 'upload';
  end if;
  v_last_row := v_campaign.last_row;
  if v_goes_on then
    v_last_row := greatest(v_last_row, (
      select max(r.row)
      from campaign_rows r
      where r.campaign_id = p_id
    ));
  end if;
  if v_last_row <> p_after then
    return 'campaign';
  end if;
  if not v_goes_on and v_campaign.upload is not null then
    delete from campaign_rows r
    where r.campaign_id = p_id
      and r.row > v_last_row;
  end if;

  insert into campaign_rows (
    campaign_id, row, line, recipient, needs, recipient_key, phone, row_values, send_at, expires_at,
    state, code, field, first_row
  )
  select
    p_id, r.row, r.line, r.recipient, r.needs, r.recipient_key, r.phone, r.row_values, r.send_at,
    r.expires_at, r.state, r.code, r.field, r.first_row
  from unnest(
    r_row, r_line, r_recipient, r_needs, r_recipient_key, r_phone, r_values, r_send_at,
    r_expires_at, r_state, r_code, r_field, r_first_row
  ) r (
    row, line, recipient, needs, recipient_key, phone, row_values, send_at, expires_at, state, code,
    field, first_row
  );

  update campaigns c
  set upload = case when not p_is_last then p_upload end,
    upload_until = case when not p_is_last then p_until end
  where c.id = p_id
    and (c.upload is not null or not p_is_last);
  if not p_is_last then
    return null;
  end if;

  update campaigns c
  set last_row = added.last_row,
    pending = c.pending + added.pending,
    refused = c.refused + added.refused,
    skipped = c.skipped + added.skipped,
    expired = c.expired + added.expired,
    revision = c.revision + 1
  from (
    select
      coalesce(max(r.row), v_campaign.last_row) as last_row,
      count(*) filter (where r.state = 'pending') as pending,
      count(*) filter (where r.state = 'refused') as refused,
      count(*) filter (where r.state = 'skipped') as skipped,
      count(*) filter (where r.state = 'expired') as expired
    from campaign_rows r
    where r.campaign_id = p_id
      and r.row > v_campaign.last_row
  ) added
  where c.id = p_id;
  perform finish_idempotency_claim(
    p_claim_key_id, p_claim_key, p_claim_fingerprint, p_made_ids, p_now, p_shown
  );
  return null;
end
$$;
