/**
 * What tables keep of the domain's types, said once for each type: for each of its fields the columns
 * that hold it, each with its type in SQL and its value. Rows, lists of columns and parameters follow
 * from that, so that a field that is new in the domain does not compile until it has its columns, and
 * is then in every statement that writes or reads the type.
 *
 * Every parameter has its type: inference from the value would give one statement several types, and
 * a prepared statement for each of them. Times go in and come out as epoch milliseconds, exactly.
 */
import { PgTypes } from "@effect/sql-pg"

/** A type of columns and parameters, and how a value of the domain is sent as one. */
export interface Kind<In> {
  /** Its name in SQL. */
  readonly type: string
  readonly oid: number
  /** That of its arrays; 0 where none is sent. */
  readonly arrayOid: number
  readonly encode: (value: In) => unknown
  /** A value of a row, which is not null, as the domain has it. */
  readonly decode: (value: never) => unknown
}

/** The value of a column: what of an `M` it keeps. `held` only says what a row then holds. */
export interface Value<M, Held = unknown> {
  readonly kind: Kind<never>
  readonly of: (one: M) => unknown
  readonly held?: Held
}

/** Values by the names of their columns. */
export type Values<M> = Readonly<Record<string, Value<M>>>

/** The columns of each field of a type, made from that field of an `M`. */
export type FieldsOf<Type, M extends { readonly [Field in keyof Type]: unknown } = Type> = {
  readonly [Field in keyof Type]-?: Values<Pick<M, Field>>
}

type NamesIn<Columns> = Columns extends unknown ? keyof Columns : never
type ValueIn<Columns, Name extends PropertyKey> =
  Columns extends Readonly<Record<Name, infer One>> ? One : never

/** The columns of all fields. */
export type ColumnsOf<Fields> = {
  readonly [Name in NamesIn<Fields[keyof Fields]>]: ValueIn<Fields[keyof Fields], Name>
}

/** What all of these columns are made from. */
export type InputOf<Columns extends Values<never>> = Columns[keyof Columns]["of"] extends (
  one: infer M,
) => unknown
  ? M
  : never

/** What a row holds that selects these columns, each under its name with a prefix. */
export type RowOf<Columns, Prefix extends string = ""> = {
  readonly [Name in keyof Columns & string as `${Prefix}${Name}`]: Columns[Name] extends Value<
    never,
    infer Held
  >
    ? Held
    : never
}

/** A kind is called with what it is to hold: `text((contact: Contact) => contact.name)`. */
interface Turned<In, Out> extends Kind<In | null> {
  <M, A extends In | null>(of: (one: M) => A): Value<M, Out | Extract<A, null>>
}
/** What comes out as it went in keeps its type. */
interface AsGiven<In> extends Kind<In | null> {
  <M, A extends In | null>(of: (one: M) => A): Value<M, A>
}

const asGiven = (value: unknown): unknown => value

const kindOf = <K>(
  type: string,
  oid: number,
  arrayOid: number,
  encode: (value: never) => unknown = asGiven,
  decode: (value: never) => unknown = asGiven,
): K => {
  const made = { type, oid, arrayOid, encode, decode }
  return Object.assign((of: unknown) => ({ kind: made, of }), made) as K
}

const { OID } = PgTypes

const toBigInt = (value: number | null) => (value === null ? null : BigInt(value))
const toBigInts = (values: ReadonlyArray<number | null> | null) => values?.map(toBigInt) ?? null

export const bigint: Turned<number, bigint> = kindOf(
  "bigint",
  OID.int8,
  OID.int8Array,
  toBigInt,
  Number,
)
export const integer: AsGiven<number> = kindOf("integer", OID.int4, OID.int4Array)
export const smallint: AsGiven<number> = kindOf("smallint", OID.int2, OID.int2Array)
export const boolean: AsGiven<boolean> = kindOf("boolean", OID.bool, OID.boolArray)
export const text: AsGiven<string> = kindOf("text", OID.text, OID.textArray)
export const jsonb: AsGiven<object> = kindOf("jsonb", OID.jsonb, OID.jsonbArray)
/** From epoch milliseconds. */
export const instant: Turned<number, Date> = kindOf(
  "timestamptz",
  OID.timestamptz,
  OID.timestamptzArray,
  asGiven,
  (date: Date) => date.getTime(),
)

