/**
 * The statements and functions of `sql/`: each with the parameters and rows that the catalogue says it has
 * (`rows.generated.ts`), so that a forgotten parameter or column does not compile.
 *
 * A name with a dot is a statement (`delivery.settle` is in `sql/statements/delivery.sql`), one with
 * underscores a function (`accept_messages` is `sql/functions/accept_messages.sql`).
 *
 * Times go in as epoch milliseconds, exactly, and come out as dates; ids go in as numbers and come out as bigints.
 */
import { PgTypes } from "@effect/sql-pg"
import { getPage } from "@messaging-service/core"
import type { PageOf, PageQuery, StoreUnavailable } from "@messaging-service/core"
import { Effect } from "effect"
import type * as SqlError from "effect/sql/SqlError"
import { sqlTypes } from "../rows.generated.ts"
import { sqlStatements } from "../sql.generated.ts"
import { rowsOver } from "./Database.ts"
import type { DatabaseService, RowsOver, RunStatement } from "./Database.ts"
import { oids } from "./SqlTypes.ts"
import type { SqlType } from "./SqlTypes.ts"

type Types = typeof sqlTypes
export type SqlName = keyof Types

interface Sent {
  readonly bigint: number | bigint
  readonly integer: number
  readonly smallint: number
  readonly boolean: boolean
  readonly text: string
  readonly jsonb: object
  readonly timestamptz: number
}

interface Held {
  readonly bigint: bigint
  readonly integer: number
  readonly smallint: number
  readonly boolean: boolean
  readonly text: string
  readonly json: unknown
  readonly jsonb: unknown
  readonly timestamptz: Date
  readonly void: unknown
}

type SentAs<Type> = Type extends `${infer One}[]`
  ? ReadonlyArray<SentAs<One>> | null
  : (Type extends keyof Sent ? Sent[Type] : never) | null

type HeldAs<Type> = Type extends `${infer One}?`
  ? HeldAs<One> | null
  : Type extends `${infer One}[]`
    ? ReadonlyArray<HeldAs<One>>
    : Type extends keyof Held
      ? Held[Type]
      : never

/** What a statement is sent. The catalogue does not know which parameters may be null. */
export type Params<Name extends SqlName> = {
  readonly [Param in keyof Types[Name]["params"]]: SentAs<Types[Name]["params"][Param]>
}

/** What a statement returns. */
export type Row<Name extends SqlName> = {
  readonly [Column in keyof Types[Name]["columns"]]: HeldAs<Types[Name]["columns"][Column]>
}

type NamesOf<Name extends SqlName> = Extract<keyof Types[Name]["params"], string>

/** One element of each array that a statement is sent; only of those with names that begin so. */
export type Element<Name extends SqlName, Prefix extends string = ""> = {
  readonly [
    Param in NamesOf<Name> as Types[Name]["params"][Param] extends `${string}[]`
      ? Param extends `${Prefix}${string}`
        ? Param
        : never
      : never
  ]: Types[Name]["params"][Param] extends `${infer One}[]` ? SentAs<One> : never
}

/** An array for each column of rows. */
export type Columns<One> = {
  readonly [Name in keyof One]: ReadonlyArray<One[Name]>
}

/**
 * Array parameters made of rows. Nulls alone are not worth sending: an array that would hold nothing else is
 * empty, and `unnest` of several arrays and subscripts fill it up. No rows have no arrays: what is
 * left out is sent empty.
 */
export const toColumns = <One extends object>(rows: ReadonlyArray<One>): Columns<One> => {
  const columns: Partial<Record<keyof One, ReadonlyArray<unknown>>> = {}
  for (const name of Object.keys(rows[0] ?? {}) as Array<keyof One>) {
    const values: Array<unknown> = []
    let isEmpty = true
    for (const row of rows) {
      const value = row[name]
      if (value !== null) isEmpty = false
      values.push(value)
    }
    columns[name] = isEmpty ? [] : values
  }
  return columns as Columns<One>
}

const toBigInt = (value: unknown): bigint | null =>
  value === null ? null : BigInt(value as number | bigint)

