/** Attempts at linking numbers to phones. */
import type {
  BrokenLinkingGuard,
  Callback,
  EndReports,
  FirstShown,
  LinkingAttempt,
  LinkingId,
  LinkingOutcome,
  LinkingStore,
  LinkingView,
  NewAttempt,
  NumberId,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  bigints,
  boolean,
  columnsOf,
  instant,
  integer,
  millis,
  selected,
  text,
  texts,
  without,
} from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"
import {
  call,
  given,
  joined,
  part,
  single,
  sqlFunction,
  statement,
  taking,
} from "../database/Statement.ts"
import { claimParameters } from "../request/idempotency.ts"
import { numberColumns, numberTable, toNumber } from "../number/numberRow.ts"
import { ownedColumns, pacingColumn } from "../queue/lane.ts"
import { sharesColumns } from "../queue/lanes.ts"
import { sqlFiles } from "../sql.generated.ts"
import { callbackParameters, connectionParameters } from "../webhook/queueDeliveries.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"

// Beginning an attempt at linking, of a new number or of one that is there.
// Locks: the claim first, as everywhere. For a new number the workspace, so that numbers are counted
// and made one after the other; an operator who adds one is not counted and not held up. For one that
// is there its lane, as before every change of its status.

/** What an attempt shows. */
const viewColumns = columnsOf({
  qrText: { qr_text: text((view) => view.qrText) },
  pairingCode: {
    pairing_code: text(({ pairingCode }) => pairingCode?.code ?? null),
    pairing_code_expires_at: instant(({ pairingCode }) => pairingCode?.expiresAt ?? null),
  },
  linking: { linking: boolean((view) => view.linking) },
} satisfies FieldsOf<LinkingView>)

/** What is written of a new attempt. */
const newColumns = {
  ...columnsOf({
    id: { id: text((attempt) => attempt.id) },
    mode: { mode: text((attempt) => attempt.mode) },
    method: { method: text((attempt) => attempt.method) },
    phone: { phone: text((attempt) => attempt.phone) },
    requestedAt: { requested_at: instant((attempt) => attempt.requestedAt) },
    endsAt: { ends_at: instant((attempt) => attempt.endsAt) },
    linksAt: { links_at: instant((attempt) => attempt.linksAt) },
  } satisfies FieldsOf<Omit<LinkingAttempt, keyof LinkingView | "numberId" | "replaced">>),
  ...viewColumns,
}

const columns = {
  ...newColumns,
  number_id: bigint((attempt: LinkingAttempt) => attempt.numberId),
  /** An empty text where the number had none. */
  phone_before: text(({ replaced }: LinkingAttempt) =>
    replaced === null ? null : (replaced.phone ?? ""),
  ),
}

type AttemptRow = RowOf<typeof columns>

const attemptColumns = selected(columns, "a")

const toAttempt = (row: AttemptRow): LinkingAttempt => ({
  id: row.id,
  numberId: Number(row.number_id) as NumberId,
  mode: row.mode,
  method: row.method,
  phone: row.phone,
  replaced:
    row.phone_before === null ? null : { phone: row.phone_before === "" ? null : row.phone_before },
  requestedAt: row.requested_at.getTime(),
  endsAt: row.ends_at.getTime(),
  linksAt: millis(row.links_at),
  qrText: row.qr_text,
  pairingCode:
    row.pairing_code === null || row.pairing_code_expires_at === null
      ? null
      : { code: row.pairing_code, expiresAt: row.pairing_code_expires_at.getTime() },
  linking: row.linking,
})

const parameters = joined(
  part(
    "attempt",
    single(
      {
        ...newColumns,
        callback_url: text((attempt: NewAttempt) => attempt.callbackUrl),
        pacing: pacingColumn((attempt: NewAttempt) => attempt.pacing),
      },
      "a_",
    ),
  ),
  claimParameters,
)

const newNumberColumns = without(numberTable, "id", "status")

const addLinking = sqlFunction(
  "add_linking",
  joined(part("number", single(newNumberColumns, "n_")), taking({ limit: bigint }), parameters),
)

const add = call("linking.add", addLinking)

const reconnectLinking = sqlFunction(
  "reconnect_linking",
  joined(taking({ workspaceId: bigint, numberId: bigint }), parameters),
)

const reconnect = call("linking.reconnect", reconnectLinking)

// Ending an attempt at linking together with the status of its number.
// Locks: the number's lane first, as before all changes of its status; then, where a phone was revealed,
// the workspace, so that of two numbers that reveal the same one only the first keeps it; then the
// attempt, which may have ended meanwhile.

interface Reported {
  readonly reports: EndReports | null
}

const finishLinking = sqlFunction(
  "finish_linking",
  joined(
    taking({ attempt: text, phone: text, now: instant }),
    connectionParameters("connected", ({ reports }: Reported) => reports?.connected ?? null),
    connectionParameters("disconnected", ({ reports }: Reported) => reports?.disconnected ?? null),
  ),
)

const finish = call("linking.linked", finishLinking)

const giveUpLinking = sqlFunction(
  "give_up_linking",
  joined(taking({ attempt: text, at: instant, reason: text }), callbackParameters),
)

const giveUp = call("linking.giveUp", giveUpLinking)

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
