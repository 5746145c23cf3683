/** What the embedded database says of the parameters and rows of the texts of `sql/`. */
import { PGlite, protocol } from "@electric-sql/pglite"

/** Types by name; one that ends in `?` may be null. */
type Types = Readonly<Record<string, string>>

export type SqlTypes = Readonly<Record<string, { readonly params: Types; readonly columns: Types }>>

/** `:name` as psql has it, which is neither a cast nor a slice of an array. */
const placeholder = /(?<![:\w[\]]):([a-zA-Z]\w*)/g

const typeNames: Readonly<Record<number, string>> = {
  16: "boolean",
  20: "bigint",
  21: "smallint",
  23: "integer",
  25: "text",
  26: "oid",
  114: "json",
  1184: "timestamptz",
  2278: "void",
  3802: "jsonb",
  1000: "boolean[]",
  1005: "smallint[]",
  1007: "integer[]",
  1009: "text[]",
  1016: "bigint[]",
  1185: "timestamptz[]",
  3807: "jsonb[]",
}

const typeName = (oid: number, of: string): string => {
  const name = typeNames[oid]
  if (name === undefined) throw new Error(`${of} has a type that the store cannot read: ${oid}`)
  return name
}

interface Field {
  readonly name: string
  readonly tableID: number
  readonly columnID: number
  readonly dataTypeID: number
}

interface Described {
  readonly params: ReadonlyArray<number>
  readonly fields: ReadonlyArray<Field>
}

const { serialize } = protocol

/** Types of parameters are those that the text gives them. */
const describe = async (database: PGlite, text: string): Promise<Described> => {
  const send = (message: Uint8Array) => database.execProtocol(message, { syncToFs: false })
  try {
    await send(serialize.parse({ text }))
    const { messages } = await send(serialize.describe({ type: "S" }))
    const of = (name: string) => messages.find((message) => message.name === name)
    const params = of("parameterDescription") as { readonly dataTypeIDs?: number[] } | undefined
    const row = of("rowDescription") as { readonly fields?: Field[] } | undefined
    return { params: params?.dataTypeIDs ?? [], fields: row?.fields ?? [] }
  } finally {
    await send(serialize.sync())
  }
}