export const bigints: Turned<ReadonlyArray<number | null>, ReadonlyArray<bigint>> = kindOf(
  "bigint[]",
  OID.int8Array,
  0,
  toBigInts,
  (values: ReadonlyArray<bigint>) => values.map(Number),
)
export const integers: AsGiven<ReadonlyArray<number | null>> = kindOf("integer[]", OID.int4Array, 0)
export const texts: AsGiven<ReadonlyArray<string>> = kindOf("text[]", OID.textArray, 0)

/** Greater than any id. */
const beyondIds = 2n ** 63n - 1n
/**
 * Where a page begins, for a condition `id < $before`: null for the first page. A condition that asks
 * whether there is a parameter could not be looked up in an index.
 */
const idBefore: Kind<number | null> = {
  ...(bigint as Kind<number | null>),
  encode: (id) => (id === null ? beyondIds : BigInt(id)),
}

/** The parameters of a statement that ends in `newestFirst`. */
export const paging = { before: idBefore, limit: integer }

/** The last condition of a list, and the end of its statement: a page of it, the newest first. */
export const newestFirst = (alias: string): string => `${alias}.id < $before
order by ${alias}.id desc
limit $limit`

/** The columns of all fields, in their order. */
export const columnsOf = <const Fields extends Readonly<Record<string, object>>>(
  fields: Fields,
): ColumnsOf<Fields> => Object.assign({}, ...Object.values(fields)) as ColumnsOf<Fields>

/** All columns but these. */
export const without = <Columns extends object, Name extends keyof Columns & string>(
  columns: Columns,
  ...names: ReadonlyArray<Name>
): Omit<Columns, Name> =>
  Object.fromEntries(
    Object.entries(columns).filter(([name]) => !(names as ReadonlyArray<string>).includes(name)),
  ) as Omit<Columns, Name>

type Within<Columns, In, Null> = {
  readonly [Name in keyof Columns]: Columns[Name] extends Value<never, infer Held>
    ? Value<In, Held | Null>
    : never
}

/** Columns made from a part of something else; all null where there is no such part. */
export const within = <In, Part, const Columns extends Values<NonNullable<Part>>>(
  part: (input: In) => Part,
  columns: Columns,
): Within<Columns, In, Extract<Part, null>> =>
  Object.fromEntries(
    Object.entries<Value<NonNullable<Part>>>(columns).map(([name, { kind, of }]) => [
      name,
      {
        kind,
        of: (input: In) => {
          const found = part(input)
          return found == null ? null : of(found)
        },
      },
    ]),
  ) as never

/** The names of the columns, each as `of` says: `id, name`. */
export const listed = (columns: object, of = (name: string): string => name): string =>
  Object.keys(columns).map(of).join(", ")

/** The columns to select from the table of that alias, under their names with a prefix. */
export const selected = (columns: object, alias: string, prefix = ""): string =>
  listed(columns, (name) => `${alias}.${name}${prefix === "" ? "" : ` as ${prefix}${name}`}`)

const epochMillis = (moment: string): string => `:code.epoch_millis(${moment})`

/** A value of the domain's type as JSON, for types that keep each field in one column. */
export const jsonOf = (
  fields: Readonly<Record<string, Values<never>>>,
  alias: string,
  build = "json_build_object",
): string => {
  const pairs = Object.entries(fields).flatMap(([field, columns]) =>
    Object.entries(columns).map(([name, value]) => {
      const column = `${alias}.${name}`
      return `'${field}', ${value.kind.type === instant.type ? epochMillis(column) : column}`
    }),
  )
  return `${build}(${pairs.join(", ")})`
}

/** Makes the domain's type of a row that selects these fields, for types that keep each in one column. */
export const decoded = <Type>(fields: FieldsOf<Type>): ((row: object) => Type) => {
  const steps = Object.entries<Values<never>>(fields).flatMap(([field, columns]) =>
    Object.entries(columns).map(([name, { kind }]) => ({ field, name, kind })),
  )
  return (row) => {
    const values = row as Readonly<Record<string, never>>
    return Object.fromEntries(
      steps.map(({ field, kind, name }) => {
        const value = values[name]
        return [field, value == null ? null : kind.decode(value)]
      }),
    ) as Type
  }
}

/** The type of an id is a number that only the compiler tells from others. */
export const idOrNull = <Id extends number>(id: bigint | null): Id | null =>
  id === null ? null : (Number(id) as Id)

export const millis = (date: Date | null): number | null => date?.getTime() ?? null
