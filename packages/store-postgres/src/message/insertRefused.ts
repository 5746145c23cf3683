/**
 * Writing a message that was refused, as it has ended. Its event names its id, so the id is drawn
 * first; one that is drawn for nothing leaves a harmless gap.
 *
 * Locks: the lane, so that neither number nor workspace go meanwhile; the lane stays as it is.
 */
import type {
  MessageChange,
  MessageId,
  RefusedMessage,
  StoreUnavailable,
} from "@messaging-service/core"
import { Effect } from "effect"
import { writeCallbacks } from "../callback/writeCallbacks.ts"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, instant, text } from "../database/parameters.ts"
import { placeholders, sqlFunction } from "../database/SqlFunction.ts"
import type { DeliveriesQueued } from "../webhook/DeliveriesQueued.ts"
import { anyQueued, fanOut } from "../webhook/fanOut.ts"
import { recipientColumns } from "./messageRow.ts"

/** Whether deliveries were queued; no row when the number is gone. */
export const insertRefusedMessage = sqlFunction(
  "insert_refused_message",
  `(
    p_id bigint,
    p_workspace bigint,
    p_number bigint,
    p_mode text,
    p_state text,
    p_created_at timestamptz,
    p_due_at timestamptz,
    p_send_at timestamptz,
    p_expires_at timestamptz,
    p_platform text,
    p_from_phone text,
    p_to_kind text,
    p_to_phone text,
    p_to_name text,
    p_to_contact_id bigint,
    p_text text,
    p_media_id bigint,
    p_attachment_id bigint,
    p_media_url text,
    p_media_type text,
    p_media_file_name text,
    p_error_code text,
    p_error_message text,
    p_transport_id text,
    p_callback_url text,
    p_event_id text,
    p_event_type text,
    p_event_at timestamptz,
    p_event_body text,
    p_callback_target text,
    p_callback_body text
  )
  returns table (queued boolean)
  language plpgsql
  as $function$
  #variable_conflict use_column
  begin
    perform
    from lanes l
    where l.number_id = p_number
      and l.workspace_id = p_workspace
      and l.removed_at is null
    for no key update;
    if not found then
      return;
    end if;

    insert into messages (
      id, workspace_id, number_id, created_at, due_at, send_at, expires_at, to_contact_id, media_id,
      allowance_taken, refused, mode, state, platform, from_phone, to_kind, to_phone, to_name, text,
      media_url, media_type, media_file_name, error_code, error_message, transport_id,
      attachment_id, callback_url
    )
    values (
      p_id, p_workspace, p_number, p_created_at, p_due_at, p_send_at, p_expires_at,
      p_to_contact_id, p_media_id, false, true, p_mode, p_state, p_platform, p_from_phone,
      p_to_kind, p_to_phone, p_to_name, p_text, p_media_url, p_media_type, p_media_file_name,
      p_error_code, p_error_message, p_transport_id, p_attachment_id, p_callback_url
    );

    return query
    with ended as (
      select
        p_workspace as workspace_id, p_event_id as event_id, p_event_at as event_at,
        p_event_type as event_type, p_callback_target as callback_target, p_callback_body as callback_body,
        case when p_callback_body is not null then p_callback_url end as callback_url, 1 as place
    ),
    announced as (
      insert into outbox (workspace_id, message_id, created_at, event_id, type, mode, body)
      values (p_workspace, p_id, p_event_at, p_event_id, p_event_type, p_mode, p_event_body)
      returning id, workspace_id, mode, created_at, event_id, type
    ),
    ${fanOut},
    ${writeCallbacks}
    select ${anyQueued};
  end
  $function$`,
)

const nextId = `select nextval('messages_id_seq') as id`

const statement = `select r.queued from ${insertRefusedMessage.name}(${placeholders(31)}) r`

const parametersOf = ({ callback, event, message }: MessageChange): ReadonlyArray<unknown> => {
  const to = recipientColumns(message.to)
  return [
    bigint(message.id),
    bigint(message.workspaceId),
    bigint(message.from.id),
    text(message.mode),
    text(message.state),
    instant(message.createdAt),
    instant(message.dueAt),
    instant(message.sendAt),
    instant(message.expiresAt),
    text(message.from.platform),
    text(message.from.phone),
    text(to.kind),
    text(to.phone),
    text(to.name),
    bigint(to.contactId),
    text(message.text),
    bigint(message.media?.mediaId ?? null),
    bigint(message.media?.attachmentId ?? null),
    text(message.media?.url ?? null),
    text(message.media?.type ?? null),
    text(message.media?.fileName ?? null),
    text(message.error?.code ?? null),
    text(message.error?.message ?? null),
    text(message.transportId),
    text(message.callbackUrl),
    text(event.id),
    text(event.type),
    instant(event.createdAt),
    text(event.body),
    text(callback?.target ?? null),
    text(callback?.body ?? null),
  ]
}

export const insertRefused =
  (database: DatabaseService, { tell }: Pick<typeof DeliveriesQueued.Service, "tell">) =>
  (refused: RefusedMessage): Effect.Effect<MessageChange | null, StoreUnavailable> =>
    Effect.gen(function* () {
      const [drawn] = yield* database.query<{ readonly id: bigint }>("message.nextId", nextId)
      const change = refused.ended(Number(drawn?.id) as MessageId)
      const [row] = yield* database.query<{ readonly queued: boolean }>(
        "message.insertRefused",
        statement,
        parametersOf(change),
      )
      if (row === undefined) return null
      if (row.queued) yield* tell
      return change
    })
