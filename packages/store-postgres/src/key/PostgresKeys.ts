/** API keys and the counts of what is asked with them. */
import type { KeyStore } from "@messaging-service/core"
import { Effect } from "effect"
import { coalesced, coalescing } from "../database/Coalesced.ts"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, instant, integer } from "../database/Fields.ts"
import { given, joined, single, sqlFunction, statement, taking } from "../database/Statement.ts"
import { admit, admitV1 } from "./admitRequests.ts"
import { keyColumns, newColumns, toKey } from "./keyRow.ts"
import type { KeyRow } from "./keyRow.ts"

// Index api_keys_by_workspace. The workspace's row is locked: two inserts count one after the other.
const lockWorkspace = statement("key.lockWorkspace", given({ workspaceId: bigint }))`
select
from workspaces w
where w.id = $workspaceId
for no key update`

const made = single(newColumns)

const insertKey = statement("key.insert", joined(made, given({ limit: integer })))`
insert into api_keys (${made.names})
select ${made.placeholders}
where not :code.holds_all_keys($workspace_id, $version, $limit)
returning *, null::timestamptz as last_used_at, null::text as last_used_ip`

const listKeys = statement("key.list", given({ workspaceId: bigint }))`
select ${keyColumns("k", "windows")}
from api_keys k
left join key_windows windows on windows.key_id = k.id
where k.workspace_id = $workspaceId
order by k.id`

const revokeKey = sqlFunction(
  "revoke_key",
  taking({ workspaceId: bigint, id: bigint, now: instant }),
)

const revoke = statement("key.revoke", revokeKey.taken)`
select ${keyColumns("revoked", "windows")}
from ${revokeKey.name}(${revokeKey.taken.placeholders}) revoked
left join key_windows windows on windows.key_id = revoked.id
where revoked.id is not null`

export const keyStore = Effect.fnUntraced(function* (database: DatabaseService) {
  const store: typeof KeyStore.Service = {
    admit: yield* coalesced(admit(database), coalescing(database)),
    admitV1: yield* coalesced(admitV1(database), coalescing(database)),
    insert: (key, limit) =>
      database.transaction(
        "key.insert",
        Effect.fnUntraced(function* (run) {
          yield* lockWorkspace.within(run, key)
          const [row] = yield* insertKey.within<KeyRow>(run, { ...key, limit })
          return row === undefined ? null : toKey(row)
        }),
      ),
    list: (workspaceId) => listKeys.all(database, { workspaceId }, toKey),
    revoke: (workspaceId, id, now) => revoke.first(database, { workspaceId, id, now }, toKey),
  }
  return store
})
