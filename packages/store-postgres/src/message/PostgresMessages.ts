/** Messages: accepting, reading, ending, and what the worker's sweeps look for. */
import { sqlFiles } from "../sql.generated.ts"
import { movedByTick } from "@messaging-service/core"
import type { AcceptanceQuery, Message, MessageStore } from "@messaging-service/core"
import { Effect } from "effect"
import { coalesced, coalescing } from "../database/Coalesced.ts"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, bigints, instant, integer, text, texts } from "../database/Fields.ts"
import { given, joinable, statement } from "../database/Statement.ts"
import { releaseClaim } from "../PostgresIdempotency.ts"
import type { DeliveriesQueued } from "../webhook/queueDeliveries.ts"
import { accept } from "./acceptMessages.ts"
import { end, insertRefused } from "./endMessages.ts"
import { listMessages } from "./listMessages.ts"
import { load } from "./loadAcceptance.ts"
import { messageAnswer, messageColumns, toMessage } from "./messageRow.ts"
import type { MessageRow } from "./messageRow.ts"

const getMessage = statement(
  "message.get",
  given({ id: bigint, workspaceId: bigint, mode: text, restriction: bigints }),
)(sqlFiles["statements/message/get-message.sql"])

const messagesByIds = joinable("message.byIds", given({ ids: bigints }), messageAnswer)`
select ${messageColumns("m")}
from unnest($ids::bigint[]) with ordinality asked (id, place)
join messages m on m.id = asked.id
order by asked.place`

const expiredMessages = statement(
  "message.expired",
  given({ now: instant, limit: integer }),
)(sqlFiles["statements/message/expired-messages.sql"])

const dueTestMessages = statement(
  "message.dueTest",
  given({ now: instant, limit: integer, perWorkspace: integer }),
)(sqlFiles["statements/message/due-test-messages.sql"])

const orphanedMessages = statement(
  "message.orphaned",
  given({ limit: integer }),
)(sqlFiles["statements/message/orphaned-messages.sql"])

// Index messages_by_transport_id.
const getByTransportId = statement(
  "message.byTransportId",
  given({ numberId: bigint, transportId: text }),
)`
select ${messageColumns("m")}
from messages m
where m.transport_id = $transportId
  and m.number_id = $numberId
limit 1`

const tickMessage = statement(
  "message.tick",
  given({ numberId: bigint, transportId: text, from: texts, state: text }),
)(sqlFiles["statements/message/tick-message.sql"])

/** What a request that looks for its claim needs alone. */
const claimOf = ({ idempotency }: AcceptanceQuery): string | null =>
  idempotency === null ? null : `${idempotency.keyId} ${idempotency.key}`

export const messageStore = Effect.fnUntraced(function* (
  database: DatabaseService,
  queued: DeliveriesQueued,
) {
  const store: typeof MessageStore.Service = {
    loadAcceptance: yield* coalesced(load(database), coalescing(database), claimOf),
    accept: yield* coalesced(accept(database), coalescing(database), ({ numberId }) => numberId),
    insertRefused: insertRefused(database, queued),
    releaseClaim: (claim) => releaseClaim.run(database, claim),
    get: (scope, id) =>
      getMessage.first(
        database,
        { ...scope, id },
        (row: MessageRow & { readonly in_flight: boolean }) => ({
          message: toMessage(row),
          inFlight: row.in_flight,
        }),
      ),
    byIds: (ids) =>
      ids.length === 0
        ? Effect.succeed<ReadonlyArray<Message>>([])
        : messagesByIds.all(database, { ids }, toMessage),
    list: listMessages(database),
    end: end(database, queued),
    expired: (now, limit) => expiredMessages.all(database, { now, limit }, toMessage),
    dueTest: (now, limit, perWorkspace) =>
      dueTestMessages.all(database, { now, limit, perWorkspace }, toMessage),
    orphaned: (limit) => orphanedMessages.all(database, { limit }, toMessage),
    byTransportId: (numberId, transportId) =>
      getByTransportId.first(database, { numberId, transportId }, toMessage),
    tick: (numberId, transportId, state) =>
      tickMessage.first(
        database,
        { numberId, transportId, from: movedByTick[state], state },
        toMessage,
      ),
  }
  return store
})
