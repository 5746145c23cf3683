/**
 * A reminder's run: the acceptance of its message and its advance to the next due time, in one
 * commit.
 *
 * Locks: the reminder, then those of an acceptance. No holder of one of these asks for a reminder.
 */
import type { Acceptance, ReminderRun, RunCommit, StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigint, instant } from "../database/parameters.ts"
import { placeholders, sqlFunction } from "../database/SqlFunction.ts"
import {
  acceptance,
  acceptMessages,
  acceptParameters,
  toOutcome,
} from "../message/acceptMessages.ts"
import type { OutcomeRow } from "../message/acceptMessages.ts"

/** The run, then the parameters of an acceptance, which are for one alone. */
export const runReminder = sqlFunction(
  "run_reminder",
  `(
    r_id bigint,
    r_revision bigint,
    r_due_at timestamptz,
    r_ran_at timestamptz,
    r_next_run_at timestamptz,
    ${acceptance.declarations},
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
    from ${acceptMessages.name}(${acceptance.names.join(", ")}) a;
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

const parameterCount = 5 + acceptance.names.length

const runStatement = `
select r.guard, r.ids
from ${runReminder.name}(${placeholders(parameterCount)}) r`

export const run =
  (database: DatabaseService) =>
  (one: Acceptance, advance: ReminderRun): Effect.Effect<RunCommit, StoreUnavailable> =>
    Effect.map(
      database.query<OutcomeRow<"reminder">>("reminder.run", runStatement, [
        bigint(advance.id),
        bigint(advance.revision),
        instant(advance.dueAt),
        instant(advance.ranAt),
        instant(advance.nextRunAt),
        ...acceptParameters([one]),
      ]),
      ([row]) => (row === undefined ? { _tag: "Broken", guard: "reminder" } : toOutcome(row)),
    )
