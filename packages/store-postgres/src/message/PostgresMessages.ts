/** Messages: accepting, reading, ending, and what the worker's sweeps look for. */
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
)`
select ${messageColumns("m")}, :code.is_in_flight(m, l) as in_flight
from messages m
left join lanes l on l.number_id = m.number_id
where m.id = $id
  and m.workspace_id = $workspaceId
  and m.mode = $mode
  and ($restriction::bigint[] is null or m.number_id = any ($restriction))`

const messagesByIds = joinable("message.byIds", given({ ids: bigints }), messageAnswer)`
select ${messageColumns("m")}
from unnest($ids::bigint[]) with ordinality asked (id, place)
join messages m on m.id = asked.id
order by asked.place`

// Index messages_expiring.
const expiredMessages = statement("message.expired", given({ now: instant, limit: integer }))`
select ${messageColumns("m")}
from messages m
where m.state = 'waiting'
  and :code.has_expired(m, $now)
  and not exists (
    select
    from lanes l
    where l.number_id = m.number_id
    and :code.is_in_flight(m, l)
  )
order by m.expires_at
limit $limit`

/**
 * Index messages_test_due_of_workspace, in its words: from one workspace with waiting test messages to the
 * next, and of each the first that are due. What one of them has beyond its share is not read.
 */
const dueTestMessages = statement(
  "message.dueTest",
  given({ now: instant, limit: integer, perWorkspace: integer }),
)`
with recursive owner (id) as (
  (
    select m.workspace_id
    from messages m
    where :code.is_waiting(m)
      and m.mode = 'test'
    order by m.workspace_id
    limit 1
  )
  union all
  select (
    select m.workspace_id
    from messages m
    where :code.is_waiting(m)
      and m.mode = 'test'
      and m.workspace_id > owner.id
    order by m.workspace_id
    limit 1
  )
  from owner
  where owner.id is not null
)
select ${messageColumns("m")}
from owner
cross join lateral (
  select *
  from messages m
  where :code.is_waiting(m)
    and m.mode = 'test'
    and m.workspace_id = owner.id
    and m.due_at <= $now
    and :code.not_expired(m, $now)
    and not exists (
    select
    from lanes l
    where l.number_id = m.number_id
    and (l.removed_at is not null or l.disabled)
  )
  order by m.due_at, m.id
  limit least($perWorkspace::integer, $limit::integer)
) m
order by m.due_at, m.id
limit $limit`

// Index lanes_stranded, then messages_waiting.
const strandedMessages = statement("message.stranded", given({ limit: integer }))`
select ${messageColumns("m")}
from lanes l
cross join lateral (
  select *
  from messages w
  where w.number_id = l.number_id
    and w.state = 'waiting'
    and not :code.is_in_flight(w, l)
  limit $limit
) m
where l.stranded
limit $limit`

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

/** Locks the message alone, and so tells how it really stands; neither lane nor workspace matter. */
const tickMessage = statement(
  "message.tick",
  given({ numberId: bigint, transportId: text, from: texts, state: text }),
)`
with known as materialized (
  select *
  from messages m
  where m.transport_id = $transportId
    and m.number_id = $numberId
  limit 1
  for no key update
),
moved as (
  update messages m
  set state = $state
  from known
  where m.id = known.id
    and known.state = any ($from)
  returning ${messageColumns("m")}
)
select *
from moved
union all
select ${messageColumns("known")}
from known
where known.state <> all ($from)`

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
    stranded: (limit) => strandedMessages.all(database, { limit }, toMessage),
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
