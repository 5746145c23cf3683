/**
 * Beginning an attempt at linking, of a new number or of one that is there.
 *
 * Locks: the claim first, as everywhere. For a new number the workspace, so that numbers are counted
 * and made one after the other; an operator who adds one is not counted and not held up. For one that
 * is there its lane, as before every change of its status.
 */
import type {
  IdempotencyClaim,
  LinkingAttempt,
  LinkingView,
  NewAttempt,
  NumberId,
  SendingNumber,
} from "@messaging-service/core/ports"
import {
  bigint,
  boolean,
  columnsOf,
  instant,
  listed,
  millis,
  selected,
  text,
  within,
  without,
} from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"
import { sqlFunction } from "../database/SqlFunction.ts"
import { joined, on, single, statement } from "../database/Statement.ts"
import { numberTable } from "../number/numberRow.ts"
import { claimColumns, finishesClaim, isClaimHeld } from "../request/PostgresIdempotency.ts"

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

interface Beginning {
  readonly attempt: NewAttempt
  readonly claim: IdempotencyClaim | null
}

const parameters = joined(
  on(
    ({ attempt }: Beginning) => attempt,
    single(
      { ...newColumns, callback_url: text((attempt: NewAttempt) => attempt.callbackUrl) },
      "a_",
    ),
  ),
  single(within(({ claim }: Beginning) => claim, claimColumns)),
)

/** The attempt's row, and the end of the claim. A number that is not connecting has no other row. */
const insertAttempt = (number: string, phoneBefore: string) => `insert into linking_attempts (
      number_id, phone_before, ${listed(newColumns)}
    )
    values (${number}, ${phoneBefore}, ${listed(newColumns, (name) => `a_${name}`)});
    ${finishesClaim(`array[${number}]`, "a_requested_at")};`

const newNumberColumns = without(numberTable, "id", "status")

interface Addition extends Beginning {
  readonly number: Omit<SendingNumber, "id" | "status">
  /** How many numbers the workspace may hold; null for any number. */
  readonly limit: number | null
}

const addParameters = joined<Addition>(
  on((addition: Addition) => addition.number, single(newNumberColumns, "n_")),
  single({ p_limit: bigint((addition: Addition) => addition.limit) }),
  parameters,
)

/** The new number's id, or the guard that did not hold. */
export const addLinking = sqlFunction(
  "add_linking",
  `(${addParameters.declarations})
  returns table (number_id bigint, guard text)
  language plpgsql
  as $function$
  #variable_conflict use_column
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

    -- Index numbers_by_workspace. A later statement than the lock: it sees all that went before.
    if p_limit <= (
      select count(*)
      from numbers n
      where n.workspace_id = n_workspace_id
        and n.removed_at is null
    ) then
      return query select null::bigint, 'limit';
      return;
    end if;

    insert into numbers (status, callback_url, ${listed(newNumberColumns)})
    values ('connecting', a_callback_url, ${listed(newNumberColumns, (name) => `n_${name}`)})
    returning id into v_number;
    insert into lanes (number_id, workspace_id, connected)
    values (v_number, n_workspace_id, false);
    ${insertAttempt("v_number", "null")}
    return query select v_number, null::text;
  end
  $function$`,
)

export const add = statement("linking.add", addParameters)`
select b.number_id, b.guard
from ${addLinking.name}(${addParameters.placeholders}) b`

interface Reconnection extends Beginning {
  readonly workspaceId: number
  readonly numberId: number
}

const reconnectParameters = joined<Reconnection>(
  single({
    p_workspace: bigint((reconnection: Reconnection) => reconnection.workspaceId),
    p_number: bigint((reconnection: Reconnection) => reconnection.numberId),
  }),
  parameters,
)

/** The guard that did not hold; null when the attempt has begun. */
export const reconnectLinking = sqlFunction(
  "reconnect_linking",
  `(${reconnectParameters.declarations})
  returns text
  language plpgsql
  as $function$
  declare
    -- As the attempt keeps it.
    v_before text;
  begin
    if not ${isClaimHeld} then
      return 'idempotency';
    end if;

    perform
    from lanes l
    where l.number_id = p_number
      and l.workspace_id = p_workspace
    for no key update;

    -- A later statement than the lock: it sees all that went before.
    select coalesce(n.phone, '')
    into v_before
    from numbers n
    where n.id = p_number
      and a_phone is not null;

    update numbers n
    set status = 'connecting',
      login_method = a_method,
      phone = coalesce(a_phone, n.phone),
      callback_url = a_callback_url
    where n.id = p_number
      and n.workspace_id = p_workspace
      and n.removed_at is null
      and n.status = 'disconnected';
    if not found then
      return 'number';
    end if;
    ${insertAttempt("p_number", "v_before")}
    return null;
  end
  $function$`,
)

export const reconnect = statement(
  "linking.reconnect",
  reconnectParameters,
)`select ${reconnectLinking.name}(${reconnectParameters.placeholders}) as guard`
