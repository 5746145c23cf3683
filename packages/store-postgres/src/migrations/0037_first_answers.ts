/** A repeat of POST /numbers is answered as the first request was, whatever the number shows since. */
import type { Migration } from "./migrate.ts"

export const firstAnswers: Migration = {
  id: 37,
  name: "first_answers",
  sql: `
-- Phone and label of a reconnected number, as the first answer showed them.
alter table idempotency_records add column shown jsonb;

-- Serves the erasure of a number; holds only records of reconnected numbers.
create index idempotency_records_of_numbers on idempotency_records ((made_ids[1]))
  where shown is not null;
`,
}
