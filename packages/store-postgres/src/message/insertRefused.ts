/**
 * Writing a message that was refused, as it has ended. Its event names its id, so the id is drawn
 * first; one that is drawn for nothing leaves a harmless gap.
 *
 * Locks: the lane, so that neither number nor workspace go meanwhile; the lane stays as it is.
 */
import type {
  Message,
  MessageChange,
  MessageId,
  RefusedMessage,
  StoreUnavailable,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, listed } from "../database/Fields.ts"
import { sqlFunction } from "../database/SqlFunction.ts"
import { given, joined, on, single, statement } from "../database/Statement.ts"
import { anyQueued } from "../webhook/queueDeliveries.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import { announce, newsColumns } from "./changes.ts"
import { acceptedColumns, endColumns } from "./messageRow.ts"

const messageColumns = {
  id: bigint((message: Message) => message.id),
  ...acceptedColumns,
  ...endColumns,
}

const parameters = joined(
  on((change: MessageChange) => change.message, single(messageColumns, "m_")),
  single(newsColumns, "p_"),
)

/** Whether deliveries were queued; no row when the number is gone. */
export const insertRefusedMessage = sqlFunction(
  "insert_refused_message",
  `(${parameters.declarations})
  returns table (queued boolean)
  language plpgsql
  as $function$
  #variable_conflict use_column
  begin
    perform
    from lanes l
    where l.number_id = m_number_id
      and l.workspace_id = m_workspace_id
      and l.removed_at is null
    for no key update;
    if not found then
      return;
    end if;

    insert into messages (allowance_taken, refused, ${listed(messageColumns)})
    values (false, true, ${listed(messageColumns, (name) => `m_${name}`)});

    return query
    with ended as (
      select
        m_id as id, m_workspace_id as workspace_id, m_mode as mode, 1 as place,
        ${listed(newsColumns, (name) => `p_${name} as ${name}`)}
    ),
    ${announce}
    select ${anyQueued};
  end
  $function$`,
)

const nextId = statement("message.nextId", given({}))`select nextval('messages_id_seq') as id`

const insert = statement(
  "message.insertRefused",
  parameters,
)`select r.queued from ${insertRefusedMessage.name}(${parameters.placeholders}) r`

export const insertRefused =
  (database: DatabaseService, { tell }: Pick<typeof DeliveriesQueued.Service, "tell">) =>
  (refused: RefusedMessage): Effect.Effect<MessageChange | null, StoreUnavailable> =>
    Effect.gen(function* () {
      const [drawn] = yield* nextId.rows<{ readonly id: bigint }>(database, {})
      const change = refused.ended(Number(drawn?.id) as MessageId)
      const [row] = yield* insert.rows<{ readonly queued: boolean }>(database, change)
      if (row === undefined) return null
      if (row.queued) yield* tell
      return change
    })
