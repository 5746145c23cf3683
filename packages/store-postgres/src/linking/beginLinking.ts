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
  listed,
  millis,
  selected,
  text,
  without,
} from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"
import { call, joined, part, single, sqlFunction, taking } from "../database/Statement.ts"
import { numberTable } from "../number/numberRow.ts"
import { pacingColumn } from "../queue/lane.ts"
import { claimParameters, finishesClaim, isClaimHeld } from "../PostgresIdempotency.ts"

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

/** The attempt's row, and the end of the claim. A number that is not connecting has no other row. */
const insertAttempt = (
  number: string,
  phoneBefore: string,
  shown?: string,
) => `insert into linking_attempts (
      number_id, phone_before, ${listed(newColumns)}
    )
    values (${number}, ${phoneBefore}, ${listed(newColumns, (name) => `a_${name}`)});
    ${finishesClaim(`array[${number}]`, "a_requested_at", shown)};`

/** The core's `holdsAllNumbers`; null without a limit. Index numbers_by_workspace. */
export const holdsAllNumbers = (workspace: string, limit: string): string => `${limit} <= (
      select count(*)
      from numbers n
      where n.workspace_id = ${workspace}
        and n.removed_at is null
    )`

const newNumberColumns = without(numberTable, "id", "status")

/** The new number's id, or the guard that did not hold. Without a limit the workspace may hold any number. */
export const addLinking = sqlFunction(
  "add_linking",
  joined(part("number", single(newNumberColumns, "n_")), taking({ limit: bigint }), parameters),
  "table (number_id bigint, guard text)",
)`
  declare
    v_number bigint;
  begin
    if not ${isClaimHeld} then
      return query select null::bigint, 'idempotency';
      return;
    end if;

    perform
    from workspaces w
    where w.id = n_workspace_id
      and w.deleted_at is null
    for no key update;
    if not found then
      return query select null::bigint, 'number';
      return;
    end if;

    -- A later statement than the lock: it sees all that went before.
    if ${holdsAllNumbers("n_workspace_id", "p_limit")} then
      return query select null::bigint, 'limit';
      return;
    end if;

    insert into numbers (status, callback_url, ${listed(newNumberColumns)})
    values ('connecting', a_callback_url, ${listed(newNumberColumns, (name) => `n_${name}`)})
    returning id into v_number;
    insert into lanes (number_id, workspace_id, connected, pacing, disabled)
    select v_number, n_workspace_id, false, a_pacing, w.account_disabled
    from workspaces w
    where w.id = n_workspace_id;
    ${insertAttempt("v_number", "null")}
    return query select v_number, null::text;
  end`

export const add = call("linking.add", addLinking)

/** The guard that did not hold; null, with what the number shows, when the attempt has begun. */
export const reconnectLinking = sqlFunction(
  "reconnect_linking",
  joined(taking({ workspaceId: bigint, numberId: bigint }), parameters),
  "table (guard text, phone text, label text)",
)`
  declare
    -- As the attempt keeps it.
    v_before text;
    v_phone text;
    v_label text;
  begin
    if not ${isClaimHeld} then
      return query select 'idempotency', null::text, null::text;
      return;
    end if;

    perform
    from lanes l
    where l.number_id = p_number_id
      and l.workspace_id = p_workspace_id
    for no key update;

    -- A later statement than the lock: it sees all that went before.
    select coalesce(n.phone, '')
    into v_before
    from numbers n
    where n.id = p_number_id
      and a_phone is not null;

    update numbers n
    set status = 'connecting',
      status_since = a_requested_at,
      status_reason = null,
      login_method = a_method,
      phone = coalesce(a_phone, n.phone),
      callback_url = a_callback_url
    where n.id = p_number_id
      and n.workspace_id = p_workspace_id
      and n.removed_at is null
      and n.status = 'disconnected'
    returning n.phone, n.label
    into v_phone, v_label;
    if not found then
      return query select 'number', null::text, null::text;
      return;
    end if;

    update lanes l
    set pacing = a_pacing
    where l.number_id = p_number_id
      and l.pacing is null
      and a_pacing is not null;
    ${insertAttempt(
      "p_number_id",
      "v_before",
      "jsonb_build_object('phone', v_phone, 'label', v_label)",
    )}
    return query select null::text, v_phone, v_label;
  end`

export const reconnect = call("linking.reconnect", reconnectLinking)
