/** A number as its table keeps it. */
import type {
  LoginMethod,
  Mode,
  NumberId,
  NumberStatus,
  Platform,
  SendingNumber,
  WorkspaceId,
} from "@messaging-service/core"

export interface NumberRow {
  readonly id: bigint
  readonly workspace_id: bigint
  readonly mode: string
  readonly phone: string | null
  readonly label: string
  readonly platform: string
  readonly status: string
  readonly login_method: string
  readonly created_at: Date
}

/** The columns of a `NumberRow`, to select from the table of that alias. */
export const numberColumns = (alias: string): string =>
  [
    "id",
    "workspace_id",
    "mode",
    "phone",
    "label",
    "platform",
    "status",
    "login_method",
    "created_at",
  ]
    .map((name) => `${alias}.${name}`)
    .join(", ")

export const toNumber = (row: NumberRow): SendingNumber => ({
  id: Number(row.id) as NumberId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode as Mode,
  phone: row.phone,
  label: row.label,
  platform: row.platform as Platform,
  status: row.status as NumberStatus,
  loginMethod: row.login_method as LoginMethod,
  createdAt: row.created_at.getTime(),
})
