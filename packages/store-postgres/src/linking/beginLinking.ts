/**
 * Beginning an attempt at linking, of a new number or of one that is there.
 *
 * Locks: the claim first, as everywhere. For a new number the workspace, so that numbers are counted
 * and made one after the other; an operator who adds one is not counted and not held up. For one that
 * is there its lane, as before every change of its status.
 */
import type { LinkingAttempt, LinkingView, NewAttempt, NumberId } from "@messaging-service/core"
import {
  bigint,
  boolean,
  columnsOf,
  instant,
  millis,
  selected,
  text,
  without,
} from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"
import { call, joined, part, single, sqlFunction, taking } from "../database/Statement.ts"
import { numberTable } from "../number/numberRow.ts"
import { pacingColumn } from "../queue/lane.ts"
import { claimParameters } from "../PostgresIdempotency.ts"

/** What an attempt shows. */
export const viewColumns = columnsOf({
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

export type AttemptRow = RowOf<typeof columns>

export const attemptColumns = selected(columns, "a")

export const toAttempt = (row: AttemptRow): LinkingAttempt => ({
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

export const add = call("linking.add", addLinking)

const reconnectLinking = sqlFunction(
  "reconnect_linking",
  joined(taking({ workspaceId: bigint, numberId: bigint }), parameters),
)

export const reconnect = call("linking.reconnect", reconnectLinking)
