/**
 * What is the whole service's: its secrets, what the store is told from others by, what callbacks are
 * signed with, and the offset of the adjustable clock, the same for all processes.
 */
import { sqlFiles } from "./sql.generated.ts"
import { CallersTransactions, StoreUnavailable } from "@messaging-service/core"
import type { CallbackSalts, ClockStore, ServiceSecrets } from "@messaging-service/core"
import { Effect, Random } from "effect"
import { callersTransactions, identity, identityPlace } from "./database/CallersTransaction.ts"
import type { DatabaseService } from "./database/Database.ts"
import { bigint, text } from "./database/Fields.ts"
import { given, statement } from "./database/Statement.ts"

const getOrCreate = statement(
  "secret.getOrCreate",
  given({ name: text, candidate: text }),
)(sqlFiles["statements/service/get-or-create.sql"])

const get = statement("secret.get", given({ name: text }))`
select value
from service_secrets
where name = $name`

const replace = statement(
  "secret.replace",
  given({ name: text, before: text, value: text }),
)(sqlFiles["statements/service/replace.sql"])

export const serviceSecrets = (database: DatabaseService): typeof ServiceSecrets.Service => ({
  getOrCreate: (name, candidate) => getOrCreate.one<string>(database, { name, candidate }),
  get: (name) => get.value<string>(database, { name }),
  replace: (name, before, value) => replace.run(database, { name, before, value }),
})

/** By what this store is told from others; the first process that starts on it gives it the mark. */
const ownIdentity = statement("store.identity", given({ place: text, mark: text }))`
insert into service_secrets (name, value)
values ($place, $mark)
on conflict (name) do update
set name = excluded.name
returning ${identity} as identity`

/** A store of one process alone has no transactions of callers. */
export const transactionsOn = (database: DatabaseService) =>
  database.joinable
    ? Effect.gen(function* () {
        const mark = (yield* Random.next).toString(36).slice(2)
        const own = yield* ownIdentity.one<string>(database, { place: identityPlace, mark })
        return callersTransactions(database.schema, own)
      })
    : Effect.succeed(CallersTransactions.none)

const getSalt = statement(
  "callback.salt",
  given({ workspaceId: bigint }),
)(sqlFiles["statements/service/get-salt.sql"])

const putSalt = statement(
  "callback.putSalt",
  given({ workspaceId: bigint, salt: text }),
)(sqlFiles["statements/service/put-salt.sql"])

export const callbackSalts = (database: DatabaseService): typeof CallbackSalts.Service => ({
  get: (workspaceId) => getSalt.value<string>(database, { workspaceId }),
  put: (workspaceId, salt) => putSalt.any(database, { workspaceId, salt }),
})

const readOffset = statement("clock.offset", given({}))("select offset_millis from clock")

const raiseOffset = statement(
  "clock.raiseOffset",
  given({ to: bigint }),
)(sqlFiles["statements/service/raise-offset.sql"])

const whyReadOnly = statement("ping", given({}))(sqlFiles["statements/service/why-read-only.sql"])

/** Not a time that anything is stored with: those are parameters. */
const readTime = statement(
  "clock.databaseTime",
  given({}),
)("select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as millis")

export const clockStore = (database: DatabaseService): typeof ClockStore.Service => ({
  offset: Effect.map(readOffset.value<bigint>(database, {}), Number),
  raiseOffset: (to) => Effect.map(raiseOffset.value<bigint>(database, { to }), Number),
  // The database of one process alone runs inside it, on the same clock.
  databaseTime: database.joinable
    ? Effect.map(readTime.one<bigint>(database, {}), Number)
    : Effect.succeed(null),
  ping: Effect.flatMap(whyReadOnly.one<string>(database, {}), (because) =>
    because === ""
      ? Effect.void
      : Effect.fail(new StoreUnavailable({ operation: "ping", cause: new Error(because) })),
  ),
})
