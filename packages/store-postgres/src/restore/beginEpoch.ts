/**
 * The function that begins an epoch: everything that a store which went back in time must not do by itself
 * any more, in one commit.
 */
import { bigint, instant, integer, text, texts } from "../database/Fields.ts"
import { sqlFunction, taking } from "../database/Statement.ts"

export const beginEpoch = sqlFunction(
  "begin_epoch",
  taking({
    schema: text,
    tables: texts,
    epoch: integer,
    step: bigint,
    above: bigint,
    now: instant,
  }),
)
