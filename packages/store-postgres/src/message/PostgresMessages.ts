/** Messages: accepting, reading, ending, and what the worker's sweeps look for. */
import { MessageStore } from "@messaging-service/core"
import type { Message } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { coalesced } from "../database/Coalesced.ts"
import { coalescing } from "../database/coalescing.ts"
import { Database } from "../database/Database.ts"
import {
  bigint,
  bigints,
  bigintsOrNull,
  instant,
  integer,
  text,
  texts,
} from "../database/parameters.ts"
import { DeliveriesQueued } from "../webhook/DeliveriesQueued.ts"
import { accept } from "./acceptMessages.ts"
import { hasExpired, inHands, notExpired } from "../queue/lane.ts"
import { releaseClaim } from "../request/releaseClaim.ts"
import { end } from "./endMessages.ts"
import { insertRefused } from "./insertRefused.ts"
import { listMessages } from "./listMessages.ts"
import { load } from "./loadAcceptance.ts"
import { messageColumns, toMessage } from "./messageRow.ts"
import type { MessageRow } from "./messageRow.ts"

const getMessage = `
select ${messageColumns("m")}, ${inHands("m", "l")} as in_flight
from messages m
left join lanes l on l.number_id = m.number_id
where m.id = $1
  and m.workspace_id = $2
  and m.mode = $3
  and ($4::bigint[] is null or m.number_id = any ($4))`

const messagesByIds = `
select ${messageColumns("m")}
from unnest($1::bigint[]) with ordinality asked (id, place)
join messages m on m.id = asked.id
order by asked.place`

// Index messages_expiring.
const expiredMessages = `
select ${messageColumns("m")}
from messages m
where m.state = 'waiting'
  and ${hasExpired("m", "$1")}
  and not exists (
    select
    from lanes l
    where l.number_id = m.number_id
      and ${inHands("m", "l")}
  )
order by m.expires_at
limit $2`

// Index messages_test_due.
const dueTestMessages = `
select ${messageColumns("m")}
from messages m
where m.state = 'waiting'
  and m.mode = 'test'
  and m.due_at <= $1
  and ${notExpired("m", "$1")}
  and not exists (
    select
    from lanes l
    where l.number_id = m.number_id
      and l.removed_at is not null
  )
order by m.due_at, m.id
limit $2`

// Index lanes_stranded, then messages_waiting.
const strandedMessages = `
select ${messageColumns("m")}
from lanes l
cross join lateral (
  select *
  from messages w
  where w.number_id = l.number_id
    and w.state = 'waiting'
    and not ${inHands("w", "l")}
  limit $1
) m
where l.stranded
limit $1`

/** Locks the message alone, and so tells how it really stands; neither lane nor workspace matter. */
const tickMessage = `
with known as materialized (
  select *
  from messages m
  where m.transport_id = $1
  limit 1
  for no key update
),
moved as (
  update messages m
  set state = $3
  from known
  where m.id = known.id
    and known.state = any ($2)
  returning ${messageColumns("m")}
)
select *
from moved
union all
select ${messageColumns("known")}
from known
where known.state <> all ($2)`

export const layerMessages = Layer.effect(
  MessageStore,
  Effect.gen(function* () {
    const database = yield* Database
    const queued = yield* DeliveriesQueued
    const messages = (operation: string, statement: string, parameters: ReadonlyArray<unknown>) =>
      Effect.map(database.query<MessageRow>(operation, statement, parameters), (rows) =>
        rows.map(toMessage),
      )
    return MessageStore.of({
      loadAcceptance: yield* coalesced(load(database), coalescing(database)),
      accept: yield* coalesced(accept(database), coalescing(database)),
      insertRefused: insertRefused(database, queued),
      releaseClaim: releaseClaim(database),
      get: (scope, id) =>
        Effect.map(
          database.query<MessageRow & { readonly in_flight: boolean }>("message.get", getMessage, [
            bigint(id),
            bigint(scope.workspaceId),
            text(scope.mode),
            bigintsOrNull(scope.restriction),
          ]),
          ([row]) =>
            row === undefined ? null : { message: toMessage(row), inFlight: row.in_flight },
        ),
      byIds: (ids) =>
        ids.length === 0
          ? Effect.succeed<ReadonlyArray<Message>>([])
          : messages("message.byIds", messagesByIds, [bigints(ids)]),
      list: listMessages(database),
      end: end(database, queued),
      expired: (now, limit) =>
        messages("message.expired", expiredMessages, [instant(now), integer(limit)]),
      dueTest: (now, limit) =>
        messages("message.dueTest", dueTestMessages, [instant(now), integer(limit)]),
      stranded: (limit) => messages("message.stranded", strandedMessages, [integer(limit)]),
      tick: (transportId, from, state) =>
        Effect.map(
          messages("message.tick", tickMessage, [text(transportId), texts(from), text(state)]),
          ([message]) => message ?? null,
        ),
    })
  }),
)
