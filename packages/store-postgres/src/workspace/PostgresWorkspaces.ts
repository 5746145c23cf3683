/** Workspaces and their plans. */
import { sqlFiles } from "../sql.generated.ts"
import { isSameNumber } from "@messaging-service/core"
import type { Admits, WorkspaceStore } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  boolean,
  columnsOf,
  newestFirst,
  paging,
  instant,
  listed,
  text,
  without,
} from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import {
  call,
  given,
  joinable,
  joined,
  part,
  single,
  sqlFunction,
  statement,
  taking,
} from "../database/Statement.ts"
import { insertNumber, listNumbers } from "../number/PostgresNumbers.ts"
import { toNumber } from "../number/numberRow.ts"
import type { NumberRow } from "../number/numberRow.ts"
import { toWorkspace, workspaceAnswer, workspaceColumns, writtenColumns } from "./workspaceRow.ts"
import type { WorkspaceRow } from "./workspaceRow.ts"

const admitsColumns = columnsOf({
  v2: { admits: boolean((admits) => admits.v2) },
  v1: { admits_v1: boolean((admits) => admits.v1) },
} satisfies FieldsOf<Admits>)

const written = joined(
  part("workspace", single(writtenColumns)),
  part("admits", single(admitsColumns)),
)

const insertWorkspace = statement("workspace.insert", written)`
insert into workspaces (${written.names})
values (${written.placeholders})
returning ${workspaceColumns("workspaces")}`

/** Of two transactions with the same name the second goes on when the first is over. */
const lockName = statement(
  "workspace.ensure",
  given({ name: text }),
)`select pg_advisory_xact_lock(hashtextextended($name, 7205759403792793))`

const oldestNamed = statement(
  "workspace.ensure",
  given({ name: text }),
)(sqlFiles["statements/workspace/oldest-named.sql"])

const workspaceById = `
select ${workspaceColumns("w")}
from workspaces w
where w.id = $id
  and w.deleted_at is null`

const getWorkspace = joinable(
  "workspace.get",
  given({ id: bigint }),
  workspaceAnswer,
)(workspaceById)

const lockWorkspace = statement(
  "workspace.lock",
  given({ id: bigint }),
)`${workspaceById} for no key update`

const listWorkspaces = statement("workspace.list", given({ ...paging }))`
select ${workspaceColumns("w")}
from workspaces w
where w.deleted_at is null
  and ${newestFirst("w")}`

const changed = { ...without(writtenColumns, "created_at"), ...admitsColumns }

const updateWorkspace = statement("workspace.update", joined(given({ id: bigint }), written))`
update workspaces w
set ${listed(changed, (name) => `${name} = $${name}`)}
where w.id = $id`

// Index numbers_by_workspace.
const isLaneOf = `l.number_id in (
    select n.id
    from numbers n
    where n.workspace_id = $id
      and n.removed_at is null
  )`

/** Lanes before workspaces, as everywhere. */
const lockLanesOf = statement("workspace.lock", given({ id: bigint }))`
select
from lanes l
where ${isLaneOf}
order by l.number_id
for no key update`

const disableLanes = statement(
  "workspace.disable",
  given({ id: bigint, disabled: boolean, now: instant }),
)(sqlFiles["statements/workspace/disable-lanes.sql"])

const remove = call(
  "workspace.delete",
  sqlFunction("delete_workspace", taking({ id: bigint, now: instant })),
)

export const workspaceStore = (database: DatabaseService): typeof WorkspaceStore.Service => ({
  insert: (workspace, admits) =>
    Effect.flatMap(
      insertWorkspace.first(database, { workspace, admits }, toWorkspace),
      (inserted) =>
        inserted === null
          ? Effect.die(new Error("an insert returned nothing"))
          : Effect.succeed(inserted),
    ),
  ensure: (wanted, wantedAdmits, numbers) =>
    database.transaction(
      "workspace.ensure",
      Effect.fnUntraced(function* (run) {
        yield* lockName.within(run, wanted)
        const [found] = yield* oldestNamed.within<WorkspaceRow>(run, wanted)
        const [row] =
          found === undefined
            ? yield* insertWorkspace.within<WorkspaceRow>(run, {
                workspace: wanted,
                admits: wantedAdmits,
              })
            : [found]
        if (row === undefined) return yield* Effect.die(new Error("an insert returned nothing"))
        const workspace = toWorkspace(row)
        const rows = yield* listNumbers.within<NumberRow>(run, { workspaceId: workspace.id })
        const present = rows.map(toNumber)
        for (const { number, pacing } of numbers) {
          if (present.some((one) => isSameNumber(one, number))) continue
          const made = { ...number, workspaceId: workspace.id }
          const inserted = yield* insertNumber.within<NumberRow>(run, { number: made, pacing })
          present.push(...inserted.map(toNumber))
        }
        return workspace
      }),
    ),
  get: (id) => getWorkspace.first(database, { id }, toWorkspace),
  list: (page) => listWorkspaces.page(database, "workspaces", page, toWorkspace),
  update: (id, decide, now) =>
    database.transaction(
      "workspace.update",
      Effect.fnUntraced(function* (run) {
        yield* lockLanesOf.within(run, { id })
        // Acceptance takes allowance under the same lock: what is read here is what is there.
        const [row] = yield* lockWorkspace.within<WorkspaceRow>(run, { id })
        if (row === undefined) return null
        const current = toWorkspace(row)
        const { admits, change } = decide(current)
        const workspace = { ...current, ...change }
        yield* updateWorkspace.within(run, { id, workspace, admits })
        const disabled = workspace.accountDisabled
        if (disabled !== current.accountDisabled) {
          yield* disableLanes.within(run, { id, disabled, now })
        }
        return workspace
      }),
    ),
  delete: (id, now) => remove.holds(database, { id, now }),
  isEmpty: Effect.map(
    database.query("workspace.isEmpty", "select from workspaces limit 1"),
    (rows) => rows.length === 0,
  ),
})
