/** The workspace in the row of an admission, beside its key. */
import type { Workspace } from "@messaging-service/core"
import { toWorkspace } from "../workspace/workspaceRow.ts"
import type { WorkspaceRow } from "../workspace/workspaceRow.ts"

export type WorkspaceOfRow = {
  readonly [Name in keyof WorkspaceRow as `workspace_of_${Name}`]: WorkspaceRow[Name]
}

export const workspaceOf = (row: WorkspaceOfRow): Workspace =>
  toWorkspace({
    id: row.workspace_of_id,
    name: row.workspace_of_name,
    demo: row.workspace_of_demo,
    account_disabled: row.workspace_of_account_disabled,
    api_v2_enabled: row.workspace_of_api_v2_enabled,
    plan_name: row.workspace_of_plan_name,
    plan_messages_remaining: row.workspace_of_plan_messages_remaining,
    plan_reminders: row.workspace_of_plan_reminders,
    plan_qr_code_api: row.workspace_of_plan_qr_code_api,
    plan_max_numbers: row.workspace_of_plan_max_numbers,
    plan_media_storage_bytes: row.workspace_of_plan_media_storage_bytes,
    created_at: row.workspace_of_created_at,
    deleted_at: row.workspace_of_deleted_at,
  })
