/**
 * What the OpenAPI document is made from: operations, each with all that can be asked and answered.
 * Each part of the interface makes them from its table of routes; only `openApi.ts` knows how OpenAPI
 * writes them down.
 */
import type { Schema } from "effect"
import type { Route } from "../route/RouteTable.ts"

/** JSON that is written into the document as it stands. */
export type JsonObject = Readonly<Record<string, unknown>>

/** A schema that the core parses or answers with, or one written out as JSON Schema. */
export type AnySchema = { readonly effect: Schema.Top } | { readonly json: JsonObject }

export interface Media {
  readonly schema: AnySchema
  /** Examples by a name for people. */
  readonly examples?: Readonly<Record<string, unknown>> | undefined
}

/** By content type. */
export type Content = Readonly<Record<string, Media>>

/** Of an answer or of a request; see `headers.ts`. */
export interface Header {
  readonly name: string
  readonly description: string
  readonly schema: JsonObject
}

export interface Answer {
  readonly status: number
  readonly description: string
  readonly headers: ReadonlyArray<Header>
  /** Undefined: no body. */
  readonly content: Content | undefined
}

/** Where an operation stands in the document, and how it begins. */
export interface Heading extends Route {
  /** Unique in the whole document; names of generated clients' functions come from it. */
  readonly id: string
  readonly tag: string
  /** A few words, such as "Send a message". */
  readonly summary: string
  readonly about?: string
}

export interface Operation extends Heading {
  /**
   * Names of the security schemes, any one of which is enough; null for credentials that are not in
   * the headers. Empty when no credentials are needed.
   */
  readonly security: ReadonlyArray<string | null>
  /** What the parameters in the path are; integers unless said otherwise. */
  readonly parameters?: Readonly<Record<string, JsonObject>>
  /** Parameters of the query: the fields of a struct. */
  readonly query?: Schema.Top | undefined
  readonly headers: ReadonlyArray<Header>
  readonly body?: { readonly required: boolean; readonly content: Content } | undefined
  readonly answers: ReadonlyArray<Answer>
  /** Calls that the service makes later to an address that the request gives, by the field it is in. */
  readonly callbacks?: Readonly<Record<string, Call>> | undefined
}

export interface Tag {
  readonly name: string
  readonly description: string
}

/** One part of the interface, as the document shows it. */
export interface DescribedPart {
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
}

/** JSON in that form, with an example. */
export const jsonContent = (schema: Schema.Top, example?: unknown): Content => ({
  "application/json": {
    schema: { effect: schema },
    examples: example === undefined ? undefined : { example },
  },
})
