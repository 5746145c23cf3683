/** Reminders, and the log of their runs. */
import { pageOf, ReminderStore } from "@messaging-service/core"
import type {
  Mode,
  NumberId,
  ReminderContent,
  ReminderId,
  ReminderScope,
} from "@messaging-service/core"
import { Effect, Layer } from "effect"
import { Database } from "../database/Database.ts"
import {
  bigint,
  bigintsOrNull,
  boolean,
  idBefore,
  instant,
  integer,
  jsonb,
  text,
} from "../database/parameters.ts"
import { toWorkspace, workspaceColumns } from "../workspace/workspaceRow.ts"
import type { WorkspaceRow } from "../workspace/workspaceRow.ts"
import { insertReminder } from "./insertReminder.ts"
import { contentJson, reminderColumns, toReminder, toRun } from "./reminderRow.ts"
import type { MadeRow, ReminderRow, RunRow } from "./reminderRow.ts"
import { run } from "./runReminder.ts"

/** Lines of the log that one statement drops at most. */
const batch = 10_000

const insertStatement = `
select ${insertReminder.name}(
  $1, $2, $3, $4, $5, $6, $7, nullif($8, 'null'::jsonb), $9, $10, $11, $12, $13, $14, $15, $16
) as id`

/** Parameters $1 to $3 of every statement that is about what a key or the operator sees. */
const seen = `r.workspace_id = $1
  and ($2::text is null or r.mode = $2)
  and ($3::bigint[] is null or r.number_id = any ($3))
  and r.removed_at is null`

const getReminder = `
select ${reminderColumns("r")}
from reminders r
where r.id = $4
  and ${seen}`

const madeReminder = `
select ${reminderColumns("r")}, r.original
from reminders r
where r.id = $1`

/** Index reminders_by_activity for those that are active or not, reminders_by_workspace for all. */
const listReminders = (mode: Mode | null, narrowed: boolean) => `
select ${reminderColumns("r")}
from reminders r
where r.workspace_id = $1
  and ${mode === null ? "$2::text is null" : "r.mode = $2"}
  and ($3::bigint[] is null or r.number_id = any ($3))
  and r.removed_at is null
  and r.id < $4
  ${narrowed ? "and r.active = $6" : ""}
order by r.id desc
limit $5`

const updateReminder = `
update reminders r
set number_id = $3,
  name = $4,
  active = $5,
  recipient = $6,
  text = $7,
  media = nullif($8, 'null'::jsonb),
  cron = $9,
  timezone = $10,
  next_run_at = $11,
  revision = r.revision + 1,
  original = coalesce(r.original, ${contentJson("r")})
where r.id = $1
  and r.revision = $2
  and r.removed_at is null
returning r.id`

const removeReminder = `
update reminders r
set removed_at = $5,
  next_run_at = null
where r.id = $4
  and ${seen}
returning r.id`

// Index reminders_due.
const dueReminders = `
select ${reminderColumns("r")}, r.previous_number_id, ${workspaceColumns("w", "workspace_")}
from (
  select *
  from reminders d
  where d.next_run_at <= $1
  order by d.next_run_at, d.id
  limit $2
) r
join workspaces w on w.id = r.workspace_id
order by r.next_run_at, r.id`

const passRun = `
with advanced as (
  update reminders r
  set next_run_at = $3,
    revision = r.revision + 1
  where r.id = $1
    and r.revision = $2
    and r.removed_at is null
  returning r.id
),
logged as (
  insert into reminder_runs (reminder_id, due_at, ran_at, outcome, code)
  select advanced.id, $4, $5, $6, $7
  from advanced
  where $6::text is not null
)
select advanced.id
from advanced`

// Index reminder_runs_by_reminder.
const listRuns = `
select l.id, l.due_at, l.ran_at, l.message_id, l.outcome, l.code
from reminder_runs l
where l.reminder_id = $1
  and l.id < $2
order by l.id desc
limit $3`

// Index reminder_runs_by_age.
const forgetRuns = `
delete from reminder_runs l
where l.id in (
  select o.id
  from reminder_runs o
  where o.ran_at < $1
    -- A reminder goes on showing its latest run. Index reminder_runs_by_reminder.
    and (
      exists (
        select
        from reminder_runs n
        where n.reminder_id = o.reminder_id
          and n.id > o.id
      )
      or not exists (
        select
        from reminders r
        where r.id = o.reminder_id
          and r.removed_at is null
      )
    )
  order by o.ran_at
  limit $2
)
returning l.id`

// Index reminders_removed.
const forgetReminders = `
delete from reminders r
where r.removed_at < $1`

type DueRow = ReminderRow & { readonly previous_number_id: bigint | null } & {
  readonly [Name in keyof WorkspaceRow as `workspace_${Name}`]: WorkspaceRow[Name]
}