/** The columns that a comment of the text says are never null. */
const neverNull = (source: string): ReadonlyArray<string> => {
  const said = /^-- Never null: ((?:.*,\n-- )*.*)$/m.exec(source)?.[1] ?? ""
  return said
    .replaceAll("\n-- ", " ")
    .replace(/\.$/, "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
}

/** The columns that are never null, by the name of the rule that returns them. */
type Promises = Readonly<Record<string, ReadonlyArray<string>>>

const parsePromises = (rules: string): Promises =>
  Object.fromEntries(
    Array.from(
      rules.matchAll(/((?:^--.*\n)+)create function (\w+)/gm),
      ([, comment = "", name = ""]) => [name, neverNull(comment)],
    ),
  )

/** The relations that an outer join may leave out; null when that may be any. */
const leftOut = (source: string): ReadonlyArray<string> | null =>
  /\b(right|full) join\b|\bleft join (lateral|\()/.test(source)
    ? null
    : Array.from(source.matchAll(/\bleft join (\w+)/g), ([, name = ""]) => name)

/** A column of a table that cannot be null is none in a row either, unless an outer join leaves it out. */
const getColumns = (
  name: string,
  source: string,
  fields: ReadonlyArray<Field>,
  { promises, tables }: Catalogue,
): Types => {
  const promised = neverNull(source)
  const unknown = promised.filter((one) => !fields.some((field) => field.name === one))
  if (unknown.length > 0) throw new Error(`${name} returns no ${unknown.join(", ")}`)
  const outer = leftOut(source)
  const known = new Set(Object.values(tables).map(({ name: table }) => table))
  const isJoined = outer?.every((one) => known.has(one)) === true
  const promisedByRules = Object.entries(promises).flatMap(([rule, columns]) =>
    source.includes(` ${rule}(`) ? columns : [],
  )
  return Object.fromEntries(
    fields.map((field) => {
      const type = typeName(field.dataTypeID, `${name}: ${field.name}`)
      const isRequired =
        promised.includes(field.name) ||
        (isJoined && field.tableID === 0 && promisedByRules.includes(field.name)) ||
        (isJoined &&
          tables[field.tableID]?.required.includes(field.columnID) === true &&
          !outer.includes(tables[field.tableID]?.name ?? ""))
      return [field.name, isRequired ? type : `${type}?`]
    }),
  )
}

interface Table {
  readonly oid: number
  readonly name: string
  /** The numbers of its columns that cannot be null. */
  readonly required: ReadonlyArray<number>
}

type Tables = Readonly<Record<number, Table>>

interface Catalogue {
  readonly tables: Tables
  readonly promises: Promises
}

const tablesQuery = `
select
  c.oid::integer as oid,
  c.relname::text as name,
  array(
    select a.attnum
    from pg_attribute a
    where a.attrelid = c.oid
      and a.attnum > 0
      and a.attnotnull
  ) as required
from pg_class c
where c.relnamespace = 'messaging'::regnamespace
  and c.relkind = 'r'`

const functionsQuery = `
select
  p.proname::text as name,
  coalesce(p.proargnames[:p.pronargs], '{}') as names,
  array(
    select format_type(t.type, null)
    from unnest(p.proargtypes) with ordinality t (type, place)
    order by t.place
  ) as types,
  (select t.typrelid::integer from pg_type t where t.oid = p.prorettype and t.typrelid <> 0) as table
from pg_proc p
where p.pronamespace = 'code'::regnamespace`

interface DeclaredFunction {
  readonly name: string
  readonly names: ReadonlyArray<string>
  readonly types: ReadonlyArray<string>
  /** The table of the rows that it returns. */
  readonly table: number | null
}

const sqlTypeNames = new Set(Object.values(typeNames))

/** Subroutines take records and intervals, which the store does not send. */
const isCalledByStore = ({ types }: DeclaredFunction): boolean =>
  types.every((type) => sqlTypeNames.has(type.replace("timestamp with time zone", "timestamptz")))

/** `p_key_id` is the parameter `keyId`. */
const paramName = (name: string): string =>
  name.replace(/^p_/, "").replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

const statementTypes = async (
  database: PGlite,
  name: string,
  source: string,
  catalogue: Catalogue,
) => {
  const code = source.replaceAll(/^\s*--.*$/gm, "")
  const names = [...new Set(Array.from(code.matchAll(placeholder), ([, found = ""]) => found))]
  const text = code.replaceAll(placeholder, (_, found: string) => `$${names.indexOf(found) + 1}`)
  const { fields, params } = await describe(database, text).catch((cause: unknown) => {
    throw new Error(`${name}: ${String(cause)}`, { cause })
  })
  return {
    params: Object.fromEntries(
      names.map((one, index) => [one, typeName(params[index] ?? 0, `${name}: ${one}`)]),
    ),
    columns: getColumns(name, source, fields, catalogue),
  }
}

/** Of a call as the store makes it: a function that returns one value has one column, `answer`. */
const functionTypes = async (
  database: PGlite,
  { name, names, table, types }: DeclaredFunction,
  source: string,
  catalogue: Catalogue,
) => {
  const value = types.map((type, index) => `$${index + 1}::${type}`).join(", ")
  const text = `select answer.* from ${name}(${value}) answer`
  const { fields, params } = await describe(database, text)
  const origins = fields.map((field, index) =>
    table === null ? field : { ...field, tableID: table, columnID: index + 1 },
  )
  return {
    params: Object.fromEntries(
      names.map((one, index) => [paramName(one), typeName(params[index] ?? 0, `${name}: ${one}`)]),
    ),
    columns: getColumns(name, source, origins, catalogue),
  }
}

/** The files that make tables and functions, and the statements, by their names. */
export const getTypes = async (
  files: Readonly<Record<string, string>>,
  statements: Readonly<Record<string, string>>,
): Promise<SqlTypes> => {
  const database = await PGlite.create()
  try {
    await database.exec("create schema messaging; set search_path = messaging, pg_temp")
    await database.exec(files["schema.sql"] ?? "")
    await database.exec("create schema code; set search_path = code, messaging, pg_temp")
    await database.exec(files["rules.sql"] ?? "")
    const operations = Object.entries(files).filter(([name]) => name.startsWith("functions/"))
    for (const [, text] of operations) await database.exec(text)
    const { rows } = await database.query<Table>(tablesQuery)
    const tables: Tables = Object.fromEntries(rows.map((table) => [table.oid, table]))
    const catalogue = { tables, promises: parsePromises(files["rules.sql"] ?? "") }
    const declared = await database.query<DeclaredFunction>(functionsQuery)
    const types: Record<string, SqlTypes[string]> = {}
    for (const [file, source] of operations) {
      const name = file.replace(/^functions\/(\w+)\.sql$/, "$1")
      const one = declared.rows.find((row) => row.name === name)
      if (one !== undefined && isCalledByStore(one)) {
        types[name] = await functionTypes(database, one, source, catalogue)
      }
    }
    for (const [name, source] of Object.entries(statements)) {
      types[name] = await statementTypes(database, name, source, catalogue)
    }
    return types
  } finally {
    await database.close()
  }
}
