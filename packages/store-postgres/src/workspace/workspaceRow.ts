/** A workspace as its table keeps it, with the plan's columns inline. */
import type { NewWorkspace, Plan, Workspace, WorkspaceId } from "@messaging-service/core"
import {
  bigint,
  boolean,
  columnsOf,
  instant,
  integer,
  millis,
  selected,
  text,
  within,
} from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"

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
export const writtenColumns = columnsOf({
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
export const workspaceColumns = (alias: string): string => selected(columns, alias, prefix)

/** What these columns are. */
export const workspaceAnswer = Object.fromEntries(
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
