/**
 * What is the whole service's: its secrets, what callbacks are signed with, and the offset of the
 * adjustable clock, the same for all processes.
 */
import { CallbackSalts, ClockStore, ServiceSecrets } from "@messaging-service/core/ports"
import { Effect, Layer } from "effect"
import { Database } from "./database/Database.ts"
import { bigint, text } from "./database/Fields.ts"
import { given, statement } from "./database/Statement.ts"

interface SecretRow {
  readonly value: string
}

/** Writes nothing new over what is there, but answers with it: one round trip, one winner. */
const getOrCreate = statement("secret.getOrCreate", given({ name: text, candidate: text }))`
insert into service_secrets (name, value)
values ($name, $candidate)
on conflict (name) do update
set name = excluded.name
returning value`

const get = statement("secret.get", given({ name: text }))`
select value
from service_secrets
where name = $name`

const exchange = statement("secret.exchange", given({ name: text, instead: text, value: text }))`
with erased as (
  delete from service_secrets
  where name = $name
)
insert into service_secrets (name, value)
values ($instead, $value)
on conflict (name) do nothing`

const replace = statement("secret.replace", given({ name: text, before: text, value: text }))`
update service_secrets
set value = $value
where name = $name
  and value = $before`

const valueOf = ({ value }: SecretRow) => value

export const layerSecrets = Layer.effect(
  ServiceSecrets,
  Effect.map(Database, (database) =>
    ServiceSecrets.of({
      getOrCreate: (name, candidate) =>
        Effect.map(
          getOrCreate.first(database, { name, candidate }, valueOf),
          (value) => value ?? candidate,
        ),
      get: (name) => get.first(database, { name }, valueOf),
      exchange: (name, instead, value) => exchange.run(database, { name, instead, value }),
      replace: (name, before, value) => replace.run(database, { name, before, value }),
    }),
  ),
)

const getSalt = statement("callback.salt", given({ workspaceId: bigint }))`
select w.callback_salt
from workspaces w
where w.id = $workspaceId
  and w.deleted_at is null`

const putSalt = statement("callback.putSalt", given({ workspaceId: bigint, salt: text }))`
update workspaces w
set callback_salt = $salt
where w.id = $workspaceId
  and w.deleted_at is null
returning w.id`

export const layerCallbackSalts = Layer.effect(
  CallbackSalts,
  Effect.map(Database, (database) =>
    CallbackSalts.of({
      get: (workspaceId) =>
        getSalt.first(
          database,
          { workspaceId },
          (row: { readonly callback_salt: string | null }) => row.callback_salt,
        ),
      put: (workspaceId, salt) => putSalt.any(database, { workspaceId, salt }),
    }),
  ),
)

const readOffset = statement("clock.offset", given({}))("select offset_millis from clock")

const raiseOffset = statement("clock.raiseOffset", given({ to: bigint }))`
insert into clock as present (offset_millis)
values ($to)
on conflict (singleton) do update
set offset_millis = greatest(present.offset_millis, excluded.offset_millis)
returning offset_millis`

interface OffsetRow {
  readonly offset_millis: bigint
}

const toOffset = (rows: ReadonlyArray<OffsetRow>): number => Number(rows[0]?.offset_millis ?? 0)

export const layerClock = Layer.effect(
  ClockStore,
  Effect.map(Database, (database) =>
    ClockStore.of({
      offset: Effect.map(readOffset.rows<OffsetRow>(database, {}), toOffset),
      raiseOffset: (to) => Effect.map(raiseOffset.rows<OffsetRow>(database, { to }), toOffset),
      ping: Effect.asVoid(database.query("ping", "select 1")),
    }),
  ),
)
