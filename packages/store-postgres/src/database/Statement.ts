/**
 * Statements with parameters that have names. A text says `$now` for the parameter `now`, and a file of
 * `sql/statements` `:now`, as psql does; the names
 * become numbers once, when the module is loaded, so that the text which is sent is always the same.
 */
import { pageOf } from "@messaging-service/core"
import type { PageOf, StoreUnavailable } from "@messaging-service/core"
import { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import type { Answer } from "./CallersTransaction.ts"
import type { DatabaseService, RowsOver, RunStatement } from "./Database.ts"
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

/** Parameters that are given under their names; the statement knows them as `called` says. */
export const given = <const Kinds extends Readonly<Record<string, Kind<never>>>>(
  kinds: Kinds,
  called = (name: string): string => name,
): Parameters<Given<Kinds>> =>
  parameters(
    Object.entries<Kind<never>>(kinds).map(([name, { encode, oid, type }]) => ({
      name: called(name),
      type,
      bind: (input) => typed(oid, encode(input[name] as never)),
    })),
  )

/** Parameters of a function, whose own names must be no column's: `p_key_id` for `keyId`. */
export const taking = <const Kinds extends Readonly<Record<string, Kind<never>>>>(kinds: Kinds) =>
  given(kinds, (name) => `p_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`)

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

/** Parameters made from the part of that name. */
export const part = <const Name extends string, Part>(
  name: Name,
  ofPart: Parameters<Part>,
): Parameters<{ readonly [Only in Name]: Part }> =>
  on((input: { readonly [Only in Name]: Part }) => input[name], ofPart)

/** What all of these are made from. */
type JoinedInput<Parts> = Parts extends ReadonlyArray<Parameters<infer In>> ? In : never

/** All of these, one after the other. */
export const joined = <const Parts extends ReadonlyArray<Parameters<never>>>(
  ...parts: Parts
): Parameters<JoinedInput<Parts>> => parameters(parts.flatMap(({ list }) => list) as never)

/** `$name`, or `:name` as psql has it, which is no cast, no slice of an array and no schema. */
const placeholder = /(?:\$|(?<![:\w[\]]):)([a-zA-Z_]\w*)(?!\.)\b/g

/** A statement that is sent the values of an `In`. */
export class Statement<In> {
  readonly #operation: string
  readonly #parameters: ReadonlyArray<Parameter<In>>
  readonly #over: RowsOver | undefined
  readonly #answer: Answer | undefined
  /** As it is sent, but for the schema. */
  readonly text: string

  constructor(
    operation: string,
    { list }: Parameters<In>,
    named: string,
    { answer, over }: { readonly answer?: Answer; readonly over?: RowsOver },
  ) {
    const asked = new Set(Array.from(named.matchAll(placeholder), ([, name]) => name))
    this.#operation = operation
    this.#over = over
    this.#answer = answer
    this.#parameters = list.filter(({ name }) => asked.has(name))
    const places = new Map(this.names.map((name, index) => [name, `$${index + 1}`]))
    this.text = named.replaceAll(placeholder, (all, name: string) => places.get(name) ?? all)
  }

  /** The names of its parameters, in the order in which they are sent. */
  get names(): ReadonlyArray<string> {
    return this.#parameters.map(({ name }) => name)
  }

  bind(input: In): ReadonlyArray<PgTypes.Parameter> {
    return this.#parameters.map((parameter) => parameter.bind(input))
  }

  rows<Row extends object>(database: DatabaseService, input: In) {
    return database.query<Row>(
      this.#operation,
      this.text,
      this.bind(input),
      this.#over,
      this.#answer,
    )
  }

  /** As part of a transaction. */
  within<Row extends object = never>(run: RunStatement, input: In) {
    return run<Row>(this.text, this.bind(input))
  }

  all<Row extends object, A>(database: DatabaseService, input: In, of: (row: Row) => A) {
    return Effect.map(this.rows<Row>(database, input), (found) => found.map(of))
  }

  /** Of the first row; null when there is none. */
  first<Row extends object, A>(
    database: DatabaseService,
    input: In,
    of: (row: Row) => A,
  ): Effect.Effect<A | null, StoreUnavailable> {
    return Effect.map(this.rows<Row>(database, input), ([row]) =>
      row === undefined ? null : of(row),
    )
  }

  /** Of the first row its one column; null when there is none. */
  value<A>(database: DatabaseService, input: In): Effect.Effect<A | null, StoreUnavailable> {
    return this.first(database, input, (row) => (Object.values(row)[0] ?? null) as A | null)
  }

  /** The same of a statement that always returns a row. */
  one<A>(database: DatabaseService, input: In) {
    return this.value<A>(database, input) as Effect.Effect<A, StoreUnavailable>
  }

  /** Whether that is true. */
  holds(database: DatabaseService, input: In) {
    return Effect.map(this.value<boolean>(database, input), (value) => value === true)
  }

  /** Whether it returned a row. */
  any(database: DatabaseService, input: In) {
    return Effect.map(this.rows(database, input), (found) => found.length > 0)
  }

  run(database: DatabaseService, input: In) {
    return Effect.asVoid(this.rows(database, input))
  }

  /** Again and again, until it returns fewer rows than its limit. */
  untilDone(database: DatabaseService, input: In & { readonly limit: number }) {
    return this.rows(database, input).pipe(
      Effect.repeat({ while: (found) => found.length === input.limit }),
      Effect.asVoid,
    )
  }

  /** As a list (see `DatabaseService.list`). */
  listed<Row extends object>(database: DatabaseService, holder: string | number, input: In) {
    return database.list<Row>(holder, this.#operation, this.text, this.bind(input))
  }

  /** A page of a list; the statement's limit is one row more. */
  page<Row extends object, A extends { readonly id: number }>(
    database: DatabaseService,
    holder: string | number,
    input: In & { readonly limit: number | null },
    of: (row: Row) => A,
  ): Effect.Effect<PageOf<A>, StoreUnavailable> {
    const limit = input.limit ?? 0
    return Effect.map(this.listed<Row>(database, holder, { ...input, limit: limit + 1 }), (found) =>
      pageOf(found.map(of), limit),
    )
  }
}

const textOf = (
  parts: string | TemplateStringsArray,
  values: ReadonlyArray<string | number>,
): string => (typeof parts === "string" ? parts : String.raw({ raw: parts }, ...values))

/**
 * `operation` names it in failures and traces, `over` the columns that it returns where there are many
 * (see `rowsOver`). It is sent those parameters that its text names:
 * statement("contact.get", given({ id: bigint }))`select … where c.id = $id`.
 */
export const statement =
  <In = unknown>(operation: string, sent: Parameters<In>, over?: RowsOver) =>
  (parts: string | TemplateStringsArray, ...values: ReadonlyArray<string | number>) =>
    new Statement(operation, sent, textOf(parts, values), over === undefined ? {} : { over })

/**
 * A statement that can also be part of a caller's transaction, whose client may read values in its own
 * way: `answer` says what its columns are.
 */
export const joinable =
  <In = unknown>(operation: string, sent: Parameters<In>, answer: Answer) =>
  (parts: string | TemplateStringsArray, ...values: ReadonlyArray<string | number>) =>
    new Statement(operation, sent, textOf(parts, values), { answer })

/** What a column of an answer is, in place of what it is made from. */
export const kept = <const Kinds extends Readonly<Record<string, Kind<never>>>>(
  kinds: Kinds,
): Answer =>
  Object.fromEntries(
    Object.entries<Kind<never>>(kinds).map(([name, kind]) => [name, { kind, of: () => null }]),
  )

/** A function of `sql/functions/`, as statements call it. */
export interface SqlFunction<In> {
  /** With its schema, as `qualifier` knows it. */
  readonly name: string
  readonly taken: Parameters<In>
}

export const sqlFunction = <In>(name: string, taken: Parameters<In>): SqlFunction<In> => ({
  name: `:code.${name}`,
  taken,
})

/** Calls a function: rows with the columns of its result, or with the one value that it returns. */
export const call = <In>(
  operation: string,
  { name, taken }: SqlFunction<In>,
  over?: RowsOver,
): Statement<In> => statement(operation, taken, over)(calling(name, taken))

/** The same for a call that can also be part of a caller's transaction (see `joinable`). */
export const joinableCall = <In>(
  operation: string,
  { name, taken }: SqlFunction<In>,
  answer: Answer,
): Statement<In> => joinable(operation, taken, answer)(calling(name, taken))

const calling = <In>(name: string, { placeholders }: Parameters<In>): string =>
  `select answer.* from ${name}(${placeholders}) answer`
