/**
 * Statements with parameters that have names. A text says `$now` for the parameter `now`; the names
 * become numbers once, when the module is loaded, so that the text which is sent is always the same.
 */
import { pageOf } from "@messaging-service/core/ports"
import type { PageOf, StoreUnavailable } from "@messaging-service/core/ports"
import { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import type { DatabaseService, RowsOver } from "./Database.ts"
import type { InputOf, Kind, Values } from "./Fields.ts"

interface Parameter<In> {
  readonly name: string
  readonly type: string
  readonly bind: (input: In) => PgTypes.Parameter
}

/** The parameters of a statement or of a function, in their order, made from an `In`. */
export interface Parameters<In> {
  readonly list: ReadonlyArray<Parameter<In>>
  /** As a function declares them: `p_now timestamptz, p_id bigint`. */
  readonly declarations: string
  /** As a function hands them on: `p_now, p_id`. */
  readonly names: string
  /** All of them, for a statement that calls the function: `$p_now, $p_id`. */
  readonly placeholders: string
}

const parameters = <In>(list: ReadonlyArray<Parameter<In>>): Parameters<In> => ({
  list,
  declarations: list.map(({ name, type }) => `${name} ${type}`).join(", "),
  names: list.map(({ name }) => name).join(", "),
  placeholders: list.map(({ name }) => `$${name}`).join(", "),
})

const typed = (oid: number, value: unknown): PgTypes.Parameter => ({
  [PgTypes.ParameterTypeId]: PgTypes.ParameterTypeId,
  oid,
  value,
})

/** One parameter of a text that is composed for each call. */
export const parameterOf = <In>({ encode, oid }: Kind<In>, value: In): PgTypes.Parameter =>
  typed(oid, encode(value))

type Given<Kinds> = {
  readonly [Name in keyof Kinds]: Kinds[Name] extends Kind<infer In> ? In : never
}

/** Parameters that are given under their names. */
export const given = <const Kinds extends Readonly<Record<string, Kind<never>>>>(
  kinds: Kinds,
): Parameters<Given<Kinds>> =>
  parameters(
    Object.entries<Kind<never>>(kinds).map(([name, { encode, oid, type }]) => ({
      name,
      type,
      bind: (input) => typed(oid, encode(input[name] as never)),
    })),
  )

/** A parameter for each column. */
export const single = <const Columns extends Values<never>>(
  columns: Columns,
  prefix = "",
): Parameters<InputOf<Columns>> =>
  parameters(
    Object.entries(columns).map(([name, { kind, of }]) => ({
      name: `${prefix}${name}`,
      type: kind.type,
      bind: (input) => typed(kind.oid, kind.encode(of(input as never) as never)),
    })),
  )

/**
 * An array for each column, with an element for each of what they are made from. Nulls alone are not worth sending:
 * an array that would hold nothing else is empty. `unnest` of several arrays and subscripts fill it up.
 */
export const each = <const Columns extends Values<never>>(
  columns: Columns,
  prefix = "",
): Parameters<ReadonlyArray<InputOf<Columns>>> =>
  parameters(
    Object.entries(columns).map(([name, { kind, of }]) => ({
      name: `${prefix}${name}`,
      type: `${kind.type}[]`,
      bind: (all) => {
        let isEmpty = true
        const elements = all.map((input) => {
          const value = of(input as never)
          if (value === null) return null
          isEmpty = false
          return kind.encode(value as never)
        })
        return typed(kind.arrayOid, isEmpty ? [] : elements)
      },
    })),
  )

/** Parameters made from a part of something else; `part` is asked for each of them. */
export const on = <In, Part>(
  part: (input: In) => Part,
  { list }: Parameters<Part>,
): Parameters<In> =>
  parameters(list.map((one) => ({ ...one, bind: (input) => one.bind(part(input)) })))

/** All of these, one after the other. */
export const joined = <In>(...parts: ReadonlyArray<Parameters<In>>): Parameters<In> =>
  parameters(parts.flatMap(({ list }) => list))

export interface Statement<In> {
  readonly text: string
  /** The names of its parameters, in the order in which they are sent. */
  readonly names: ReadonlyArray<string>
  readonly bind: (input: In) => ReadonlyArray<PgTypes.Parameter>
  readonly rows: <Row extends object>(
    database: DatabaseService,
    input: In,
  ) => Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>
  readonly all: <Row extends object, A>(
    database: DatabaseService,
    input: In,
    of: (row: Row) => A,
  ) => Effect.Effect<ReadonlyArray<A>, StoreUnavailable>
  /** Of the first row; null when there is none. */
  readonly first: <Row extends object, A>(
    database: DatabaseService,
    input: In,
    of: (row: Row) => A,
  ) => Effect.Effect<A | null, StoreUnavailable>
  /** Whether it returned a row. */
  readonly any: (database: DatabaseService, input: In) => Effect.Effect<boolean, StoreUnavailable>
  readonly run: (database: DatabaseService, input: In) => Effect.Effect<void, StoreUnavailable>
  /** Again and again, until it returns fewer rows than its limit. */
  readonly untilDone: (
    database: DatabaseService,
    input: In & { readonly limit: number },
  ) => Effect.Effect<void, StoreUnavailable>
  /** As a list (see `DatabaseService.list`). */
  readonly listed: <Row extends object>(
    database: DatabaseService,
    holder: string | number,
    input: In,
  ) => Effect.Effect<ReadonlyArray<Row>, StoreUnavailable>
  /** A page of a list; the statement's limit is one row more. */
  readonly page: <Row extends object, A extends { readonly id: number }>(
    database: DatabaseService,
    holder: string | number,
    input: In & { readonly limit: number | null },
    of: (row: Row) => A,
  ) => Effect.Effect<PageOf<A>, StoreUnavailable>
}

/**
 * `operation` names it in failures and traces, `over` the columns that it returns where there are many
 * (see `rowsOver`). It is sent those parameters that its text names:
 * statement("contact.get", given({ id: bigint }))`select … where c.id = $id`.
 */
export const statement =
  <In = unknown>(operation: string, { list }: Parameters<In>, over?: RowsOver) =>
  (parts: string | TemplateStringsArray, ...values: ReadonlyArray<string>): Statement<In> => {
    const named = typeof parts === "string" ? parts : String.raw({ raw: parts }, ...values)
    const asked = new Set(Array.from(named.matchAll(/\$(\w+)/g), ([, name]) => name))
    const used = list.filter(({ name }) => asked.has(name))
    const places = new Map(used.map(({ name }, index) => [name, `$${index + 1}`]))
    const text = named.replaceAll(/\$(\w+)/g, (_, name: string) => places.get(name) ?? `$${name}`)
    const bind = (input: In) => used.map((parameter) => parameter.bind(input))
    const rows = <Row extends object>(database: DatabaseService, input: In) =>
      database.query<Row>(operation, text, bind(input), over)
    const listed = <Row extends object>(
      database: DatabaseService,
      holder: string | number,
      input: In,
    ) => database.list<Row>(holder, operation, text, bind(input))
    return {
      text,
      names: used.map(({ name }) => name),
      bind,
      rows,
      listed,
      all: <Row extends object, A>(database: DatabaseService, input: In, of: (row: Row) => A) =>
        Effect.map(rows<Row>(database, input), (found) => found.map(of)),
      first: <Row extends object, A>(database: DatabaseService, input: In, of: (row: Row) => A) =>
        Effect.map(rows<Row>(database, input), ([row]) => (row === undefined ? null : of(row))),
      any: (database, input) => Effect.map(rows(database, input), (found) => found.length > 0),
      run: (database, input) => Effect.asVoid(rows(database, input)),
      untilDone: (database, input) =>
        rows(database, input).pipe(
          Effect.repeat({ while: (found) => found.length === input.limit }),
          Effect.asVoid,
        ),
      page: <Row extends object, A extends { readonly id: number }>(
        database: DatabaseService,
        holder: string | number,
        input: In & { readonly limit: number | null },
        of: (row: Row) => A,
      ) => {
        const limit = input.limit ?? 0
        return Effect.map(listed<Row>(database, holder, { ...input, limit: limit + 1 }), (found) =>
          pageOf(found.map(of), limit),
        )
      },
    }
  }
