/** What the callbacks of a workspace are signed with. */
import { CallbackSalts } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { bigint, text } from "../database/parameters.ts"

const getSalt = `
select w.callback_salt
from workspaces w
where w.id = $1
  and w.deleted_at is null`

const putSalt = `
update workspaces w
set callback_salt = $2
where w.id = $1
  and w.deleted_at is null
returning w.id`

export const layerCallbacks = Layer.effect(
  CallbackSalts,
  Effect.map(Database, (database) =>
    CallbackSalts.of({
      get: (workspaceId) =>
        Effect.map(
          database.query<{ readonly callback_salt: string | null }>("callback.salt", getSalt, [
            bigint(workspaceId),
          ]),
          ([row]) => row?.callback_salt ?? null,
        ),
      put: (workspaceId, salt) =>
        Effect.map(
          database.query("callback.putSalt", putSalt, [bigint(workspaceId), text(salt)]),
          (rows) => rows.length > 0,
        ),
    }),
  ),
)
