/** Workspaces and their plans. */
import { isSameNumber } from "@messaging-service/core"
import type {
  Admits,
  Contact,
  ContactId,
  ContactStore,
  NewWorkspace,
  Plan,
  Workspace,
  WorkspaceId,
  WorkspaceStore,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import {
  bigint,
  boolean,
  columnsOf,
  decoded,
  instant,
  integer,
  listed,
  millis,
  newestFirst,
  paging,
  selected,
  text,
  within,
  without,
} from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"
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
import { toNumber } from "../number/numberRow.ts"
import type { NumberRow } from "../number/numberRow.ts"
import { insertNumber, listNumbers } from "../number/numbers.ts"
import { sqlFiles } from "../sql.generated.ts"

// A workspace as its table keeps it, with the plan's columns inline.

type StoredPlan = Omit<Plan, "name"> & { readonly name: string | null }

const noPlan: StoredPlan = {
  name: null,
  messagesRemaining: null,
  reminders: false,
  qrCodeApi: false,
  maxNumbers: null,
  mediaStorageBytes: 0,
}

const planFields = {
  name: { plan_name: text((plan) => plan.name) },
  messagesRemaining: { plan_messages_remaining: bigint((plan) => plan.messagesRemaining) },
  reminders: { plan_reminders: boolean((plan) => plan.reminders) },
  qrCodeApi: { plan_qr_code_api: boolean((plan) => plan.qrCodeApi) },
  maxNumbers: { plan_max_numbers: bigint((plan) => plan.maxNumbers) },
  mediaStorageBytes: { plan_media_storage_bytes: bigint((plan) => plan.mediaStorageBytes) },
} satisfies FieldsOf<Plan, StoredPlan>

/** What is written of a new workspace, and of a changed one. */
const writtenColumns = columnsOf({
  name: { name: text((workspace) => workspace.name) },
  demo: { demo: boolean((workspace) => workspace.demo) },
  accountDisabled: { account_disabled: boolean((workspace) => workspace.accountDisabled) },
  apiV2Enabled: { api_v2_enabled: boolean((workspace) => workspace.apiV2Enabled) },
  plan: within(
    (workspace: Pick<Workspace, "plan">) => workspace.plan ?? noPlan,
    columnsOf(planFields),
  ),
  retentionDays: { retention_days: integer((workspace) => workspace.retentionDays) },
  createdAt: { created_at: instant((workspace) => workspace.createdAt) },
} satisfies FieldsOf<NewWorkspace>)

const columns = {
  id: bigint((workspace: Workspace) => workspace.id),
  ...writtenColumns,
  deleted_at: instant((workspace: Workspace) => workspace.deletedAt),
}

/** The names begin so that they can stand beside those of a key or of a reminder. */
const prefix = "w_"

export type WorkspaceRow = RowOf<typeof columns, typeof prefix>

/** The columns of a `WorkspaceRow`, to select from the table of that alias. */
const workspaceColumns = (alias: string): string => selected(columns, alias, prefix)

/** What these columns are. */
const workspaceAnswer = Object.fromEntries(
  Object.entries(columns).map(([name, column]) => [`${prefix}${name}`, column]),
)

const numberOrNull = (value: bigint | null): number | null =>
  value === null ? null : Number(value)

export const toWorkspace = (row: WorkspaceRow): Workspace => ({
  id: Number(row.w_id) as WorkspaceId,
  name: row.w_name,
  demo: row.w_demo,
  accountDisabled: row.w_account_disabled,
  apiV2Enabled: row.w_api_v2_enabled,
  plan:
    row.w_plan_name === null
      ? null
      : {
          name: row.w_plan_name,
          messagesRemaining: numberOrNull(row.w_plan_messages_remaining),
          reminders: row.w_plan_reminders,
          qrCodeApi: row.w_plan_qr_code_api,
          maxNumbers: numberOrNull(row.w_plan_max_numbers),
          mediaStorageBytes: Number(row.w_plan_media_storage_bytes),
        },
  retentionDays: row.w_retention_days,
  createdAt: row.w_created_at.getTime(),
  deletedAt: millis(row.w_deleted_at),
})

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

// Saved contacts.

const contactFields = {
  id: { id: bigint((contact) => contact.id) },
  workspaceId: { workspace_id: bigint((contact) => contact.workspaceId) },
  name: { name: text((contact) => contact.name) },
  phone: { phone: text((contact) => contact.phone) },
  username: { username: text((contact) => contact.username) },
  createdAt: { created_at: instant((contact) => contact.createdAt) },
} satisfies FieldsOf<Contact>

const contactColumns = columnsOf(contactFields)
const toContact = decoded<Contact>(contactFields)

const made = single(without(contactColumns, "id"))

const insertContact = statement("contact.insert", made)`
insert into contacts (${made.names})
values (${made.placeholders})
returning id`

// Index contacts_by_workspace.
const listContacts = statement("contact.list", given({ workspaceId: bigint, ...paging }))`
select ${selected(contactColumns, "c")}
from contacts c
where c.workspace_id = $workspaceId
  and ${newestFirst("c")}`

const deleteContact = statement("contact.delete", given({ workspaceId: bigint, id: bigint }))`
delete from contacts c
where c.id = $id
  and c.workspace_id = $workspaceId
returning c.id`

export const contactStore = (database: DatabaseService): typeof ContactStore.Service => ({
  insert: (contact) =>
    Effect.map(insertContact.value<bigint>(database, contact), (id) => ({
      ...contact,
      id: Number(id) as ContactId,
    })),
  list: (workspaceId, page) =>
    listContacts.page(database, workspaceId, { ...page, workspaceId }, toContact),
  delete: (workspaceId, id) => deleteContact.any(database, { workspaceId, id }),
})
