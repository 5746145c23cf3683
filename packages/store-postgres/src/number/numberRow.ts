/** A number as its table keeps it. */
import type { NumberId, SendingNumber, WorkspaceId } from "@messaging-service/core"
import type { Row } from "../database/Sql.ts"

export type NumberRow = Row<"number.get">

export const toNumber = (row: NumberRow): SendingNumber => ({
  id: Number(row.id) as NumberId,
  workspaceId: Number(row.workspace_id) as WorkspaceId,
  mode: row.mode as SendingNumber["mode"],
  phone: row.phone as SendingNumber["phone"],
  label: row.label,
  platform: row.platform as SendingNumber["platform"],
  status: row.status as SendingNumber["status"],
  loginMethod: row.login_method as SendingNumber["loginMethod"],
  createdAt: row.created_at.getTime(),
})
