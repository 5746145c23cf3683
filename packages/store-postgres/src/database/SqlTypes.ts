/** The types of parameters and columns, and their values as text for clients of callers and hosts. */
import { PgTypes } from "@effect/sql-pg"

const { OID } = PgTypes

/** The types of parameters, by their names in SQL. */
export const oids = {
  bigint: OID.int8,
  "bigint[]": OID.int8Array,
  integer: OID.int4,
  "integer[]": OID.int4Array,
  smallint: OID.int2,
  "smallint[]": OID.int2Array,
  boolean: OID.bool,
  "boolean[]": OID.boolArray,
  text: OID.text,
  "text[]": OID.textArray,
  jsonb: OID.jsonb,
  "jsonb[]": OID.jsonbArray,
  timestamptz: OID.timestamptz,
  "timestamptz[]": OID.timestamptzArray,
} as const

export type SqlType = keyof typeof oids