const workspaceOf = (row: DueRow) =>
  toWorkspace({
    id: row.workspace_id,
    name: row.workspace_name,
    demo: row.workspace_demo,
    account_disabled: row.workspace_account_disabled,
    api_v2_enabled: row.workspace_api_v2_enabled,
    plan_name: row.workspace_plan_name,
    plan_messages_remaining: row.workspace_plan_messages_remaining,
    plan_reminders: row.workspace_plan_reminders,
    plan_qr_code_api: row.workspace_plan_qr_code_api,
    plan_max_numbers: row.workspace_plan_max_numbers,
    plan_media_storage_bytes: row.workspace_plan_media_storage_bytes,
    created_at: row.workspace_created_at,
    deleted_at: row.workspace_deleted_at,
  })

const scopeParameters = (scope: ReminderScope) => [
  bigint(scope.workspaceId),
  text(scope.mode),
  bigintsOrNull(scope.restriction),
]

/** The number and what follows it, as both statements that write a content name them. */
const contentParameters = (content: ReminderContent) => [
  bigint(content.from),
  text(content.name),
  boolean(content.active),
  jsonb(content.to),
  text(content.text),
  jsonb(content.media),
  text(content.cron),
  text(content.timezone),
]

export const layerReminders = Layer.effect(
  ReminderStore,
  Effect.gen(function* () {
    const database = yield* Database
    const reminder = (operation: string, statement: string, parameters: ReadonlyArray<unknown>) =>
      Effect.map(database.query<ReminderRow>(operation, statement, parameters), ([row]) =>
        row === undefined ? null : toReminder(row),
      )
    /** Whether the statement changed the row it is about. */
    const changed = (operation: string, statement: string, parameters: ReadonlyArray<unknown>) =>
      Effect.map(
        database.query<{ readonly id: bigint }>(operation, statement, parameters),
        (rows) => rows.length > 0,
      )

    return ReminderStore.of({
      insert: (given, idempotency) =>
        Effect.map(
          database.query<{ readonly id: bigint | null }>("reminder.insert", insertStatement, [
            bigint(given.workspaceId),
            text(given.mode),
            ...contentParameters(given),
            instant(given.nextRunAt),
            instant(given.createdAt),
            bigint(idempotency?.keyId ?? null),
            text(idempotency?.key ?? null),
            text(idempotency?.fingerprint ?? null),
            text(idempotency?.token ?? null),
          ]),
          ([row]) =>
            row?.id == null
              ? { _tag: "Broken", guard: "idempotency" }
              : {
                  _tag: "Inserted",
                  reminder: {
                    ...given,
                    id: Number(row.id) as ReminderId,
                    revision: 1,
                    lastRun: null,
                  },
                },
        ),
      get: (scope, id) =>
        reminder("reminder.get", getReminder, [...scopeParameters(scope), bigint(id)]),
      made: (id) =>
        Effect.map(database.query<MadeRow>("reminder.made", madeReminder, [bigint(id)]), ([row]) =>
          row === undefined ? null : { ...toReminder(row), ...row.original },
        ),
      list: (scope, { active }, { before, limit }) =>
        Effect.map(
          database.list<ReminderRow>(
            scope.workspaceId,
            "reminder.list",
            listReminders(scope.mode, active !== null),
            [
              ...scopeParameters(scope),
              idBefore(before),
              integer(limit + 1),
              ...(active === null ? [] : [boolean(active)]),
            ],
          ),
          (rows) => pageOf(rows.map(toReminder), limit),
        ),
      update: (id, revision, content, nextRunAt) =>
        changed("reminder.update", updateReminder, [
          bigint(id),
          bigint(revision),
          ...contentParameters(content),
          instant(nextRunAt),
        ]),
      remove: (scope, id, now) =>
        changed("reminder.remove", removeReminder, [
          ...scopeParameters(scope),
          bigint(id),
          instant(now),
        ]),
      due: (now, limit) =>
        Effect.map(
          database.query<DueRow>("reminder.due", dueReminders, [instant(now), integer(limit)]),
          (rows) =>
            rows.map((row) => ({
              reminder: toReminder(row),
              dueAt: row.next_run_at?.getTime() ?? now,
              previousNumberId:
                row.previous_number_id === null
                  ? null
                  : (Number(row.previous_number_id) as NumberId),
              workspace: workspaceOf(row),
            })),
        ),
      run: run(database),
      pass: (advance, outcome) =>
        changed("reminder.pass", passRun, [
          bigint(advance.id),
          bigint(advance.revision),
          instant(advance.nextRunAt),
          instant(advance.dueAt),
          instant(advance.ranAt),
          text(outcome?.outcome ?? null),
          text(outcome?.code ?? null),
        ]),
      runs: (id, { before, limit }) =>
        Effect.map(
          database.list<RunRow>(`reminder ${id}`, "reminder.runs", listRuns, [
            bigint(id),
            idBefore(before),
            integer(limit + 1),
          ]),
          (rows) => pageOf(rows.map(toRun), limit),
        ),
      forget: (before) =>
        database
          .query("reminder.forgetRuns", forgetRuns, [instant(before), integer(batch)])
          .pipe(
            Effect.repeat({ while: (dropped) => dropped.length === batch }),
            Effect.andThen(database.query("reminder.forget", forgetReminders, [instant(before)])),
            Effect.asVoid,
          ),
    })
  }),
)
