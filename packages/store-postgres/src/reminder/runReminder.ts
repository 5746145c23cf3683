/**
 * A reminder's run: the acceptance of its message and its advance to the next due time, in one
 * commit.
 *
 * Locks: the reminder, then those of an acceptance. No holder of one of these asks for a reminder.
 */
import type {
  Acceptance,
  ReminderRun,
  RunCommit,
  StoreUnavailable,
} from "@messaging-service/core/ports"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, columnsOf, instant } from "../database/Fields.ts"
import type { FieldsOf } from "../database/Fields.ts"
import { call, joined, part, single, sqlFunction } from "../database/Statement.ts"
import { acceptMessages, acceptParameters, batchOf, toOutcome } from "../message/acceptMessages.ts"
import type { OutcomeRow } from "../message/acceptMessages.ts"

/** A reminder's advance to its next due time. */
export const advanceColumns = columnsOf({
  id: { r_id: bigint((run) => run.id) },
  revision: { r_revision: bigint((run) => run.revision) },
  dueAt: { r_due_at: instant((run) => run.dueAt) },
  ranAt: { r_ran_at: instant((run) => run.ranAt) },
  nextRunAt: { r_next_run_at: instant((run) => run.nextRunAt) },
} satisfies FieldsOf<ReminderRun>)

/** The run, then the parameters of an acceptance, which are for one alone. */
export const runReminder = sqlFunction(
  "run_reminder",
  joined(part("advance", single(advanceColumns)), part("batch", acceptParameters)),
  "table (guard text, ids bigint[])",
)`
  begin
    perform
    from reminders r
    where r.id = r_id
      and r.revision = r_revision
      and r.removed_at is null
    for no key update;
    if not found then
      guard := 'reminder';
    else
      select a.guard, a.ids
      into guard, ids
      from ${acceptMessages.name}(${acceptParameters.names}) a;
    end if;

    if guard is null then
      update reminders r
      set next_run_at = r_next_run_at,
        revision = r.revision + 1,
        previous_number_id = p_number[1]
      where r.id = r_id;
      insert into reminder_runs (reminder_id, due_at, ran_at, message_id, outcome)
      values (r_id, r_due_at, r_ran_at, ids[1], 'accepted');
    end if;
    return next;
  end`

const runStatement = call("reminder.run", runReminder)

export const run =
  (database: DatabaseService) =>
  (acceptance: Acceptance, advance: ReminderRun): Effect.Effect<RunCommit, StoreUnavailable> =>
    Effect.map(
      runStatement.rows<OutcomeRow<"reminder">>(database, {
        advance,
        batch: batchOf([acceptance]),
      }),
      ([row]) => (row === undefined ? { _tag: "Broken", guard: "reminder" } : toOutcome(row)),
    )
