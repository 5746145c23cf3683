/** Everything that a database of this version holds. */
import { sqlFiles } from "../sql.generated.ts"
import type { Schema } from "./migrate.ts"

/**
 * `sql/schema.sql` is what a new database gets. Once it is released, a change of it is also a file of
 * `sql/migrations`, which databases that exist get: `{ id: 2, name, sql: sqlFiles["migrations/0002_….sql"] }`.
 */
export const schema: Schema = { sql: sqlFiles["schema.sql"], migrations: [] }
