/**
 * What the published document says of a schema beside what the schema itself tells. Whatever is said
 * of an input here must hold for everything its parser accepts; a document that is looser than the
 * parser is true, one that is stricter is not.
 */
import { Schema } from "effect"

/** JSON Schema keywords for values that a parser reads, which no schema could tell by itself. */
export interface Described {
  readonly description?: string
  readonly format?: string
  /** An ECMAScript pattern with the `u` flag that every accepted text matches. */
  readonly pattern?: string
  readonly examples?: ReadonlyArray<string>
  /** For text in a query: the JSON Schema of the value that it stands for. */
  readonly parameter?: Readonly<Record<string, unknown>>
}

/** Annotations of ours that go into the document beside JSON Schema's own. */
export const describedKeys: ReadonlyArray<string> = ["pattern", "parameter"]

/**
 * A field of a body or an answer, with what a reader should know about it. What a parser reads from
 * text is described where the text is: see `Described`.
 */
export const described = <S extends Schema.Top>(
  schema: S,
  description: string,
  more: { readonly default?: S["Type"] } = {},
): S["Rebuild"] => Schema.annotateKey<S>({ description, ...more })(schema)
