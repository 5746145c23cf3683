/** Credentials that are exchanged for others, with what an account that has logged in changes of its number. */
import { reasonOnceResumed } from "@messaging-service/core"
import type { Exchanged, LoggedIn, NumberId } from "@messaging-service/core"
import { Effect } from "effect"
import type * as SqlError from "effect/sql/SqlError"
import type { RunStatement } from "../database/Database.ts"
import { bigint, instant, text } from "../database/Fields.ts"
import { given, statement } from "../database/Statement.ts"
import { changedTo } from "../number/connections.ts"
import { control } from "../queue/controlLane.ts"

/** Of two that would exchange the same credentials the second finds the row changed, or there. */
const exchange = statement(
  "session.exchange",
  given({ numberId: bigint, before: text, credentials: text }),
)`
with present as (
  select l.number_id
  from lanes l
  where l.number_id = $numberId
    and l.removed_at is null
),
begun as (
  insert into sessions (number_id, credentials)
  select p.number_id, $credentials
  from present p
  where $before is null
    and $credentials is not null
  on conflict (number_id) do nothing
  returning number_id
),
changed as (
  update sessions s
  set credentials = $credentials, leaving_at = null
  from present p
  where s.number_id = p.number_id
    and s.credentials = $before
    and $credentials is not null
  returning s.number_id
),
wiped as (
  delete from sessions s
  where s.number_id = $numberId
    and s.credentials = $before
    and $credentials is null
  returning s.number_id
),
dropped as (
  delete from session_keys k
  using changed
  where k.number_id = changed.number_id
)
select
  exists (select from begun)
  or exists (select from changed)
  or exists (select from wiped)
  as written`

/** Of two numbers that get the same phone at once the second one sees what the first one did. */
const lockWorkspace = statement("session.lockWorkspace", given({ numberId: bigint }))`
select w.id
from workspaces w
where w.id = (select n.workspace_id from numbers n where n.id = $numberId)
for no key update`

/** Whether it is the phone that is in the way: what was written since refuses first. */
const isAnothers = statement(
  "session.isAnothers",
  given({ numberId: bigint, before: text, phone: text }),
)`
select exists (
  select
  from numbers n
  join sessions s on s.number_id = n.id and s.credentials = $before
  join numbers other on other.workspace_id = n.workspace_id
  left join linking_attempts a on a.number_id = other.id
  where n.id = $numberId
    and other.removed_at is null
    and :code.has_phone(other, a.phone_before, n, $phone)
) as held`

/** The lane first, as before every change of a status. */
const lockLane = statement("session.lockLane", given({ numberId: bigint }))`
select l.number_id
from lanes l
where l.number_id = $numberId
for no key update`

const changed = changedTo("n", {
  status: "n.status",
  reason: `case when n.status = 'disconnected' then '${reasonOnceResumed}' end`,
  now: "$now",
})

const setAccount = statement(
  "session.account",
  given({ numberId: bigint, phone: text, now: instant }),
)`
update numbers n
set phone = coalesce($phone, n.phone),
  status_since = ${changed.status_since},
  status_reason = ${changed.status_reason}
where n.id = $numberId`

interface Exchange {
  readonly numberId: NumberId
  readonly before: string | null
  readonly credentials: string | null
  readonly account: LoggedIn | null
  readonly now: number
}

/** See `SessionStore.exchange`: all of it but the keys, in that transaction. */
export const exchangeWithin = Effect.fnUntraced(function* (
  run: RunStatement,
  { account, before, credentials, now, numberId }: Exchange,
): Effect.fn.Return<Exchanged, SqlError.SqlError> {
  const phone = account?.phone ?? null
  if (account !== null) yield* lockLane.within(run, { numberId })
  if (phone !== null) {
    yield* lockWorkspace.within(run, { numberId })
    const [other] = yield* isAnothers.within<{ readonly held: boolean }>(run, {
      numberId,
      before,
      phone,
    })
    if (other?.held === true) return "phone_of_another_number"
  }
  const asked = { numberId, before, credentials }
  const [row] = yield* exchange.within<{ readonly written: boolean }>(run, asked)
  if (row?.written !== true) return false
  if (account !== null) {
    yield* control.within(run, { numberId, now, linked: true })
    yield* setAccount.within(run, { numberId, phone, now })
  }
  return true
})
