/**
 * Writes an answer as its schema describes it: the fields of the schema in its order, with JSON's names
 * and times. What else a record has is not shown. A writer is compiled once from its schema:
 * `Schema.encodeSync` takes several times as long.
 */
import { formatInstant } from "@messaging-service/core"
import { SchemaAST } from "effect"
import type { Schema } from "effect"
import { jsonName } from "./JsonNames.ts"

type Write = (value: unknown) => string

type Fields = Readonly<Record<string, unknown>>

/** On a schema of text with a time in epoch milliseconds as its value. */
export const writtenAsInstant = "writtenAsInstant"

const writeInstant: Write = (value) => `"${formatInstant(value as number)}"`

/** What JSON has to escape in a text. */
// oxlint-disable-next-line no-control-regex
const escaped = /["\\\u0000-\u001f\ud800-\udfff]/

/** Of values without fields: `JSON.stringify` alone takes twice as long for short texts and for integers. */
const writeLeaf: Write = (value) => {
  if (typeof value === "string") return escaped.test(value) ? JSON.stringify(value) : `"${value}"`
  return Number.isSafeInteger(value) ? String(value) : JSON.stringify(value)
}

interface Field {
  readonly name: string
  /** What begins the object with it, and what adds it. */
  readonly first: string
  readonly next: string
  readonly write: Write
}

const toFields = ({ propertySignatures }: SchemaAST.Objects): ReadonlyArray<Field> =>
  propertySignatures.map(({ name, type }) => {
    const start = `${JSON.stringify(jsonName(String(name)))}:`
    return { name: String(name), first: `{${start}`, next: `,${start}`, write: getWriter(type) }
  })

const writeMember = (text: string, { first, next, write }: Field, member: unknown): string =>
  member === undefined
    ? text
    : text + (text === "" ? first : next) + (member === null ? "null" : write(member))

const ended = (text: string): string => (text === "" ? "{}" : `${text}}`)

const structWriter = (ast: SchemaAST.Objects): Write => {
  const fields = toFields(ast)
  return (value) => {
    let text = ""
    for (const field of fields) text = writeMember(text, field, (value as Fields)[field.name])
    return ended(text)
  }
}

/** Of one of several structs, in the order that the value has. */
const unionWriter = (structs: ReadonlyArray<SchemaAST.Objects>): Write => {
  const fields = new Map(structs.flatMap(toFields).map((field) => [field.name, field]))
  return (value) => {
    let text = ""
    for (const name of Object.keys(value as Fields)) {
      const field = fields.get(name)
      if (field !== undefined) text = writeMember(text, field, (value as Fields)[name])
    }
    return ended(text)
  }
}

const makeWriter = (ast: SchemaAST.AST): Write => {
  if (ast.annotations?.[writtenAsInstant] === true) return writeInstant
  if (SchemaAST.isObjects(ast) && ast.indexSignatures.length === 0) return structWriter(ast)
  if (SchemaAST.isArrays(ast) && ast.rest[0] !== undefined) {
    const write = getWriter(ast.rest[0])
    return (value) => `[${(value as ReadonlyArray<unknown>).map(write).join(",")}]`
  }
  if (SchemaAST.isUnion(ast)) {
    const types = ast.types.filter((type) => !SchemaAST.isNull(type))
    if (types.length === 1 && types[0] !== undefined) return getWriter(types[0])
    const structs = types.filter(SchemaAST.isObjects)
    if (structs.length > 0) return unionWriter(structs)
  }
  return writeLeaf
}

const writers = new WeakMap<SchemaAST.AST, Write>()

const getWriter = (ast: SchemaAST.AST): Write => {
  const writer = writers.get(ast) ?? makeWriter(ast)
  writers.set(ast, writer)
  return writer
}

/** The value as JSON. */
export const writeJson = <S extends Schema.Top>({ ast }: S, value: S["Type"]): string =>
  getWriter(ast)(value)
