/** The service's own secrets. */
import { ServiceSecrets } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { text } from "../database/parameters.ts"

/** Writes nothing new over what is there, but answers with it: one round trip, one winner. */
const getOrCreate = `
insert into service_secrets (name, value)
values ($1, $2)
on conflict (name) do update
set name = excluded.name
returning value`

const get = `
select value
from service_secrets
where name = $1`

const exchange = `
with erased as (
  delete from service_secrets
  where name = $1
)
insert into service_secrets (name, value)
values ($2, $3)
on conflict (name) do nothing`

export const layerSecrets = Layer.effect(
  ServiceSecrets,
  Effect.map(Database, (database) =>
    ServiceSecrets.of({
      getOrCreate: (name, candidate) =>
        Effect.map(
          database.query<{ readonly value: string }>("secret.getOrCreate", getOrCreate, [
            text(name),
            text(candidate),
          ]),
          (rows) => rows[0]?.value ?? candidate,
        ),
      get: (name) =>
        Effect.map(
          database.query<{ readonly value: string }>("secret.get", get, [text(name)]),
          ([row]) => row?.value ?? null,
        ),
      exchange: (name, instead, value) =>
        Effect.asVoid(
          database.query("secret.exchange", exchange, [text(name), text(instead), text(value)]),
        ),
    }),
  ),
)