const encode = (type: SqlType, value: unknown): unknown => {
  if (value === undefined && type.endsWith("[]")) return []
  if (value === null || value === undefined) return null
  switch (type) {
    case "bigint":
      return toBigInt(value)
    case "bigint[]":
      return (value as ReadonlyArray<unknown>).map(toBigInt)
    default:
      return value
  }
}

/** Every parameter has its type: inference from the value would prepare a statement for each of several. */
export const toParameter = (type: SqlType, value: unknown): PgTypes.Parameter => ({
  [PgTypes.ParameterTypeId]: PgTypes.ParameterTypeId,
  oid: oids[type],
  value: encode(type, value),
})

/** `:name` as psql has it, which is neither a cast nor a slice of an array. */
const placeholder = /(?<![:\w[\]]):([a-zA-Z]\w*)/g

const getText = (name: SqlName, params: ReadonlyArray<string>): string => {
  const place = (param: string): string =>
    params.includes(param) ? `$${params.indexOf(param) + 1}` : `:${param}`
  const statements: Readonly<Record<string, string>> = sqlStatements
  const text = statements[name]
  return text === undefined
    ? `select answer.* from ${name}(${params.map(place).join(", ")}) answer`
    : text.replaceAll(placeholder, (_, param: string) => place(param))
}

interface StatementOptions {
  /** It can be part of a caller's transaction. */
  readonly joinable?: boolean
  /** Rows of many columns read what came by name, in place of an object that is made for each. */
  readonly wide?: boolean
  /** A parameter's value that is written into the text: the planner must know it. */
  readonly literal?: string
}

/** Greater than any id: the first page of a list begins before it. */
export const beyondIds = 2n ** 63n - 1n

export class Statement<Name extends SqlName> {
  readonly #name: Name
  readonly #params: ReadonlyArray<[name: string, type: SqlType]>
  readonly #columns: Readonly<Record<string, string>> | undefined
  readonly #over: RowsOver | undefined
  readonly #literal: string | undefined
  /** As it is sent, but for the schema. */
  readonly text: string

  constructor(name: Name, { joinable = false, literal, wide = false }: StatementOptions) {
    const { columns, params } = sqlTypes[name]
    this.#name = name
    this.#params = Object.entries<SqlType>(params).filter(([param]) => param !== literal)
    this.#literal = literal
    this.#columns = joinable ? columns : undefined
    this.#over = wide ? rowsOver(Object.keys(columns)) : undefined
    this.text = getText(name, this.names)
  }

  /** The names of its parameters, in the order in which they are sent. */
  get names(): ReadonlyArray<string> {
    return this.#params.map(([param]) => param)
  }

