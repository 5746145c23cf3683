/**
 * One entry of a table of routes: everything about an operation, in one place. The router finds it
 * by method and path, the pipeline reads its input, the types bind its handler to its schemas, and
 * the OpenAPI document is generated from it.
 */
import type {
  CursorPage,
  Refusal,
  IdempotentResult,
  SpooledContent,
  StoreUnavailable,
  Upload,
} from "@messaging-service/core"
import { Effect, Schema } from "effect"
import type { Handler, IncomingRequest, Reply, Streamed } from "./IncomingRequest.ts"
import { clientRequestId, commonHeaders, refusals } from "./openapi/Operation.ts"
import type {
  Answer as DescribedAnswer,
  Content,
  DescribedPart,
  Header,
  Heading,
  JsonObject,
  Operation,
  Refused,
} from "./openapi/Operation.ts"
import type { InJson } from "./JsonNames.ts"
import { routeFinder } from "./RouteTable.ts"
import type { Route } from "./RouteTable.ts"
import type { JsonValue } from "./StrictJson.ts"
import { writtenAsInstant } from "./writeJson.ts"

/** The input of an operation, apart from its path. */
export type OperationInput<Request> = {
  /** The type of the handler's `request`: never set at run time. */
  readonly command?: Request
} & (
  | {
      readonly source: "query"
      /** The parameters. */
      readonly schema: Schema.Top & { readonly fields: object }
    }
  | {
      /** A missing `optional_json` is `{}`. */
      readonly source: "json" | "optional_json"
      /** Of a `json` body. Default: 1 MiB. */
      readonly maximumBytes?: number
      readonly schema: Schema.Top
      readonly example: unknown
    }
  | { readonly source: "file" }
  | {
      /** A JSON body, or a form with one file of at most `fileBytes`. */
      readonly source: "json_or_file"
      readonly schema: Schema.Top
      readonly example: unknown
      readonly fileBytes: number
    }
)

/** The names of all fields, nested ones included. */
type Names<A> = A extends undefined
  ? never
  : A extends string | number | boolean | Date | null
    ? "value"
    : A extends ReadonlyArray<infer Item>
      ? Names<Item>
      : { readonly [Name in keyof A]-?: Names<A[Name]> }

/**
 * A schema with exactly the fields of the command; any schema where the command is `JsonValue`.
 * JSON fields have the command's types; query fields are text.
 */
type Tied<S extends Schema.Top, Command, Held = Command> = [JsonValue] extends [Command]
  ? S
  : [Names<S["Encoded"]>, Names<Command>, Held] extends [
        Names<Command>,
        Names<S["Encoded"]>,
        Command,
      ]
    ? S
    : "the schema's fields are not those of the command"

/** Reads the query's parameters as that command, which the core checks. */
export const query =
  <Command>() =>
  <S extends Schema.Top & { readonly fields: object }>(
    schema: S & Tied<S, Command>,
  ): OperationInput<Command> => ({ source: "query", schema })

/** Reads a JSON body as that command, which the core checks. */
export const json =
  <Command>() =>
  <S extends Schema.Top>(
    schema: S & Tied<S, Command, S["Encoded"]>,
    example: InJson<S["Encoded"]>,
    maximumBytes: { readonly maximumBytes?: number } = {},
  ): OperationInput<Command> => ({ source: "json", schema, example, ...maximumBytes })

/** Like `json`, with an optional body. */
export const optionalJson =
  <Command>() =>
  <S extends Schema.Top>(
    schema: S & Tied<S, Command, S["Encoded"]>,
    example: InJson<S["Encoded"]>,
  ): OperationInput<Command> => ({ source: "optional_json", schema, example })

/** Reads one uploaded file. It is removed with the request unless it is kept. */
export const file: OperationInput<Upload> = { source: "file" }

/** What an operation that takes either was sent. The file is removed with the request. */
export type JsonOrFile =
  | { readonly kind: "json"; readonly command: JsonValue }
  | { readonly kind: "file"; readonly content: SpooledContent }

/** Reads a JSON body, which the core checks, or the content of one uploaded file, which may be empty. */
export const jsonOrFile = <S extends Schema.Top>(
  schema: S,
  example: InJson<S["Encoded"]>,
  fileBytes: number,
): OperationInput<JsonOrFile> => ({ source: "json_or_file", schema, example, fileBytes })

/** The success body, and an example for the document. */
interface Body<S extends Schema.Top = Schema.Top> {
  readonly schema: S
  readonly example: unknown
}

export const jsonBody = <S extends Schema.Top>(schema: S, example: unknown): Body<S> => ({
  schema,
  example,
})

/** Times in answers that are text already. */
export const TimeText = Schema.String.annotate({
  description: "UTC, whole seconds.",
  format: "date-time",
  pattern: "Z$",
  examples: ["2030-01-31T07:00:00Z"],
})

/** Times in answers: epoch milliseconds, which `writeJson` turns into text. */
export const Time = TimeText.annotate({
  [writtenAsInstant]: true,
}) as unknown as Schema.Codec<number>

export const IdJson = Schema.Int

/** A complete list. */
export const listOf = <S extends Schema.Top>(item: S, example: unknown) =>
  jsonBody(Schema.Struct({ data: Schema.Array(item) }), { data: [example] })

/** The page envelope (contract: Pages and cursors); the example is a last page. */
export const pageBody = <S extends Schema.Top>(item: S, example: unknown) =>
  jsonBody(
    Schema.Struct({
      data: Schema.Array(item),
      next_cursor: Schema.NullOr(Schema.String).annotate({
        description: "The `cursor` of the next page; null on the last one.",
      }),
    }),
    { data: [example], next_cursor: null },
  )

