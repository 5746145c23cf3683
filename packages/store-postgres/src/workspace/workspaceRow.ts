/** A workspace as its table keeps it, with the plan's columns inline. */
import type { Plan, Workspace, WorkspaceId } from "@messaging-service/core"
import { bigint, boolean, text } from "../database/parameters.ts"

export interface WorkspaceRow {
  readonly id: bigint
  readonly name: string
  readonly demo: boolean
  readonly account_disabled: boolean
  readonly api_v2_enabled: boolean
  readonly plan_name: string | null
  readonly plan_messages_remaining: bigint | null
  readonly plan_reminders: boolean
  readonly plan_qr_code_api: boolean
  readonly plan_max_numbers: bigint | null
  readonly plan_media_storage_bytes: bigint
  readonly created_at: Date
  readonly deleted_at: Date | null
}

const columns = {
  id: "bigint",
  name: "text",
  demo: "boolean",
  account_disabled: "boolean",
  api_v2_enabled: "boolean",
  plan_name: "text",
  plan_messages_remaining: "bigint",
  plan_reminders: "boolean",
  plan_qr_code_api: "boolean",
  plan_max_numbers: "bigint",
  plan_media_storage_bytes: "bigint",
  created_at: "timestamptz",
  deleted_at: "timestamptz",
} as const satisfies Record<keyof WorkspaceRow, string>

/** The columns of a `WorkspaceRow`, to select from the table of that alias. */
export const workspaceColumns = (alias: string, prefix = ""): string =>
  Object.keys(columns)
    .map((name) => (prefix === "" ? `${alias}.${name}` : `${alias}.${name} as ${prefix}${name}`))
    .join(", ")

/** The same as the result of a function, with a prefix to each name. */
export const workspaceResult = (prefix: string): string =>
  Object.entries(columns)
    .map(([name, type]) => `${prefix}${name} ${type}`)
    .join(", ")

const numberOrNull = (value: bigint | null): number | null =>
  value === null ? null : Number(value)

const toPlan = (
  row: Pick<
    WorkspaceRow,
    | "plan_name"
    | "plan_messages_remaining"
    | "plan_reminders"
    | "plan_qr_code_api"
    | "plan_max_numbers"
    | "plan_media_storage_bytes"
  >,
): Plan | null =>
  row.plan_name === null
    ? null
    : {
        name: row.plan_name,
        messagesRemaining: numberOrNull(row.plan_messages_remaining),
        reminders: row.plan_reminders,
        qrCodeApi: row.plan_qr_code_api,
        maxNumbers: numberOrNull(row.plan_max_numbers),
        mediaStorageBytes: Number(row.plan_media_storage_bytes),
      }

export const toWorkspace = (row: WorkspaceRow): Workspace => ({
  id: Number(row.id) as WorkspaceId,
  name: row.name,
  demo: row.demo,
  accountDisabled: row.account_disabled,
  apiV2Enabled: row.api_v2_enabled,
  plan: toPlan(row),
  createdAt: row.created_at.getTime(),
  deletedAt: row.deleted_at === null ? null : row.deleted_at.getTime(),
})

/** The core's `messagesRemaining` and `isLimited`, of the row of a workspace. */
export const messagesRemaining = (workspace: string): string =>
  `case when ${workspace}.plan_name is null then 0 else ${workspace}.plan_messages_remaining end`

export const isLimited = (workspace: string): string =>
  `(${workspace}.plan_name is not null and ${workspace}.plan_messages_remaining is not null)`

/** The names of a plan's columns, in the order of `planParameters`. */
export const planColumns = [
  "plan_name",
  "plan_messages_remaining",
  "plan_reminders",
  "plan_qr_code_api",
  "plan_max_numbers",
  "plan_media_storage_bytes",
] as const

export const planParameters = (plan: Plan | null): ReadonlyArray<unknown> => [
  text(plan?.name ?? null),
  bigint(plan?.messagesRemaining ?? null),
  boolean(plan?.reminders ?? false),
  boolean(plan?.qrCodeApi ?? false),
  bigint(plan?.maxNumbers ?? null),
  bigint(plan?.mediaStorageBytes ?? 0),
]
