/** Workspaces and their plans. */
import { contactAddress, missingNumbers } from "@messaging-service/core"
import type {
  Admits,
  Contact,
  ContactId,
  ContactStore,
  InsertedContact,
  NewWorkspace,
  Workspace,
  WorkspaceId,
  WorkspaceStore,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { millis, numberOrNull, statement } from "../database/Sql.ts"
import type { Params, Row } from "../database/Sql.ts"
import { toNumber } from "../number/numberRow.ts"
import { insertNumber, listNumbers, toNewNumber } from "../number/numbers.ts"

// A workspace as its table keeps it, with the plan's columns inline. Columns have the prefix `w_`, so that one
// row can also hold a key or a reminder.

export type WorkspaceRow = Row<"workspace.get">

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

/** What is written of a new workspace, and of a changed one. */
const toParams = (workspace: NewWorkspace, admits: Admits): Params<"workspace.insert"> => ({
  name: workspace.name,
  demo: workspace.demo,
  accountDisabled: workspace.accountDisabled,
  apiV2Enabled: workspace.apiV2Enabled,
  planName: workspace.plan?.name ?? null,
  planMessagesRemaining: workspace.plan?.messagesRemaining ?? null,
  planReminders: workspace.plan?.reminders ?? false,
  planQrCodeApi: workspace.plan?.qrCodeApi ?? false,
  planMaxNumbers: workspace.plan?.maxNumbers ?? null,
  planMediaStorageBytes: workspace.plan?.mediaStorageBytes ?? 0,
  retentionDays: workspace.retentionDays,
  createdAt: workspace.createdAt,
  admits: admits.v2,
  admitsV1: admits.v1,
})

const insertWorkspace = statement("workspace.insert")
const lockName = statement("workspace.lockName")
const oldestNamed = statement("workspace.oldestNamed")
const getWorkspace = statement("workspace.get", { joinable: true })
const lockWorkspace = statement("workspace.lock")
const listWorkspaces = statement("workspace.list")
const updateWorkspace = statement("workspace.update")
const checkCampaigns = statement("workspace.lookAtCampaigns")
const lockLanes = statement("workspace.lockLanes")
const disableLanes = statement("workspace.disable")
const remove = statement("delete_workspace")
/** No session of a disabled workspace continues. */
const endPortal = statement("end_portal")

export const workspaceStore = (database: DatabaseService): WorkspaceStore => ({
  insert: (workspace, admits) =>
    Effect.flatMap(
      insertWorkspace.first(database, toParams(workspace, admits), toWorkspace),
      (inserted) =>
        inserted === null
          ? Effect.die(new Error("an insert returned nothing"))
          : Effect.succeed(inserted),
    ),
  ensure: (requested, requestedAdmits, numbers) =>
    database.transaction(
      "workspace.ensure",
      Effect.fnUntraced(function* (run) {
        yield* lockName.in(run, requested)
        const [found] = yield* oldestNamed.in(run, requested)
        const rows =
          found === undefined
            ? []
            : yield* listNumbers.in(run, { workspaceId: toWorkspace(found).id })
        const { plan } = found === undefined ? requested : toWorkspace(found)
        const missing = missingNumbers(numbers, rows.map(toNumber), plan)
        if (missing === null) return null
        const [row] =
          found === undefined
            ? yield* insertWorkspace.in(run, toParams(requested, requestedAdmits))
            : [found]
        if (row === undefined) return yield* Effect.die(new Error("an insert returned nothing"))
        const workspace = toWorkspace(row)
        for (const { number, pacing } of missing) {
          const created = { ...number, workspaceId: workspace.id }
          yield* insertNumber.in(run, toNewNumber(created, pacing))
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
        yield* checkCampaigns.in(run, { id, now })
        yield* lockLanes.in(run, { id })
        // Acceptance takes allowance under the same lock: what is read here is what is there.
        const [row] = yield* lockWorkspace.in(run, { id })
        if (row === undefined) return null
        const current = toWorkspace(row)
        const { admits, change } = decide(current)
        const workspace = { ...current, ...change }
        yield* updateWorkspace.in(run, { ...toParams(workspace, admits), id })
        const disabled = workspace.accountDisabled
        if (disabled !== current.accountDisabled) {
          yield* disableLanes.in(run, { id, disabled, now })
          if (disabled) yield* endPortal.in(run, { workspaceId: id, now })
        }
        return workspace
      }),
    ),
  delete: (id, now) => remove.isTrue(database, { id, now }),
  isEmpty: Effect.map(
    database.query("workspace.isEmpty", "select from workspaces limit 1"),
    (rows) => rows.length === 0,
  ),
})

// Saved contacts.

const toContact = (row: Row<"contact.list">): Contact => ({
  id: Number(row.id) as ContactId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  name: row.name,
  phone: row.phone as Contact["phone"],
  username: row.username,
  createdAt: row.created_at.getTime(),
})

const insertContact = statement("contact.insert")
const listContacts = statement("contact.list")
const deleteContact = statement("contact.delete")

export const contactStore = (database: DatabaseService): ContactStore => ({
  insertContact: (contact) =>
    insertContact.one(
      database,
      { ...contact, address: contactAddress(contact) },
      (row): InsertedContact => {
        const id = Number(row.id) as ContactId
        return row.isNew
          ? { _tag: "Inserted", contact: { ...contact, id } }
          : { _tag: "Exists", id }
      },
    ),
  listContacts: (workspaceId, page) =>
    listContacts.page(database, workspaceId, { ...page, workspaceId }, toContact),
  deleteContact: (workspaceId, id) => deleteContact.any(database, { workspaceId, id }),
})
