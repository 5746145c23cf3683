/** Checks values against the document's schemas with a validator that the service does not use. */
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import type { DocumentObject, Json } from "./Document.ts"
import { isJson } from "./Document.ts"

/** The faults of the value; undefined: none. */
export type Check = (value: unknown) => string | undefined

/** Values of these keys are data, not schemas. */
const data = new Set(["enum", "examples", "default", "example", "const"])

/**
 * Answers may gain undocumented fields in future; today's have none. So each object is closed here,
 * except those that are a part of another one.
 */
const closed = (value: unknown, part = false): unknown => {
  if (Array.isArray(value)) return value.map((inner) => closed(inner))
  if (!isJson(value)) return value
  const inner = Object.fromEntries(
    Object.entries(value).map(([key, of]) => {
      if (key === "allOf" && Array.isArray(of)) return [key, of.map((each) => closed(each, true))]
      if (key === "properties" && isJson(of)) return [key, closedFields(of)]
      return [key, data.has(key) ? of : closed(of)]
    }),
  )
  const isWhole = [inner["type"]].flat().includes("object")
  return "properties" in inner && isWhole && !part && !("additionalProperties" in inner)
    ? { ...inner, unevaluatedProperties: false }
    : inner
}

const closedFields = (fields: Json): Json =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, closed(field)]))

const pointer = (path: ReadonlyArray<string>): string =>
  path
    .map((key) => `/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}`)
    .join("")

const makeAjv = (document: unknown) => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(document as Json, "document")
  return ajv
}

/** Validators by a schema's place in the document. */
export interface Checker {
  /** An answer, which has only described fields. */
  answer(...path: ReadonlyArray<string>): Check
  /** The JSON body of a request, by its schema. */
  request(...path: ReadonlyArray<string>): Check
}

/** Schemas are compiled on first use, and cached. */
export const makeChecker = (document: DocumentObject): Checker => {
  const components = closed(document.components) as Record<string, Record<string, Json>>
  // It is a part of every error, which is closed around it.
  const schemas = {
    ...components["schemas"],
    Error: document.components["schemas"]?.["Error"] ?? {},
  }
  const answers = makeAjv({ ...(closed(document) as Json), components: { ...components, schemas } })
  const requests = makeAjv(document)
  const cachedChecks = (ajv: Ajv2020) => {
    const checks = new Map<string, Check>()
    return (...path: ReadonlyArray<string>): Check => {
      const id = `document#${pointer(path)}`
      const known = checks.get(id)
      if (known !== undefined) return known
      const validate = ajv.compile({ $ref: id })
      const check: Check = (value) =>
        validate(value)
          ? undefined
          : ajv.errorsText(validate.errors?.slice(0, 3), { separator: "; " })
      checks.set(id, check)
      return check
    }
  }
  return { answer: cachedChecks(answers), request: cachedChecks(requests) }
}
