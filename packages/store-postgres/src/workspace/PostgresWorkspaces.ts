/** Workspaces and their plans. */
import { WorkspaceStore, pageOf } from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import { bigint, boolean, idBefore, instant, integer, text } from "../database/parameters.ts"
import { deleteWorkspace } from "./deleteWorkspace.ts"
import { planColumns, planParameters, toWorkspace, workspaceColumns } from "./workspaceRow.ts"
import type { WorkspaceRow } from "./workspaceRow.ts"

const insertWorkspace = `
insert into workspaces (
  name, demo, account_disabled, api_v2_enabled, admits, admits_v1, created_at, ${planColumns.join(", ")}
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
returning ${workspaceColumns("workspaces")}`

const getWorkspace = `
select ${workspaceColumns("w")}
from workspaces w
where w.id = $1
  and w.deleted_at is null`

const listWorkspaces = `
select ${workspaceColumns("w")}
from workspaces w
where w.deleted_at is null
  and w.id < $1
order by w.id desc
limit $2`

const updateWorkspace = `
update workspaces w
set name = $2,
  demo = $3,
  account_disabled = $4,
  api_v2_enabled = $5,
  admits = $6,
  admits_v1 = $7,
  ${planColumns.map((name, index) => `${name} = $${index + 8}`).join(",\n  ")}
where w.id = $1`

const deleteStatement = `select ${deleteWorkspace.name}($1, $2) as deleted`

export const layerWorkspaces = Layer.effect(
  WorkspaceStore,
  Effect.gen(function* () {
    const database = yield* Database
    return WorkspaceStore.of({
      insert: (workspace, admits) =>
        database
          .query<WorkspaceRow>("workspace.insert", insertWorkspace, [
            text(workspace.name),
            boolean(workspace.demo),
            boolean(workspace.accountDisabled),
            boolean(workspace.apiV2Enabled),
            boolean(admits.v2),
            boolean(admits.v1),
            instant(workspace.createdAt),
            ...planParameters(workspace.plan),
          ])
          .pipe(
            Effect.flatMap(([row]) =>
              row === undefined
                ? Effect.die(new Error("an insert returned nothing"))
                : Effect.succeed(toWorkspace(row)),
            ),
          ),
      get: (id) =>
        Effect.map(
          database.query<WorkspaceRow>("workspace.get", getWorkspace, [bigint(id)]),
          ([row]) => (row === undefined ? null : toWorkspace(row)),
        ),
      list: ({ before, limit }) =>
        Effect.map(
          database.list<WorkspaceRow>("workspaces", "workspace.list", listWorkspaces, [
            idBefore(before),
            integer(limit + 1),
          ]),
          (rows) => pageOf(rows.map(toWorkspace), limit),
        ),
      update: (id, decide) =>
        database.transaction(
          "workspace.update",
          Effect.fnUntraced(function* (run) {
            // Acceptance takes allowance under the same lock: what is read here is what is there.
            const [row] = yield* run<WorkspaceRow>(`${getWorkspace} for no key update`, [
              bigint(id),
            ])
            if (row === undefined) return null
            const current = toWorkspace(row)
            const { admits, change } = decide(current)
            const changed = { ...current, ...change }
            yield* run(updateWorkspace, [
              bigint(id),
              text(changed.name),
              boolean(changed.demo),
              boolean(changed.accountDisabled),
              boolean(changed.apiV2Enabled),
              boolean(admits.v2),
              boolean(admits.v1),
              ...planParameters(changed.plan),
            ])
            return changed
          }),
        ),
      delete: (id, now) =>
        Effect.map(
          database.query<{ readonly deleted: boolean }>("workspace.delete", deleteStatement, [
            bigint(id),
            instant(now),
          ]),
          (rows) => rows[0]?.deleted ?? false,
        ),
      isEmpty: Effect.map(
        database.query("workspace.isEmpty", "select from workspaces limit 1"),
        (rows) => rows.length === 0,
      ),
    })
  }),
)
