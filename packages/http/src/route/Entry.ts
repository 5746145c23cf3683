/**
 * One entry of a table of routes: all that there is to say of an operation, said once. The router
 * finds it by its method and path, the pipeline reads what it takes, its handler is bound to its
 * schemas by the types, and the OpenAPI document is made from the same entry.
 */
import { IdJson } from "@messaging-service/core"
import type { CursorPage, JsonPage, Repeatable, Upload } from "@messaging-service/core"
import { Schema } from "effect"
import type { Refused } from "../openapi/errors.ts"
import type { Heading } from "../openapi/Operation.ts"
import type { JsonValue } from "../request/StrictJson.ts"
import type { QueryRecord } from "../request/Target.ts"
import type { Route } from "./RouteTable.ts"

/** What an operation takes besides its path; `as` says what its handler's `request` is. */
export type Takes<A> =
  | {
      readonly takes: "query"
      /** The parameters. */
      readonly schema: Schema.Top & { readonly fields: object }
      readonly as: (given: QueryRecord) => A
    }
  | {
      /** `optional_json` that was left out is `{}`. */
      readonly takes: "json" | "optional_json"
      readonly schema: Schema.Top
      readonly example: unknown
      readonly as: (given: JsonValue) => A
    }
  | { readonly takes: "file"; readonly as: (given: Upload) => A }

/** For a service that reads by itself what was given. */
export const asGiven = <A>(given: A): A => given

/** What was given as the command that it should be: the core checks that it is. */
export const asCommand = <A extends object>(given: JsonValue | QueryRecord): A => given as A

/** The names of all fields, within fields too. */
type Names<A> = A extends string | number | boolean | Date | null | undefined
  ? "value"
  : A extends ReadonlyArray<infer Item>
    ? Names<Item>
    : { readonly [Name in keyof A]-?: Names<A[Name]> }

/**
 * A schema with the fields of the command, neither more nor fewer; any schema where what was given is
 * taken as it is. Of JSON the fields hold what the command takes; in a query all of them hold text.
 */
type Tied<S extends Schema.Top, A, Given, Held = A> = [Given] extends [A]
  ? S
  : [Names<S["Encoded"]>, Names<A>, Held] extends [Names<A>, Names<S["Encoded"]>, A]
    ? S
    : "the schema's fields are not those of the command"

export const query = <S extends Schema.Top & { readonly fields: object }, A>(
  schema: S & Tied<S, A, unknown>,
  as: (given: QueryRecord) => A,
): Takes<A> => ({ takes: "query", schema, as })

const jsonBody =
  (takes: "json" | "optional_json") =>
  <S extends Schema.Top, A>(
    schema: S & Tied<S, A, JsonValue, S["Encoded"]>,
    example: S["Encoded"],
    as: (given: JsonValue) => A,
  ): Takes<A> => ({ takes, schema, example, as })

export const json = jsonBody("json")

export const optionalJson = jsonBody("optional_json")

/** It goes with the request, unless it is kept. */
export const file: Takes<Upload> = { takes: "file", as: asGiven }

/** The body of success, and an example of it for the document. */
export interface Body<S extends Schema.Top = Schema.Top> {
  readonly schema: S
  readonly example: unknown
}

export const bodyOf = <S extends Schema.Top>(schema: S, example: unknown): Body<S> => ({
  schema,
  example,
})

/** A list that is always whole. */
export const listOf = <S extends Schema.Top>(item: S, example: unknown) =>
  bodyOf(Schema.Struct({ data: Schema.Array(item) }), { data: [example] })

/** The page envelope (contract: Pages and cursors); the example is the last page. */
export const pageOf = <S extends Schema.Top>(item: S, example: unknown) =>
  bodyOf(
    Schema.Struct({
      data: Schema.Array(item),
      next_cursor: Schema.NullOr(Schema.String).annotate({
        description: "The `cursor` of the next page; null on the last one.",
      }),
    }),
    { data: [example], next_cursor: null },
  )

/** What a deletion is answered with. */
export const DeletedJson = Schema.Struct({ id: IdJson, deleted: Schema.Literal(true) }).annotate({
  identifier: "Deleted",
})

export const deleted = (id: number): typeof DeletedJson.Type => ({ id, deleted: true })

/** A page of a list, each record as `show` shows it. */
export const shownPage =
  <A, B>(show: (record: A) => B) =>
  ({ items, next }: CursorPage<A>): JsonPage<B> => ({
    data: items.map((item) => show(item)),
    next_cursor: next,
  })

/** The answer of an idempotent operation, as `show` shows it. */
export const shownAnswer =
  <A, B>(show: (made: A) => B) =>
  ({ answer, replayed }: Repeatable<A>): Repeatable<B> => ({ answer: show(answer), replayed })

/** What is said of an operation beside its place: `routeV2` and `operatorRoute` give it that. */
export interface Entry<Request = unknown, Answer extends Schema.Top = Schema.Top> extends Omit<
  Heading,
  keyof Route | "tag"
> {
  /** Nothing but its path when left out. */
  readonly request?: Takes<Request>
  /** Of success; 200 when left out. */
  readonly status?: 201 | 202
  /** What success means. */
  readonly success: string
  readonly answer: Body<Answer>
  /** Beside what every operation of its table can refuse. */
  readonly refused?: ReadonlyArray<Refused>
}

/** The names in braces of a path. */
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never

/** What a handler is given of its request. */
export interface Input<Path extends string, Request> {
  /** The id in the path under that name; undefined when it is not a positive integer. */
  readonly id: <Id extends number>(name: NamesIn<Path>) => Id | undefined
  /** Undefined when the operation takes nothing. */
  readonly request: Request
}
