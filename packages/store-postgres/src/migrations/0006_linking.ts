/**
 * Numbers that are being connected. A number now also says in which world it was made; those that
 * were there before are live. An attempt goes with its end, so the table is as small as the number
 * of phones that are being linked at this moment.
 */
import type { Migration } from "./migrate.ts"

export const linking: Migration = {
  id: 6,
  name: "linking",
  sql: `
alter table numbers add column mode text not null default 'live';

create table linking_attempts (
  -- One attempt at most for each number.
  number_id bigint primary key references numbers,
  -- The worker that runs the attempt knows it by this id alone.
  id text not null unique,
  mode text not null,
  method text not null,
  phone text,
  requested_at timestamptz not null,
  ends_at timestamptz not null,
  -- Of a test number: when it links itself.
  links_at timestamptz,
  qr_text text,
  pairing_code text,
  pairing_code_expires_at timestamptz,
  linking boolean not null,
  -- Grows with every claim.
  lease bigint not null default 0,
  -- Null until a worker claims it.
  lease_until timestamptz,
  -- When there is something to do about it.
  due_at timestamptz not null generated always as (
    least(
      ends_at,
      links_at,
      case when mode = 'live' then coalesce(lease_until, requested_at) end
    )
  ) stored
) with (fillfactor = 50);
-- Serves the next due moment, claims, and what is due of test numbers;
create index linking_attempts_due on linking_attempts (due_at);
-- this serves the end of attempts.
create index linking_attempts_ending on linking_attempts (ends_at);
`,
}
