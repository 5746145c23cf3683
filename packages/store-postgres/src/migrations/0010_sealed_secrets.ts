/**
 * Keys stand in the database sealed from now on, if at all. A server of the version before would make
 * new ones in plain text, and sign with them what no receiver knows: its start fails instead. Those at
 * work have read theirs, and go on.
 */
import type { Migration } from "./migrate.ts"

export const sealedSecrets: Migration = {
  id: 10,
  name: "sealed_secrets",
  sql: `
create function refuse_plain_secret() returns trigger
language plpgsql
as $body$
begin
  raise exception 'this database is one of a later version, which seals its secrets';
end
$body$;
create trigger refuse_plain_secret
before insert on service_secrets
for each row
when (new.name in ('cursor-key', 'media-link-key', 'qr-link-key', 'signing-key'))
execute function refuse_plain_secret();
`,
}
