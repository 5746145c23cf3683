/** API keys and the counts of what is asked with them. */
import { KeyStore } from "@messaging-service/core"
import { PgTypes } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { coalesced } from "../database/Coalesced.ts"
import { Database } from "../database/Database.ts"
import { bigint, bigintsOrNull, instant, integer, text, texts } from "../database/parameters.ts"
import { coalescing } from "../database/coalescing.ts"
import { admit } from "./admitRequests.ts"
import { admitV1 } from "./admitRequestsV1.ts"
import { keyColumns, toKey } from "./keyRow.ts"
import type { KeyRow } from "./keyRow.ts"
import { revokeKey } from "./revokeKey.ts"

// Index api_keys_by_workspace. The workspace's row is locked: two inserts count one after the other.
const lockWorkspace = `
select
from workspaces w
where w.id = $1
for no key update`

const insertKey = `
insert into api_keys (
  workspace_id, version, name, mode, scopes, number_ids, expires_at, last4, hash, created_at
)
select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10
where $11 > (
  select count(*)
  from api_keys k
  where k.workspace_id = $1
    and k.version = $2
    and k.revoked_at is null
)
returning *, null::timestamptz as last_used_at, null::text as last_used_ip`

const listKeys = `
select ${keyColumns("k", "windows")}
from api_keys k
left join key_windows windows on windows.key_id = k.id
where k.workspace_id = $1
order by k.id`

const revokeStatement = `
select ${keyColumns("revoked", "windows")}
from ${revokeKey.name}($1, $2, $3) revoked
left join key_windows windows on windows.key_id = revoked.id
where revoked.id is not null`

export const layerKeys = Layer.effect(
  KeyStore,
  Effect.gen(function* () {
    const database = yield* Database
    return KeyStore.of({
      admit: yield* coalesced(admit(database), coalescing(database)),
      admitV1: yield* coalesced(admitV1(database), coalescing(database)),
      insert: (key, limit) =>
        database.transaction(
          "key.insert",
          Effect.fnUntraced(function* (run) {
            yield* run(lockWorkspace, [bigint(key.workspaceId)])
            const [row] = yield* run<KeyRow>(insertKey, [
              bigint(key.workspaceId),
              PgTypes.int2(key.version),
              text(key.name),
              text(key.mode),
              texts(key.scopes),
              bigintsOrNull(key.numberIds),
              instant(key.expiresAt),
              text(key.last4),
              text(key.hash),
              instant(key.createdAt),
              integer(limit),
            ])
            return row === undefined ? null : toKey(row)
          }),
        ),
      list: (workspaceId) =>
        Effect.map(database.query<KeyRow>("key.list", listKeys, [bigint(workspaceId)]), (rows) =>
          rows.map(toKey),
        ),
      revoke: (workspaceId, id, now) =>
        Effect.map(
          database.query<KeyRow>("key.revoke", revokeStatement, [
            bigint(workspaceId),
            bigint(id),
            instant(now),
          ]),
          ([row]) => (row === undefined ? null : toKey(row)),
        ),
    })
  }),
)
