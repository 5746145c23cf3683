/** What a schema expects, in words for developers: a refusal that only says "no" makes them look it up. */
import { SchemaAST } from "effect"

/** The words for each kind that has no values to name. */
const kinds: Readonly<Partial<Record<SchemaAST.AST["_tag"], string>>> = {
  String: "a text",
  Number: "a number",
  Boolean: "true or false",
  Arrays: "a list",
  Objects: "an object",
  Null: "null",
}

const wholeNumber = "a whole number"

/** The words of a check that says all that a value must be, such as "a whole number from 0 to 9". */
const checked = ({ checks }: SchemaAST.AST): string | undefined => {
  for (const { annotations } of checks ?? []) {
    const told = annotations?.["message"]
    if (typeof told === "string" && told.startsWith(`must be ${wholeNumber}`)) {
      return told.slice("must be ".length)
    }
    if (annotations?.["expected"] === "an integer") return wholeNumber
  }
  return undefined
}

/** Each alternative; undefined where one of them has no words. */
const alternatives = (ast: SchemaAST.AST): ReadonlyArray<string> | undefined => {
  if (SchemaAST.isLiteral(ast)) return [JSON.stringify(ast.literal)]
  if (SchemaAST.isUnion(ast)) {
    const all = ast.types.map(alternatives)
    return all.every((one) => one !== undefined) ? all.flat() : undefined
  }
  const told = checked(ast) ?? kinds[ast._tag]
  return told === undefined ? undefined : [told]
}

/** What the schema expects, in words that follow a field's name: `must be "live" or "test"`. */
export const expected = (ast: SchemaAST.AST): string => {
  const all = [...new Set(alternatives(SchemaAST.toEncoded(ast)))]
  if (all.length === 0) return "is not an accepted value"
  const last = all.length > 1 ? ` or ${all.at(-1)}` : ""
  return `must be ${all.slice(0, last === "" ? 1 : -1).join(", ")}${last}`
}
