/** Values that fit a JSON Schema of the document, or the name where the name says more. */
import { isJson } from "@messaging-service/testkit/openapi"
import type { Json, Operation, ServiceDocument } from "@messaging-service/testkit/openapi"
import type { Chance } from "../Chance.ts"
import type { Inventory } from "../world/Inventory.ts"
import { fieldValue } from "./fieldValues.ts"
import type { Credentials } from "./Shot.ts"

export interface Sampling {
  readonly chance: Chance
  readonly document: ServiceDocument
  readonly inventory: Inventory
  readonly operation: Operation
  readonly credentials: Credentials
}

/** Required fields always, others sometimes. */
const optionalShare = 0.25

const typeOf = (chance: Chance, { type }: Json): unknown => {
  const types = [type].flat().filter((each) => each !== "null" || chance.is(0.1))
  return chance.pick(types)
}

/** The object's required fields, and the forbidden ones. */
const chosenFields = (chance: Chance, schema: Json, names: ReadonlyArray<string>) => {
  const required = (schema["required"] ?? []) as ReadonlyArray<string>
  // Recipients: mostly a phone.
  const one = chance.is(0.6) ? names[0] : chance.pick(names)
  const branches = (schema["oneOf"] ?? []) as ReadonlyArray<{
    readonly required?: ReadonlyArray<string>
  }>
  const branch = chance.pick(branches)?.required ?? []
  if (schema["maxProperties"] === 1 && one !== undefined) {
    return { required: [one], excluded: names.filter((name) => name !== one) }
  }
  const others = branches.flatMap((each) => each.required ?? [])
  return {
    required: [...required, ...branch],
    excluded: others.filter((name) => !branch.includes(name)),
  }
}

const sampleObject = (sampling: Sampling, schema: Json): Json => {
  const fields = isJson(schema["properties"]) ? schema["properties"] : {}
  const { excluded, required } = chosenFields(sampling.chance, schema, Object.keys(fields))
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => {
      const isThere = sampling.chance.is(optionalShare) && !excluded.includes(name)
      return required.includes(name) || isThere
        ? [[name, sampleField(sampling, name, field as Json)]]
        : []
    }),
  )
}

const sampleArray = (sampling: Sampling, name: string, schema: Json): ReadonlyArray<unknown> => {
  const min = Number(schema["minItems"] ?? 0)
  const length =
    min +
    sampling.chance.weighted([
      [8, 0],
      [8, 1],
      [4, 2],
      [1, 20],
    ])
  const items = (schema["items"] ?? {}) as Json
  return Array.from({ length }, () => sampleItem(sampling, name, items))
}

/** Items of a list have its name without the plural. */
const sampleItem = (sampling: Sampling, name: string, schema: Json): unknown => {
  const ofItem: Readonly<Record<string, string>> = {
    phones: "phone",
    numbers: "phone",
    number_ids: "number_id",
    groups: "group",
  }
  return sampleField(sampling, ofItem[name] ?? "", schema)
}

const sampleInteger = (chance: Chance, schema: Json): number => {
  const min = Number(schema["minimum"] ?? 0)
  const max = Number(schema["maximum"] ?? min + 100)
  return chance.pick([min, max, Math.min(max, min + chance.below(100))])
}

const sampleString = (chance: Chance, schema: Json): string => {
  const examples = schema["examples"]
  if (Array.isArray(examples) && examples.length > 0) return String(chance.pick(examples))
  const min = Number(schema["minLength"] ?? 0)
  const max = Number(schema["maxLength"] ?? 40)
  return "x".repeat(Math.min(max, min + chance.below(20)))
}

/** A value of the schema; `name` is that of its field. */
export const sampleField = (sampling: Sampling, name: string, input: Json): unknown => {
  const { chance, document, operation, inventory } = sampling
  const schema = document.resolve(input)
  const known = fieldValue(chance, inventory, { operation, name })
  const isObject = "properties" in schema || "anyOf" in schema
  if (known?.value !== undefined && !isObject && !isList(schema) && chance.is(0.95))
    return known.value
  return sample(sampling, schema, name)
}

const isList = ({ type }: Json): boolean => [type].flat().includes("array")

/** A value of the schema. */
export const sample = (sampling: Sampling, input: Json, name = ""): unknown => {
  const { chance, document } = sampling
  const schema = document.resolve(input)
  if ("const" in schema) return schema["const"]
  if (Array.isArray(schema["enum"])) return chance.pick(schema["enum"])
  const choices = schema["anyOf"]
  if (Array.isArray(choices)) {
    const values = choices.filter((each) => !isNull(each) || chance.is(0.1))
    return sample(sampling, chance.pick(values.length === 0 ? choices : values) as Json, name)
  }
  switch ("properties" in schema ? "object" : typeOf(chance, schema)) {
    case "object":
      return sampleObject(sampling, schema)
    case "array":
      return sampleArray(sampling, name, schema)
    case "integer":
    case "number":
      return sampleInteger(chance, schema)
    case "boolean":
      return chance.is(0.5)
    case "null":
      return null
    default:
      return sampleString(chance, schema)
  }
}

const isNull = (schema: unknown): boolean => isJson(schema) && schema["type"] === "null"
