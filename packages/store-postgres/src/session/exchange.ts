/** Credentials that are exchanged for others, with what an account that has logged in changes of its number. */
import { sqlFiles } from "../sql.generated.ts"
import { reasonOnceResumed } from "@messaging-service/core"
import type { Exchanged, LoggedIn, NumberId } from "@messaging-service/core"
import { Effect } from "effect"
import type * as SqlError from "effect/sql/SqlError"
import type { RunStatement } from "../database/Database.ts"
import { bigint, instant, text } from "../database/Fields.ts"
import { given, statement } from "../database/Statement.ts"
import { changedTo } from "../number/connections.ts"
import { control } from "../queue/controlLane.ts"

const exchange = statement(
  "session.exchange",
  given({ numberId: bigint, before: text, credentials: text }),
)(sqlFiles["statements/session/exchange.sql"])

/** Of two numbers that get the same phone at once the second one sees what the first one did. */
const lockWorkspace = statement("session.lockWorkspace", given({ numberId: bigint }))`
select w.id
from workspaces w
where w.id = (select n.workspace_id from numbers n where n.id = $numberId)
for no key update`

const isAnothers = statement(
  "session.isAnothers",
  given({ numberId: bigint, before: text, phone: text }),
)(sqlFiles["statements/session/is-anothers.sql"])

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
