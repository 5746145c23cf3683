/**
 * What the OpenAPI document is made from: operations, each with all that can be asked and answered.
 * A surface makes them from its table of routes and from descriptions that stand beside the table;
 * only `openApi.ts` knows how OpenAPI writes them down.
 */
import type { Schema } from "effect"
import type { Method } from "../route/RouteTable.ts"

/** JSON that is written into the document as it stands. */
export type JsonObject = Readonly<Record<string, unknown>>

/** A schema that the core parses or answers with, or one written out as JSON Schema. */
export type AnySchema = { readonly effect: Schema.Top } | { readonly json: JsonObject }

export interface Media {
  readonly schema: AnySchema
  /** Examples by a name for people. */
  readonly examples?: Readonly<Record<string, unknown>>
}

/** By content type. */
export type Content = Readonly<Record<string, Media>>

/** A header of an answer or of a request; see `headers.ts`. */
export interface Header {
  readonly name: string
  readonly description: string
  readonly schema: JsonObject
}

export interface Answer {
  readonly status: number
  readonly description: string
  readonly headers: ReadonlyArray<Header>
  /** Null: no body. */
  readonly content: Content | null
}

export interface Operation {
  readonly method: Method
  /** With ids in braces. */
  readonly path: string
  /** Unique; names of generated clients' functions come from it. */
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly about: string
  /**
   * Names of the security schemes, any one of which is enough; null for credentials that are not in
   * the headers. Empty when no credentials are needed.
   */
  readonly security: ReadonlyArray<string | null>
  /** What the parameters in the path are; integers unless said otherwise. */
  readonly parameters: Readonly<Record<string, JsonObject>>
  /** Parameters of the query: the fields of a struct. */
  readonly query: Schema.Top | null
  readonly headers: ReadonlyArray<Header>
  readonly body: { readonly required: boolean; readonly content: Content } | null
  readonly answers: ReadonlyArray<Answer>
  /** Calls that the service makes later to an address that the request gives, by the field it is in. */
  readonly callbacks?: Readonly<Record<string, Call>>
}

export interface Tag {
  readonly name: string
  readonly description: string
}

/** One part of the interface, as the document shows it. */
export interface DescribedSurface {
  /** Heads the part's tags on the page. */
  readonly name: string
  readonly tags: ReadonlyArray<Tag>
  /** By name; OpenAPI security schemes. */
  readonly security: Readonly<Record<string, JsonObject>>
  readonly operations: ReadonlyArray<Operation>
}

/** A call that the service makes itself. */
export interface Call {
  readonly name: string
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly about: string
  readonly headers: ReadonlyArray<Header>
  readonly content: Content
  readonly answers: ReadonlyArray<Answer>
}

/** JSON in that form, with an example. */
export const jsonContent = (schema: Schema.Top, example?: unknown): Content => ({
  "application/json": {
    schema: { effect: schema },
    ...(example === undefined ? {} : { examples: { example } }),
  },
})
