/** Attempts at linking numbers to phones. */
import { sqlFiles } from "../sql.generated.ts"
import type {
  BrokenLinkingGuard,
  Callback,
  FirstShown,
  LinkingId,
  LinkingOutcome,
  LinkingStore,
  NumberId,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, bigints, instant, integer, text, texts } from "../database/Fields.ts"
import { given, joined, part, single, statement } from "../database/Statement.ts"
import { numberColumns, toNumber } from "../number/numberRow.ts"
import { ownedColumns } from "../queue/lane.ts"
import { sharesColumns } from "../queue/shares.ts"
import { callbackParameters } from "../webhook/queueDeliveries.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import { add, attemptColumns, reconnect, toAttempt, viewColumns } from "./beginLinking.ts"
import type { AttemptRow } from "./beginLinking.ts"
import { finish, giveUp } from "./endLinking.ts"

// A later statement than the one that wrote it: a function's effects are not seen by its caller.
const getNumber = statement("linking.number", given({ id: bigint }))`
select ${numberColumns("n")}
from numbers n
where n.id = $id`

const getAttempt = statement("linking.get", given({ numberId: bigint }))`
select ${attemptColumns}
from linking_attempts a
where a.number_id = $numberId`

const claimAttempts = statement(
  "linking.claim",
  joined(
    given({ now: instant, leaseUntil: instant, limit: integer }),
    single(ownedColumns),
    single(sharesColumns),
  ),
)(sqlFiles["statements/linking/claim-attempts.sql"])

const renewAttempts = statement(
  "linking.renew",
  given({ ids: texts, leases: bigints, leaseUntil: instant }),
)(sqlFiles["statements/linking/renew-attempts.sql"])

const showAttempt = statement(
  "linking.show",
  joined(given({ id: text, lease: bigint }), part("view", single(viewColumns)), callbackParameters),
)(sqlFiles["statements/linking/show-attempt.sql"])

const takeAttempt = statement("linking.taken", given({ id: text, now: instant }))`
update linking_attempts a
set linking = true
where a.id = $id
  and not :code.has_ended(a, $now)
returning a.id`

// Index linking_attempts_ending.
const lapsedAttempts = statement("linking.lapsed", given({ now: instant, limit: integer }))`
select ${attemptColumns}
from linking_attempts a
where :code.has_ended(a, $now)
order by a.ends_at, a.number_id
limit $limit`

const dueTestAttempts = statement(
  "linking.dueTest",
  given({ now: instant, limit: integer }),
)(sqlFiles["statements/linking/due-test-attempts.sql"])

const broken = (guard: BrokenLinkingGuard): LinkingOutcome => ({ _tag: "Broken", guard })

type ReconnectedRow =
  | { readonly guard: BrokenLinkingGuard }
  | ({ readonly guard: null } & FirstShown)

type ClaimedRow = AttemptRow & { readonly lease: bigint; readonly workspace_id: bigint }

export const linkingStore = (
  database: DatabaseService,
  { tell }: DeliveriesQueued,
): typeof LinkingStore.Service => {
  const told = (callback: Callback | null) => (callback === null ? Effect.void : tell)
  const numberOf = (id: number) => getNumber.first(database, { id }, toNumber)

  return {
    add: (number, attempt, limit, claim) =>
      Effect.map(
        add.rows<{
          readonly number_id: bigint | null
          readonly guard: BrokenLinkingGuard | null
        }>(database, { number, attempt, limit, claim }),
        ([row]): LinkingOutcome =>
          row === undefined || row.number_id === null
            ? broken(row?.guard ?? "number")
            : {
                _tag: "Begun",
                number: {
                  ...number,
                  id: Number(row.number_id) as NumberId,
                  status: "connecting",
                },
              },
      ),
    reconnect: (workspaceId, numberId, attempt, claim) =>
      Effect.gen(function* () {
        const asked = { workspaceId, numberId, attempt, claim }
        const [begun] = yield* reconnect.rows<ReconnectedRow>(database, asked)
        if (begun === undefined || begun.guard !== null) return broken(begun?.guard ?? "number")
        const { label, phone } = begun
        const number = yield* numberOf(numberId)
        return number === null
          ? broken("number")
          : // As this commit left it, whatever has become of it since.
            { _tag: "Begun", number: { ...number, label, phone, status: "connecting" } }
      }),
    get: (numberId) => getAttempt.first(database, { numberId }, toAttempt),
    claim: (query) =>
      claimAttempts.all(database, query, (row: ClaimedRow) => ({
        attempt: toAttempt(row),
        workspaceId: Number(row.workspace_id) as WorkspaceId,
        lease: Number(row.lease),
      })),
    renew: (held, leaseUntil) =>
      Effect.map(
        renewAttempts.rows<{ readonly id: LinkingId }>(database, {
          ids: held.map(({ id }) => id),
          leases: held.map(({ lease }) => lease),
          leaseUntil,
        }),
        (rows) => new Set(rows.map((row) => row.id)),
      ),
    show: (id, lease, view, callback = null) =>
      Effect.tap(showAttempt.any(database, { id, lease, view, callback }), told(callback)),
    taken: (id, now) => takeAttempt.any(database, { id, now }),
    linked: (id, phone, now, reports = null) =>
      Effect.gen(function* () {
        const ended = yield* finish.value<bigint>(database, { attempt: id, phone, now, reports })
        yield* told(reports?.connected ?? null)
        return ended === null ? null : yield* numberOf(Number(ended))
      }),
    giveUp: (id, why, callback = null) =>
      Effect.tap(giveUp.holds(database, { attempt: id, ...why, callback }), told(callback)),
    lapsed: (now, limit) => lapsedAttempts.all(database, { now, limit }, toAttempt),
    dueTest: (now, limit) => dueTestAttempts.all(database, { now, limit }, toAttempt),
  }
}
