/** Attempts at linking numbers to phones. */
import type {
  FailedLinkingGuard,
  IdempotencyClaim,
  LinkingAttempt,
  LinkingId,
  LinkingOutcome,
  LinkingStore,
  LinkingView,
  NewAttempt,
  NumberId,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { millis, statement } from "../database/Sql.ts"
import type { Params, Row } from "../database/Sql.ts"
import { toNumber } from "../number/numberRow.ts"
import { pacingOrNull, toOwnedParams, toShareParams } from "../queue/lanes.ts"
import { toClaimParams } from "../request/idempotency.ts"
import { newCallback, toCallbackParams } from "../webhook/queueDeliveries.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"

// Beginning an attempt at linking, of a new number or of one that is there.
// Locks: the claim first, as everywhere. For a new number the workspace, so that numbers are counted
// and made one after the other; an operator who adds one is not counted and not held up. For one that
// is there its lane, as before every change of its status.

const toAttempt = (row: Row<"linking.get">): LinkingAttempt => ({
  id: row.id as LinkingId,
  numberId: Number(row.number_id) as NumberId,
  mode: row.mode as LinkingAttempt["mode"],
  method: row.method as LinkingAttempt["method"],
  phone: row.phone as LinkingAttempt["phone"],
  replaced:
    row.phone_before === null
      ? null
      : {
          phone: (row.phone_before === "" ? null : row.phone_before) as LinkingAttempt["phone"],
        },
  requestedAt: row.requested_at.getTime(),
  endsAt: row.ends_at.getTime(),
  linksAt: millis(row.links_at),
  qrText: row.qr_text,
  qrExpiresAt: millis(row.qr_expires_at),
  pairingCode:
    row.pairing_code === null || row.pairing_code_expires_at === null
      ? null
      : { code: row.pairing_code, expiresAt: row.pairing_code_expires_at.getTime() },
  linking: row.linking,
})

/** What an attempt shows. */
const toView = (view: LinkingView) => ({
  qrText: view.qrText,
  qrExpiresAt: view.qrExpiresAt,
  pairingCode: view.pairingCode?.code ?? null,
  pairingCodeExpiresAt: view.pairingCode?.expiresAt ?? null,
  linking: view.linking,
})

type AttemptParams = Omit<Params<"reconnect_linking">, "numberId" | "workspaceId">

const toNewAttempt = (attempt: NewAttempt, claim: IdempotencyClaim | null): AttemptParams => ({
  aId: attempt.id,
  aMode: attempt.mode,
  aMethod: attempt.method,
  aPhone: attempt.phone,
  aRequestedAt: attempt.requestedAt,
  aEndsAt: attempt.endsAt,
  aLinksAt: attempt.linksAt,
  aQrText: attempt.qrText,
  aQrExpiresAt: attempt.qrExpiresAt,
  aPairingCode: attempt.pairingCode?.code ?? null,
  aPairingCodeExpiresAt: attempt.pairingCode?.expiresAt ?? null,
  aLinking: attempt.linking,
  aCallbackUrl: attempt.callbackUrl,
  aPacing: pacingOrNull(attempt.pacing),
  ...toClaimParams(claim),
})

const toNewNumber = (number: NewNumber, limit: number | null) => ({
  nWorkspaceId: number.workspaceId,
  nMode: number.mode,
  nPhone: number.phone,
  nLabel: number.label,
  nPlatform: number.platform,
  nLoginMethod: number.loginMethod,
  nCreatedAt: number.createdAt,
  limit,
})

const addLinking = statement("add_linking")
const reconnectLinking = statement("reconnect_linking")

// Ending an attempt at linking together with the status of its number.
// Locks: the number's lane first, as before all changes of its status; then, where a phone was revealed,
// the workspace, so that of two numbers that reveal the same one only the first keeps it; then the
// attempt, which may have ended meanwhile.

const finishLinking = statement("finish_linking")
const abandonLinking = statement("give_up_linking")
// A later statement than the one that wrote it: a function's effects are not seen by its caller.
const getNumber = statement("linking.number")
const getAttempt = statement("linking.get")
const claimAttempts = statement("linking.claim")
const renewAttempts = statement("linking.renew")
const showAttempt = statement("linking.show")
const takeAttempt = statement("linking.taken")
const lapsedAttempts = statement("linking.lapsed")
const dueTestAttempts = statement("linking.dueTest")

const broken = (guard: string | null | undefined): LinkingOutcome => ({
  _tag: "Conflict",
  guard: (guard as FailedLinkingGuard | null | undefined) ?? "number",
})

const toStarted = (number: NewNumber, row: Row<"add_linking"> | undefined): LinkingOutcome =>
  row === undefined || row.number_id === null
    ? broken(row?.guard)
    : {
        _tag: "Begun",
        number: { ...number, id: Number(row.number_id) as NumberId, status: "connecting" },
      }

const toClaimed = (row: Row<"linking.claim">) => ({
  attempt: toAttempt(row),
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  lease: Number(row.lease),
})

const toIds = (rows: ReadonlyArray<Row<"linking.renew">>) =>
  new Set(rows.map((row) => row.id as LinkingId))

type NewNumber = Parameters<LinkingStore["addLinking"]>[0]

export const linkingStore = (
  database: DatabaseService,
  { notify }: DeliveriesQueued,
): LinkingStore => {
  const numberOf = (id: number) => getNumber.first(database, { id }, toNumber)

  return {
    addLinking(number, attempt, limit, claim) {
      const params = { ...toNewNumber(number, limit), ...toNewAttempt(attempt, claim) }
      return Effect.map(addLinking.rows(database, params), ([row]) => toStarted(number, row))
    },
    reconnect: Effect.fnUntraced(function* reconnect(workspaceId, numberId, attempt, claim) {
      const params = { workspaceId, numberId, ...toNewAttempt(attempt, claim) }
      const [started] = yield* reconnectLinking.rows(database, params)
      if (started === undefined || started.guard !== null) return broken(started?.guard)
      const number = yield* numberOf(numberId)
      if (number === null) return broken("number")
      // As this commit left it, whatever has become of it since.
      const { label, phone } = started as Pick<SendingNumber, "label" | "phone">
      return { _tag: "Begun", number: { ...number, label, phone, status: "connecting" } }
    }),
    getLinking(numberId) {
      return getAttempt.first(database, { numberId }, toAttempt)
    },
    claimLinkings(query) {
      const { leaseUntil, limit, now } = query
      const owned = toOwnedParams(query.owned)
      const params = { now, leaseUntil, limit, ...owned, ...toShareParams(query) }
      return claimAttempts.all(database, params, toClaimed)
    },
    renewLinkings(leased, leaseUntil) {
      const params = {
        ids: leased.map(({ id }) => id),
        leases: leased.map(({ lease }) => lease),
        leaseUntil,
      }
      return Effect.map(renewAttempts.rows(database, params), toIds)
    },
    showLinking(id, lease, view, callback = null) {
      const params = { id, lease, ...toView(view), ...newCallback(callback) }
      return Effect.tap(showAttempt.any(database, params), callback === null ? Effect.void : notify)
    },
    isLinkingClaimed(id, now) {
      return takeAttempt.any(database, { id, now })
    },
    linked: Effect.fnUntraced(function* linked(id, phone, now, reports = null, events) {
      const ended = yield* finishLinking.value(database, {
        attempt: id,
        phone,
        now,
        ...toCallbackParams("connected", reports?.connected ?? null),
        ...toCallbackParams("disconnected", reports?.disconnected ?? null),
        statusEventId: events?.status ?? null,
        pauseEventId: events?.pause ?? null,
        gapEventId: events?.gap ?? null,
      })
      yield* notify
      return ended === null ? null : yield* numberOf(Number(ended))
    }),
    abandonLinking(id, why, callback = null, events) {
      const event = { statusEventId: events?.status ?? null }
      const params = { attempt: id, ...why, ...newCallback(callback), ...event }
      return Effect.tap(abandonLinking.isTrue(database, params), notify)
    },
    lapsedLinkings(now, limit) {
      return lapsedAttempts.all(database, { now, limit }, toAttempt)
    },
    dueTestLinkings(now, limit) {
      return dueTestAttempts.all(database, { now, limit }, toAttempt)
    },
  }
}
