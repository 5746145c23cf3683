/**
 * How the whole service stands, in one statement. It is made every few seconds by every process that
 * is watched, and so reads no table from end to end that grows with what was sent.
 */
import { sqlFiles } from "./sql.generated.ts"
import type { Figures, ServiceFigures } from "@messaging-service/core"
import type { DatabaseService } from "./database/Database.ts"
import { instant, integer, text, texts } from "./database/Fields.ts"
import { relations } from "./database/Schema.ts"
import { given, statement } from "./database/Statement.ts"

const figures = statement(
  "figures",
  given({ now: instant, countAtMost: integer, schema: text, tables: texts }),
)(sqlFiles["statements/figures/figures.sql"])

export const serviceFigures = (database: DatabaseService): typeof ServiceFigures.Service => ({
  read: (now, countAtMost) =>
    figures.one<Figures>(database, {
      now,
      countAtMost,
      schema: database.schema,
      tables: relations,
    }),
})
