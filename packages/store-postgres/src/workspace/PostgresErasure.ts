/**
 * Erasing what has outlived its retention. Each statement walks lists of rows (the messages, events or
 * attempts of one workspace) from the oldest, erases a few, and says where the next one goes on. A list
 * ends at the first row that was made when its moment had come: no row ends before it is made.
 */
import { erasedAtOnce } from "@messaging-service/core/ports"
import type {
  EndedBefore,
  ErasureStore,
  Mode,
  RetainedWorkspace,
  StoreUnavailable,
  WorkspaceId,
} from "@messaging-service/core/ports"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, bigints, instant, integer, millis, text } from "../database/Fields.ts"
import { call, each, given, joined, part, sqlFunction, statement } from "../database/Statement.ts"
import type { Statement } from "../database/Statement.ts"
import { slack } from "../message/listMessages.ts"

/** Whose rows a list holds: those of a workspace in a mode, or of a webhook endpoint. */
interface List {
  readonly owner: number
  readonly mode: Mode | null
  readonly before: number
}

/** Where a statement stopped: a list, from 1, and the last row of it that was looked at. */
interface Place {
  readonly list: number
  readonly after: number
}

const walking = joined(
  part(
    "lists",
    each({
      p_owner: bigint((list: List) => list.owner),
      p_mode: text((list: List) => list.mode),
      p_before: instant((list: List) => list.before),
    }),
  ),
  part(
    "place",
    given({ list: integer, after: bigint }, (name) => `p_${name}`),
  ),
  given({ most: integer }, (name) => `p_${name}`),
)

/**
 * A function that walks and erases. `rows` selects a list's rows as `r`, with their `id`, `made_at` and
 * whether they are `erasable`; `erase` deletes those whose ids are in `v_ids`.
 */
const walk = (
  name: string,
  { erase, rows }: { readonly rows: string; readonly erase: string },
) => sqlFunction(name, walking, "table (next_list integer, next_after bigint)")`
  declare
    v_ids bigint[] = '{}';
    v_looked_at integer = 0;
    v_row record;
  begin
    <<lists>>
    while p_list <= cardinality(p_owner) loop
      for v_row in
        ${rows}
        order by r.id
      loop
        exit when v_row.made_at >= p_before[p_list] + ${slack};
        p_after := v_row.id;
        v_looked_at := v_looked_at + 1;
        if v_row.erasable then
          v_ids := v_ids || v_row.id;
        end if;
        exit lists when cardinality(v_ids) = p_most or v_looked_at = 10 * p_most;
      end loop;
      p_list := p_list + 1;
      p_after := 0;
    end loop;
    ${erase}
    return query select p_list, p_after;
  end`

/** When a message ended, of one that does not wait. */
const endedAt = (message: string): string =>
  `coalesce(${message}.ended_at, ${message}.sent_at, (
            select applied.applied_at
            from schema_migrations applied
            where applied.id = 35
          ))`

// Index messages_by_workspace. What a simulated phone shows of a message goes with it.
const eraseMessages = walk("erase_messages", {
  rows: `select
          r.id, r.created_at as made_at,
          r.state <> 'waiting' and ${endedAt("r")} < p_before[p_list] as erasable
        from messages r
        where r.workspace_id = p_owner[p_list]
          and r.mode = p_mode[p_list]
          and r.id > p_after`,
  erase: `delete from simulated_sent s
    using messages m
    where m.id = any (v_ids)
      and s.number_id = m.number_id
      and s.transport_id = m.transport_id;
    delete from messages m
    where m.id = any (v_ids);`,
})

// Index outbox_by_workspace. One look at what is to be delivered tells which of them must stay. By
// then they are locked: a redelivery locks its event too, so it is seen here or finds the event gone.
const eraseEvents = walk("erase_events", {
  rows: `select r.id, r.created_at as made_at, r.created_at < p_before[p_list] as erasable
        from outbox r
        where r.workspace_id = p_owner[p_list]
          and r.id > p_after`,
  erase: `if cardinality(v_ids) > 0 then
      perform
      from outbox o
      where o.id = any (v_ids)
      order by o.id
      for update;
      delete from outbox o
      where o.id = any (v_ids)
        and o.id <> all (array(
          select d.outbox_id
          from webhook_deliveries d
          where d.outbox_id = any (v_ids)
        ));
    end if;`,
})