/** The answer to a deletion. */
export const DeletedJson = Schema.Struct({ id: IdJson, deleted: Schema.Literal(true) }).annotate({
  identifier: "Deleted",
})

export const deleted = (id: number): typeof DeletedJson.Type => ({ id, deleted: true })

interface JsonPage<A> {
  readonly data: ReadonlyArray<A>
  readonly next_cursor: string | null
}

/** A page of a list. */
export const page = <A>({ items, next }: CursorPage<A>): JsonPage<A> => ({
  data: items,
  next_cursor: next,
})

/** A page of a list, each record converted by `toJson`. */
export const pageJson = <A, B>(
  { items, next }: CursorPage<A>,
  toJson: (record: A) => B,
): JsonPage<B> => page({ items: items.map((item) => toJson(item)), next })

/** The answer of an idempotent operation, converted by `toJson`. */
export const answerJson = <A, B>(
  { answer, replayed }: IdempotentResult<A>,
  toJson: (made: A) => B,
): IdempotentResult<B> => ({ answer: toJson(answer), replayed })

/** An operation without its method and path, which `routeV2` and `operatorRoute` add. */
export interface Entry<Request = unknown, Answer extends Schema.Top = Schema.Top> extends Omit<
  Heading,
  keyof Route | "tag"
> {
  /** Default: only its path. */
  readonly request?: OperationInput<Request>
  /** The success status. Default: 200. */
  readonly status?: 201 | 202
  /** The meaning of success. */
  readonly success: string
  /** The meaning of a 200 in place of `status`: an earlier request did it. */
  readonly successAgain?: string
  /** A 202 in place of `status`, by a `LaterAnswer`: it is done later. */
  readonly later?: { readonly success: string; readonly answer: Body }
  readonly answer: Body<Answer>
  /** Of the answer. Default: JSON. */
  readonly contentType?: "text/event-stream" | "text/csv"
  /** In addition to the refusals of every operation in its table. */
  readonly refused?: ReadonlyArray<Refused>
}

/** The names in braces of a path. */
export type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never

/** A handler's view of its request. */
export interface Input<Path extends string, Request> {
  /** The id in the path with that name; undefined unless it is a positive integer. */
  readonly id: <Id extends number>(name: NamesIn<Path>) => Id | undefined
  /** Undefined when the operation has no input. */
  readonly request: Request
}

/** The answer of an operation that streams. */
export class StreamedAnswer implements Streamed {
  readonly contentType: NonNullable<Entry["contentType"]>
  readonly open: Streamed["open"]

  constructor(contentType: NonNullable<Entry["contentType"]>, open: Streamed["open"]) {
    this.contentType = contentType
    this.open = open
  }
}

/** The answer of an operation that is done later. */
export class LaterAnswer {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

interface OpenEntry<R> extends Omit<Heading, keyof Route> {
  readonly tag: "Links" | "Service"
  readonly headers?: ReadonlyArray<Header>
  readonly answers: ReadonlyArray<DescribedAnswer>
  readonly refused?: ReadonlyArray<Refused>
  readonly handler: (
    incoming: IncomingRequest,
    parameter: (name: string) => string,
  ) => Effect.Effect<Reply, Refusal | StoreUnavailable, R>
}

/** A GET without credentials: links, health, metrics and the pages about the API. */
export type OpenRoute<R = never> = Route & OpenEntry<R>

export const openRoute = <R>(path: string, entry: OpenEntry<R>): OpenRoute<R> => ({
  method: "GET",
  path,
  ...entry,
})

/** Answers requests for the paths of that table. */
export const openHandler = <R>(routes: ReadonlyArray<OpenRoute<R>>): Handler<R> => {
  const find = routeFinder(routes)
  return Effect.fnUntraced(function* handleOpen(incoming) {
    const { parameter, route } = yield* Effect.fromResult(find(incoming))
    return yield* route.handler(incoming, parameter)
  })
}

/** Success, with the common headers and more. */
export const success = (
  description: string,
  content: Content,
  more: ReadonlyArray<Header> = [],
): DescribedAnswer => ({ status: 200, description, headers: [...commonHeaders, ...more], content })

/** A body of that type. */
export const content = (contentType: string, schema: JsonObject): Content => ({
  [contentType]: { schema: { json: schema } },
})

const text = (description: string): JsonObject => ({ schema: { type: "string" }, description })

/** Readiness has its own 503. */
const unavailable = ({ answers }: OpenRoute<unknown>): ReadonlyArray<Refused> =>
  answers.some(({ status }) => status === 503) ? [] : ["service_unavailable"]

const operation = (route: OpenRoute<unknown>): Operation => ({
  ...route,
  security: [],
  parameters: {
    token: text("From a link of the service."),
    name: text("The file's name, from the same link."),
  },
  headers: [...(route.headers ?? []), clientRequestId],
  answers: [
    ...route.answers,
    ...refusals([...(route.refused ?? []), "internal_error", ...unavailable(route)]),
  ],
})

const tags = [
  { name: "Links", description: "Targets of links in answers." },
  { name: "Service", description: "Health, metrics and documentation." },
]

/** The served routes, for the document. */
export const documentOpen = (routes: ReadonlyArray<OpenRoute<unknown>>): DescribedPart => ({
  name: "Open to all",
  tags: tags.filter(({ name }) => routes.some(({ tag }) => tag === name)),
  security: {},
  operations: routes.map(operation),
})
