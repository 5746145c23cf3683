/**
 * Writes `pages/api/answerShapes.generated.ts`, what each answer of the operator API has to be, from the types that
 * the service's own document gives it:
 *
 *     pnpm generate
 *
 * Pages compare an answer with it before they trust it.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { resolve } from "node:path"
import { parseSync } from "vite"
import type { ESTree } from "vite"
import type { Shape, Shapes } from "./pages/api/shape.ts"

type Type = ESTree.TSType
type Field = readonly [name: string, type: Type]

const typesFile = resolve(import.meta.dirname, "../client/src/openapi.ts")

/** The fields of a type; the name of one that may be missing ends in `?`. */
const toFields = (members: ReadonlyArray<ESTree.TSSignature>): ReadonlyArray<Field> =>
  members.flatMap((member) => {
    if (member.type !== "TSPropertySignature" || !member.typeAnnotation) return []
    const { key, optional, typeAnnotation } = member
    const name = key.type === "Literal" ? String(key.value) : key.type === "Identifier" && key.name
    return name === false ? [] : [[optional ? `${name}?` : name, typeAnnotation.typeAnnotation]]
  })

/** `Message` of `components["schemas"]["Message"]`. */
const lastName = ({ indexType }: ESTree.TSIndexedAccessType): string =>
  indexType.type === "TSLiteralType" && indexType.literal.type === "Literal"
    ? String(indexType.literal.value)
    : ""

const toEither = (shapes: ReadonlyArray<Shape>): Shape => {
  const [first = "any", ...others] = new Map(
    shapes.map((one) => [JSON.stringify(one), one]),
  ).values()
  return others.length === 0 ? first : [first, ...others]
}

const toShape = (type: Type | undefined): Shape => {
  switch (type?.type) {
    case "TSStringKeyword":
      return "string"
    case "TSNumberKeyword":
      return "number"
    case "TSBooleanKeyword":
      return "boolean"
    case "TSNullKeyword":
      return "null"
    case "TSLiteralType":
      return type.literal.type === "Literal" ? typeof type.literal.value : "any"
    case "TSIndexedAccessType":
      return lastName(type)
    case "TSTypeOperator":
    case "TSParenthesizedType":
      return toShape(type.typeAnnotation)
    case "TSArrayType":
      return [toShape(type.elementType)]
    case "TSUnionType":
      return toEither(type.types.map(toShape))
    case "TSTypeLiteral":
      return Object.fromEntries(toFields(type.members).map(([name, of]) => [name, toShape(of)]))
    default:
      return "any"
  }
}

/** Adds the schemas that a shape names, and those that they name. */
const addReached = (shape: Shape, schemas: Shapes, found: Record<string, Shape>): void => {
  if (typeof shape !== "string")
    return Object.values(shape).forEach((each: Shape) => addReached(each, schemas, found))
  const schema = schemas[shape]
  if (schema === undefined || shape in found) return
  found[shape] = schema
  addReached(schema, schemas, found)
}

const toDeclarations = (types: string): ReadonlyMap<string, Type> =>
  new Map(
    parseSync(typesFile, types).program.body.flatMap((node): ReadonlyArray<Field> => {
      const of = node.type === "ExportNamedDeclaration" ? node.declaration : null
      if (of?.type === "TSTypeAliasDeclaration") return [[of.id.name, of.typeAnnotation]]
      return of?.type === "TSInterfaceDeclaration"
        ? [[of.id.name, { ...of.body, type: "TSTypeLiteral", members: of.body.body }]]
        : []
    }),
  )

/** By operations such as `GET /admin/v1/workspaces`, and by the schemas that their answers name. */
export const answerShapes = (types: string): Shapes => {
  const declared = toDeclarations(types)
  const fields = (type: Type | undefined): ReadonlyArray<Field> =>
    type?.type === "TSTypeLiteral"
      ? toFields(type.members)
      : type?.type === "TSTypeReference" && type.typeName.type === "Identifier"
        ? fields(declared.get(type.typeName.name))
        : []
  /** The type that lies at those names within another. */
  const within = (type: Type | undefined, ...names: ReadonlyArray<string>): Type | undefined =>
    names.reduce((of, name) => fields(of).find(([each]) => each === name)?.[1], type)

  const resolved = (type: Type): Type | undefined =>
    type.type === "TSTypeReference" && type.typeName.type === "Identifier"
      ? declared.get(type.typeName.name)
      : type
  const schemas = Object.fromEntries(
    fields(within(declared.get("components"), "schemas")).map(([name, type]) => [
      name,
      toShape(resolved(type)),
    ]),
  )
  const shapes: Record<string, Shape> = {}
  for (const [path, verbs] of fields(declared.get("paths"))) {
    if (!path.startsWith("/admin/")) continue
    for (const [verb, operation] of fields(verbs)) {
      if (operation.type !== "TSIndexedAccessType") continue
      const responses = within(declared.get("operations"), lastName(operation), "responses")
      const answers = fields(responses).map(([, response]) =>
        toShape(within(response, "content", "application/json")),
      )
      const shape = toEither(answers)
      shapes[`${verb.toUpperCase()} ${path}`] = shape
      addReached(shape, schemas, shapes)
    }
  }
  return shapes
}

const shapesFile = resolve(import.meta.dirname, "pages/api/answerShapes.generated.ts")

/** The module of the shapes, one to a line, by the client's types of today. */
export const shapesModule = (): string => {
  const lines = Object.entries(answerShapes(readFileSync(typesFile, "utf8"))).map(
    ([name, shape]) => `  ${JSON.stringify(name)}: ${JSON.stringify(shape)},\n`,
  )
  return `/** What each answer of the operator API has to be. Made by \`pnpm generate\` from the client's types. */
import type { Shapes } from "./shape.ts"

export const shapes: Shapes = {
${lines.join("")}}
`
}

if (import.meta.main) writeFileSync(shapesFile, shapesModule())
