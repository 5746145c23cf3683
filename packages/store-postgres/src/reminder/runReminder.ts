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
import { sqlFunction } from "../database/SqlFunction.ts"
import { joined, on, single, statement } from "../database/Statement.ts"
import { acceptMessages, acceptParameters, batchOf, toOutcome } from "../message/acceptMessages.ts"
import type { Batch, OutcomeRow } from "../message/acceptMessages.ts"

/** A reminder's advance to its next due time. */
export const advanceColumns = columnsOf({
  id: { r_id: bigint((run) => run.id) },
  revision: { r_revision: bigint((run) => run.revision) },
  dueAt: { r_due_at: instant((run) => run.dueAt) },
  ranAt: { r_ran_at: instant((run) => run.ranAt) },
  nextRunAt: { r_next_run_at: instant((run) => run.nextRunAt) },
} satisfies FieldsOf<ReminderRun>)

interface Run {
  readonly advance: ReminderRun
  readonly batch: Batch
}

const parameters = joined(
  on((one: Run) => one.advance, single(advanceColumns)),
  on((one: Run) => one.batch, acceptParameters),
)

/** The run, then the parameters of an acceptance, which are for one alone. */
export const runReminder = sqlFunction(
  "run_reminder",
  `(
    ${parameters.declarations},
    out guard text,
    out ids bigint[]
  )
  language plpgsql
  as $function$
  begin
    perform
    from reminders r
    where r.id = r_id
      and r.revision = r_revision
      and r.removed_at is null
    for no key update;
    if not found then
      guard := 'reminder';
      return;
    end if;

    select a.guard, a.ids
    into guard, ids
    from ${acceptMessages.name}(${acceptParameters.names}) a;
    if guard is not null then
      return;
    end if;

    update reminders r
    set next_run_at = r_next_run_at,
      revision = r.revision + 1,
      previous_number_id = p_number[1]
    where r.id = r_id;
    insert into reminder_runs (reminder_id, due_at, ran_at, message_id, outcome)
    values (r_id, r_due_at, r_ran_at, ids[1], 'accepted');
  end
  $function$`,
)

const runStatement = statement("reminder.run", parameters)`
select r.guard, r.ids
from ${runReminder.name}(${parameters.placeholders}) r`

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