/** Of the log of deliveries, by an index that begins with that column. */
const attemptsBy = (column: string) => ({
  rows: `select r.id, r.attempted_at as made_at, r.attempted_at < p_before[p_list] as erasable
        from webhook_attempts r
        where r.${column} = p_owner[p_list]
          and r.id > p_after`,
  erase: `delete from webhook_attempts a
    where a.id = any (v_ids);`,
})

// Index webhook_attempts_by_endpoint.
const eraseAttempts = walk("erase_attempts", attemptsBy("endpoint_id"))

// Index webhook_attempts_of_callbacks.
const eraseCallbackAttempts = walk("erase_callback_attempts", attemptsBy("workspace_id"))

interface PlaceRow {
  readonly next_list: number
  readonly next_after: bigint
}

/** From the first list to the end of the last. */
const walkAll = (
  database: DatabaseService,
  walked: Statement<{
    readonly lists: ReadonlyArray<List>
    readonly place: Place
    readonly most: number
  }>,
  lists: ReadonlyArray<List>,
): Effect.Effect<void, StoreUnavailable> =>
  Effect.gen(function* () {
    let place: Place = { list: 1, after: 0 }
    while (place.list <= lists.length) {
      const [row] = yield* walked.rows<PlaceRow>(database, { lists, place, most: erasedAtOnce })
      if (row === undefined) return
      place = { list: row.next_list, after: Number(row.next_after) }
    }
  })

const listWorkspaces = statement("erasure.workspaces", given({ after: bigint, limit: integer }))`
select w.id, w.retention_days, w.deleted_at
from workspaces w
where w.id > $after
  and w.erased_at is null
order by w.id
limit $limit`

interface WorkspaceRow {
  readonly id: bigint
  readonly retention_days: number | null
  readonly deleted_at: Date | null
}

const toWorkspace = (row: WorkspaceRow): RetainedWorkspace => ({
  id: Number(row.id) as WorkspaceId,
  retentionDays: row.retention_days,
  deletedAt: millis(row.deleted_at),
})

// Index webhook_endpoints_ever_by_workspace.
const endpointsOf = statement("erasure.endpoints", given({ ids: bigints }))`
select e.id, e.workspace_id
from webhook_endpoints e
where e.workspace_id = any ($ids)
order by e.id`

interface EndpointRow {
  readonly id: bigint
  readonly workspace_id: bigint
}

const messages = call("erasure.messages", eraseMessages)
const events = call("erasure.events", eraseEvents)
const attempts = call("erasure.attempts", eraseAttempts)
const callbackAttempts = call("erasure.callbackAttempts", eraseCallbackAttempts)

export const erasureStore = (database: DatabaseService): typeof ErasureStore.Service => ({
  workspaces: (after, limit) => listWorkspaces.all(database, { after, limit }, toWorkspace),
  eraseEnded: (workspaces) =>
    Effect.gen(function* () {
      const listOf =
        (mode: Mode | null) =>
        ({ endedBefore, workspaceId }: EndedBefore): List => ({
          owner: workspaceId,
          mode,
          before: endedBefore,
        })
      yield* walkAll(database, messages, [
        ...workspaces.map(listOf("live")),
        ...workspaces.map(listOf("test")),
      ])
      const lists = workspaces.map(listOf(null))
      yield* walkAll(database, events, lists)
      yield* walkAll(database, callbackAttempts, lists)
      const befores = new Map(lists.map(({ before, owner }) => [owner, before]))
      const endpoints = yield* endpointsOf.rows<EndpointRow>(database, { ids: [...befores.keys()] })
      const ofEndpoints = endpoints.map((row) => ({
        owner: Number(row.id),
        mode: null,
        before: befores.get(Number(row.workspace_id)) ?? Number.NEGATIVE_INFINITY,
      }))
      yield* walkAll(database, attempts, ofEndpoints)
    }),
})

export const erasureFunctions = [eraseMessages, eraseEvents, eraseAttempts, eraseCallbackAttempts]
