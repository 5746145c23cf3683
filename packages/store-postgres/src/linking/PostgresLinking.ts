/** Attempts at linking numbers to phones. */
import { LinkingStore } from "@messaging-service/core"
import type {
  Callback,
  BrokenLinkingGuard,
  IdempotencyClaim,
  LinkingAttempt,
  LinkingId,
  LinkingOutcome,
  LoginMethod,
  Mode,
  NewAttempt,
  NumberId,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { callConnection, callbackNews, connectionArguments } from "../callback/writeCallbacks.ts"
import { Database } from "../database/Database.ts"
import {
  bigint,
  bigints,
  boolean,
  instant,
  integer,
  integers,
  text,
  texts,
} from "../database/parameters.ts"
import { DeliveriesQueued } from "../webhook/DeliveriesQueued.ts"
import { placeholders } from "../database/SqlFunction.ts"
import { fitsShare, isFree } from "../queue/lane.ts"
import { numberColumns, toNumber } from "../number/numberRow.ts"
import type { NumberRow } from "../number/numberRow.ts"
import { addLinking, reconnectLinking } from "./beginLinking.ts"
import { finishLinking, giveUpLinking } from "./endLinking.ts"

interface AttemptRow {
  readonly number_id: bigint
  readonly id: string
  readonly mode: string
  readonly method: string
  readonly phone: string | null
  readonly phone_before: string | null
  readonly requested_at: Date
  readonly ends_at: Date
  readonly links_at: Date | null
  readonly qr_text: string | null
  readonly pairing_code: string | null
  readonly pairing_code_expires_at: Date | null
  readonly linking: boolean
}

interface ClaimedRow extends AttemptRow {
  readonly lease: bigint
  readonly workspace_id: bigint
}

const columns = `
  a.number_id, a.id, a.mode, a.method, a.phone, a.phone_before, a.requested_at, a.ends_at,
  a.links_at, a.qr_text, a.pairing_code, a.pairing_code_expires_at, a.linking`

const addStatement = `
select b.number_id, b.guard
from ${addLinking.name}(${placeholders(21)}) b`

const reconnectStatement = `select ${reconnectLinking.name}(${placeholders(18)}) as guard`

// A later statement than the one that wrote it: a function's effects are not seen by its caller.
const getNumber = `
select ${numberColumns("n")}
from numbers n
where n.id = $1`

const getAttempt = `
select ${columns}
from linking_attempts a
where a.number_id = $1`

/**
 * Index linking_attempts_due. What is claimed at the same moment is passed over: the row is looked at
 * once more when it is locked.
 */
const claimAttempts = `
with due as (
  select
    a.number_id, a.due_at,
    ${fitsShare("n.workspace_id", "a.due_at, a.number_id", {
      workspaces: "$5::bigint[]",
      held: "$6::integer[]",
      perWorkspace: "$4::integer",
    })} as fits
  from linking_attempts a
  join numbers n on n.id = a.number_id
  where a.due_at <= $1
    and a.mode = 'live'
    and a.ends_at > $1
    and ${isFree("a", "$1")}
),
free as (
  select a.number_id
  from linking_attempts a
  where a.number_id = any (
      array(
        select due.number_id
        from due
        where due.fits
        order by due.due_at, due.number_id
        limit $3
      )
    )
    and a.due_at <= $1
    and ${isFree("a", "$1")}
  order by a.due_at, a.number_id
  for update skip locked
)
update linking_attempts a
set lease = a.lease + 1,
  lease_until = $2
from free
join numbers n on n.id = free.number_id
where a.number_id = free.number_id
returning ${columns}, a.lease, n.workspace_id`

const renewAttempts = `
update linking_attempts a
set lease_until = $3
from unnest($1::text[], $2::bigint[]) held (id, lease)
where a.id = held.id
  and a.lease = held.lease
returning a.id`

/** In the order of `connectionArguments`. */
const shownCallback = {
  workspace: "$7::bigint",
  target: "$8::text",
  url: "$9::text",
  created_at: "$10::timestamptz",
  event_id: "$11::text",
  type: "$12::text",
  body: "$13::text",
}

/** A QR code that is there already is not reported again: the answer of the store may get lost. */
const showAttempt = `
with before as (
  select a.number_id, a.qr_text
  from linking_attempts a
  where a.id = $1
    and a.lease = $2
  for no key update
),
shown as (
  update linking_attempts a
  set qr_text = $3,
    pairing_code = $4,
    pairing_code_expires_at = $5,
    linking = $6
  from before
  where a.number_id = before.number_id
  returning a.id, a.number_id
),
${callConnection(
  (name) => shownCallback[name],
  `from before
      join numbers n on n.id = before.number_id
      where before.qr_text is distinct from $3
        and n.callback_url = $9
        and n.removed_at is null
        and $11::text is not null`,
)},
called_news as (
  ${callbackNews}
)
select shown.id
from shown`

const takeAttempt = `
update linking_attempts a
set linking = true
where a.id = $1
  and a.ends_at > $2
returning a.id`

const finishStatement = `select ${finishLinking.name}(${placeholders(17)}) as number_id`

const giveUpStatement = `select ${giveUpLinking.name}(${placeholders(8)}) as ended`

// Index linking_attempts_ending.
const lapsedAttempts = `
select ${columns}
from linking_attempts a
where a.ends_at <= $1
order by a.ends_at, a.number_id
limit $2`

// Index linking_attempts_due.
const dueTestAttempts = `
select ${columns}
from linking_attempts a
where a.due_at <= $1
  and a.links_at <= $1
  and a.ends_at > $1
order by a.due_at, a.number_id
limit $2`

const attemptParameters = (attempt: NewAttempt, claim: IdempotencyClaim | null) => [
  text(attempt.id),
  text(attempt.mode),
  text(attempt.method),
  text(attempt.phone),
  instant(attempt.requestedAt),
  instant(attempt.endsAt),
  instant(attempt.linksAt),
  text(attempt.qrText),
  text(attempt.pairingCode?.code ?? null),
  instant(attempt.pairingCode?.expiresAt ?? null),
  boolean(attempt.linking),
  text(attempt.callbackUrl),
  bigint(claim?.keyId ?? null),
  text(claim?.key ?? null),
  text(claim?.fingerprint ?? null),
  text(claim?.token ?? null),
]

const broken = (guard: BrokenLinkingGuard): LinkingOutcome => ({ _tag: "Broken", guard })

export const layerLinking = Layer.effect(
  LinkingStore,
  Effect.gen(function* () {
    const database = yield* Database
    const { tell } = yield* DeliveriesQueued
    const told = (callback: Callback | null) => (callback === null ? Effect.void : tell)

    const numberOf = (id: bigint) =>
      Effect.map(
        database.query<NumberRow>("linking.number", getNumber, [bigint(Number(id))]),
        ([row]) => (row === undefined ? null : toNumber(row)),
      )

    return LinkingStore.of({
      add: (number, attempt, limit, claim) =>
        Effect.map(
          database.query<{
            readonly number_id: bigint | null
            readonly guard: BrokenLinkingGuard | null
          }>("linking.add", addStatement, [
            bigint(number.workspaceId),
            text(number.label),
            text(number.platform),
            instant(number.createdAt),
            bigint(limit),
            ...attemptParameters(attempt, claim),
          ]),
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
          const [row] = yield* database.query<{ readonly guard: BrokenLinkingGuard | null }>(
            "linking.reconnect",
            reconnectStatement,
            [bigint(workspaceId), bigint(numberId), ...attemptParameters(attempt, claim)],
          )
          if (row === undefined || row.guard !== null) return broken(row?.guard ?? "number")
          const number = yield* numberOf(BigInt(numberId))
          return number === null
            ? broken("number")
            : // As this commit left it, whatever has become of it since.
              { _tag: "Begun", number: { ...number, status: "connecting" } }
        }),
      get: (numberId) =>
        Effect.map(
          database.query<AttemptRow>("linking.get", getAttempt, [bigint(numberId)]),
          ([row]) => (row === undefined ? null : toAttempt(row)),
        ),
      claim: ({ held, leaseUntil, limit, now, perWorkspace }) =>
        Effect.map(
          database.query<ClaimedRow>("linking.claim", claimAttempts, [
            instant(now),
            instant(leaseUntil),
            integer(limit),
            integer(perWorkspace),
            bigints([...held.keys()]),
            integers([...held.values()]),
          ]),
          (rows) =>
            rows.map((row) => ({
              attempt: toAttempt(row),
              workspaceId: Number(row.workspace_id) as WorkspaceId,
              lease: Number(row.lease),
            })),
        ),
      renew: (held, leaseUntil) =>
        Effect.map(
          database.query<{ readonly id: string }>("linking.renew", renewAttempts, [
            texts(held.map(({ id }) => id)),
            bigints(held.map(({ lease }) => lease)),
            instant(leaseUntil),
          ]),
          (rows) => new Set(rows.map((row) => row.id as LinkingId)),
        ),
      show: (id, lease, { linking, pairingCode, qrText }, callback = null) =>
        database
          .query("linking.show", showAttempt, [
            text(id),
            bigint(lease),
            text(qrText),
            text(pairingCode?.code ?? null),
            instant(pairingCode?.expiresAt ?? null),
            boolean(linking),
            ...connectionArguments(callback),
          ])
          .pipe(
            Effect.tap(told(callback)),
            Effect.map((rows) => rows.length > 0),
          ),
      taken: (id, now) =>
        Effect.map(
          database.query("linking.taken", takeAttempt, [text(id), instant(now)]),
          (rows) => rows.length > 0,
        ),
      linked: (id, phone, now, reports = null) =>
        Effect.gen(function* () {
          const [row] = yield* database.query<{ readonly number_id: bigint | null }>(
            "linking.linked",
            finishStatement,
            [
              text(id),
              text(phone),
              instant(now),
              ...connectionArguments(reports?.connected ?? null),
              ...connectionArguments(reports?.disconnected ?? null),
            ],
          )
          yield* told(reports?.connected ?? null)
          return row === undefined || row.number_id === null ? null : yield* numberOf(row.number_id)
        }),
      giveUp: (id, callback = null) =>
        database
          .query<{ readonly ended: boolean }>("linking.giveUp", giveUpStatement, [
            text(id),
            ...connectionArguments(callback),
          ])
          .pipe(
            Effect.tap(told(callback)),
            Effect.map(([row]) => row?.ended ?? false),
          ),
      lapsed: (now, limit) =>
        Effect.map(
          database.query<AttemptRow>("linking.lapsed", lapsedAttempts, [
            instant(now),
            integer(limit),
          ]),
          (rows) => rows.map(toAttempt),
        ),
      dueTest: (now, limit) =>
        Effect.map(
          database.query<AttemptRow>("linking.dueTest", dueTestAttempts, [
            instant(now),
            integer(limit),
          ]),
          (rows) => rows.map(toAttempt),
        ),
    })
  }),
)

const toAttempt = (row: AttemptRow): LinkingAttempt => ({
  id: row.id as LinkingId,
  numberId: Number(row.number_id) as NumberId,
  mode: row.mode as Mode,
  method: row.method as LoginMethod,
  phone: row.phone,
  replaced:
    row.phone_before === null ? null : { phone: row.phone_before === "" ? null : row.phone_before },
  requestedAt: row.requested_at.getTime(),
  endsAt: row.ends_at.getTime(),
  linksAt: row.links_at?.getTime() ?? null,
  qrText: row.qr_text,
  pairingCode:
    row.pairing_code === null || row.pairing_code_expires_at === null
      ? null
      : { code: row.pairing_code, expiresAt: row.pairing_code_expires_at.getTime() },
  linking: row.linking,
})
