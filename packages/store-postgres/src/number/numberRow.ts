/** A number as its table keeps it. */
import type { NumberId, SendingNumber, WorkspaceId } from "@messaging-service/core"
import { bigint, columnsOf, instant, selected, text } from "../database/Fields.ts"
import type { FieldsOf, RowOf } from "../database/Fields.ts"

const numberFields = {
  id: { id: bigint((number) => number.id) },
  workspaceId: { workspace_id: bigint((number) => number.workspaceId) },
  mode: { mode: text((number) => number.mode) },
  phone: { phone: text((number) => number.phone) },
  label: { label: text((number) => number.label) },
  platform: { platform: text((number) => number.platform) },
  status: { status: text((number) => number.status) },
  loginMethod: { login_method: text((number) => number.loginMethod) },
  createdAt: { created_at: instant((number) => number.createdAt) },
} satisfies FieldsOf<SendingNumber>

export const numberTable = columnsOf(numberFields)

export type NumberRow = RowOf<typeof numberTable>

/** The columns of a `NumberRow`, to select from the table of that alias. */
export const numberColumns = (alias: string): string => selected(numberTable, alias)

export const toNumber = (row: NumberRow): SendingNumber => ({
  id: Number(row.id) as NumberId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode,
  phone: row.phone,
  label: row.label,
  platform: row.platform,
  status: row.status,
  loginMethod: row.login_method,
  createdAt: row.created_at.getTime(),
})