  bind(params: Params<Name>): ReadonlyArray<PgTypes.Parameter> {
    const input: Readonly<Record<string, unknown>> = params
    return this.#params.map(function bindOne([name, type]) {
      return toParameter(type, input[name])
    })
  }

  /** With the value of the parameter that is written into it. */
  textFor(params: Params<Name>): string {
    if (this.#literal === undefined) return this.text
    const value = (params as Readonly<Record<string, unknown>>)[this.#literal]
    return this.text.replaceAll(`:${this.#literal}`, String(Math.trunc(Number(value))))
  }

  rows(
    database: DatabaseService,
    params: Params<Name>,
  ): Effect.Effect<ReadonlyArray<Row<Name>>, StoreUnavailable> {
    return database.query<Row<Name>>(
      this.#name,
      this.text,
      this.bind(params),
      this.#over,
      this.#columns,
    )
  }

  /** In a transaction. */
  in(
    run: RunStatement,
    params: Params<Name>,
  ): Effect.Effect<ReadonlyArray<Row<Name>>, SqlError.SqlError> {
    return run<Row<Name>>(this.text, this.bind(params))
  }

  all<A>(
    database: DatabaseService,
    params: Params<Name>,
    of: (row: Row<Name>) => A,
  ): Effect.Effect<ReadonlyArray<A>, StoreUnavailable> {
    return Effect.map(this.rows(database, params), function mapAll(rows) {
      return rows.map(of)
    })
  }

  /** Of the first row; null when there is none. */
  first<A>(
    database: DatabaseService,
    params: Params<Name>,
    of: (row: Row<Name>) => A,
  ): Effect.Effect<A | null, StoreUnavailable> {
    return Effect.map(this.rows(database, params), function mapFirst([row]) {
      return row === undefined ? null : of(row)
    })
  }

  /** Of the row that it always returns. */
  one<A>(
    database: DatabaseService,
    params: Params<Name>,
    of: (row: Row<Name>) => A,
  ): Effect.Effect<A, StoreUnavailable> {
    const operation: string = this.#name
    return Effect.flatMap(this.rows(database, params), function mapOne([row]) {
      return row === undefined
        ? Effect.die(new Error(`${operation} returned no row`))
        : Effect.succeed(of(row))
    })
  }

  /** The one column of the first row; null when there is none. */
  value(
    database: DatabaseService,
    params: Params<Name>,
  ): Effect.Effect<Row<Name>[keyof Row<Name>] | null, StoreUnavailable> {
    return this.first(database, params, onlyValue)
  }

  /** Whether that is true. */
  isTrue(
    database: DatabaseService,
    params: Params<Name>,
  ): Effect.Effect<boolean, StoreUnavailable> {
    return Effect.map(this.value(database, params), isTrue)
  }

  /** Whether it returns a row. */
  any(database: DatabaseService, params: Params<Name>): Effect.Effect<boolean, StoreUnavailable> {
    return Effect.map(this.rows(database, params), isNotEmpty)
  }

  run(database: DatabaseService, params: Params<Name>): Effect.Effect<void, StoreUnavailable> {
    return Effect.asVoid(this.rows(database, params))
  }

  /** Again and again, until it returns fewer rows than its limit. */
  untilDone(
    database: DatabaseService,
    params: Params<Name> & { readonly limit: number },
  ): Effect.Effect<void, StoreUnavailable> {
    return this.rows(database, params).pipe(
      Effect.repeat({ while: (rows) => rows.length === params.limit }),
      Effect.asVoid,
    )
  }

  /** As a list (see `DatabaseService.list`). */
  list(
    database: DatabaseService,
    holder: string | number,
    params: Params<Name>,
  ): Effect.Effect<ReadonlyArray<Row<Name>>, StoreUnavailable> {
    const text = this.textFor(params)
    return database.list<Row<Name>>(holder, this.#name, text, this.bind(params), this.#over)
  }

  /** A page of a list; it reads one row more, to know whether another page follows. */
  page<A extends { readonly id: number }>(
    database: DatabaseService,
    holder: string | number,
    params: Omit<Params<Name>, keyof PageQuery> & PageQuery,
    of: (row: Row<Name>) => A,
  ): Effect.Effect<PageOf<A>, StoreUnavailable> {
    const { before, limit } = params
    const page = { ...params, before: before ?? beyondIds, limit: limit + 1 }
    const rows = this.list(database, holder, page as unknown as Params<Name>)
    return Effect.map(rows, function toPage(found) {
      return getPage(found.map(of), limit)
    })
  }
}

const onlyValue = <One extends object>(row: One): One[keyof One] =>
  Object.values(row)[0] as One[keyof One]

const isTrue = (value: unknown): boolean => value === true

const isNotEmpty = (rows: ReadonlyArray<unknown>): boolean => rows.length > 0

/** A statement of `sql/statements/`, `noun.name`, or the call of a function of `sql/functions/`. */
export const statement = <const Name extends SqlName>(
  name: Name,
  options: StatementOptions = {},
): Statement<Name> => new Statement(name, options)

/** The type of an id is a number that only the compiler tells from others. */
export const idOrNull = <Id extends number>(id: bigint | null): Id | null =>
  id === null ? null : (Number(id) as Id)

export const numberOrNull = (value: bigint | null): number | null =>
  value === null ? null : Number(value)

export const millis = (date: Date | null): number | null => date?.getTime() ?? null
