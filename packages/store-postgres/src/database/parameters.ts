/**
 * Parameters without names (see `Statement` for those with), each with its type: inference from the
 * value would give one statement several types, and a prepared statement for each of them. Times go in
 * and come out as epoch milliseconds, exactly.
 */
import { PgTypes } from "@effect/sql-pg"

const typed = (oid: number, value: unknown): PgTypes.Parameter => ({
  [PgTypes.ParameterTypeId]: PgTypes.ParameterTypeId,
  oid,
  value,
})

const toBigInt = (value: number | null): bigint | null => (value === null ? null : BigInt(value))

export const bigint = (value: number | null) => PgTypes.int8(toBigInt(value))
/** Greater than any id. */
const beyondIds = 2n ** 63n - 1n
/**
 * Where a page begins, for a condition `id < $n`: null for the first page. A condition that asks
 * whether there is a parameter could not be looked up in an index.
 */
export const idBefore = (id: number | null) => PgTypes.int8(id === null ? beyondIds : BigInt(id))
export const integer = PgTypes.int4
export const boolean = PgTypes.bool
export const text = PgTypes.text
/** From epoch milliseconds. */
export const instant = (millis: number | null) => PgTypes.timestamptz(millis)

export const bigints = (values: ReadonlyArray<number | null>) =>
  typed(PgTypes.OID.int8Array, values.map(toBigInt))
export const integers = (values: ReadonlyArray<number | null>) =>
  typed(PgTypes.OID.int4Array, values)
export const texts = (values: ReadonlyArray<string | null>) => typed(PgTypes.OID.textArray, values)
export const instants = (values: ReadonlyArray<number | null>) =>
  typed(PgTypes.OID.timestamptzArray, values)
/**
 * Nulls alone are not worth sending. For functions that fill up with nulls what a list lacks, as
 * `unnest` of several lists and subscripts do.
 */
export const sparse = <A>(values: ReadonlyArray<A | null>): ReadonlyArray<A | null> =>
  values.every((value) => value === null) ? [] : values
