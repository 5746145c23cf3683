/** Form bodies, percent-encoded, valid and otherwise. */
import type { Chance } from "../Chance.ts"
import { holdsLink, strangeText } from "./texts.ts"

export type Fields = ReadonlyArray<readonly [name: string, value: string]>

/** The fields of an object, as a form writes them. */
export const toFields = (value: Readonly<Record<string, unknown>>): Fields =>
  Object.entries(value).flatMap(([name, of]): Fields => {
    if (Array.isArray(of)) return of.map((each) => [name, String(each)])
    return [[name, typeof of === "object" ? JSON.stringify(of) : String(of)]]
  })

export const encodeForm = (fields: Fields): Buffer =>
  Buffer.from(fields.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&"))

/** Also texts that are not Unicode, which `encodeURIComponent` refuses. */
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed())

/** Adds, removes or changes a field. Links stay as they are. */
export const mutateFields = (fields: Fields, chance: Chance): readonly [about: string, Fields] => {
  const what = chance.pick(["replace", "drop", "double", "unknown", "many", "brackets"] as const)
  const at = chance.below(fields.length)
  const value = strangeText(chance)
  const [name = "", old = ""] = fields[at] ?? []
  const others = fields.filter((_, other) => other !== at)
  switch (what) {
    case "replace":
      return [`${what} ${name}`, [...others, [name, value]]]
    case "drop":
      return [`${what} ${name}`, others]
    case "double":
      return [`${what} ${name}`, [...fields, [name, value]]]
    case "unknown":
      return [what, [...fields, [chance.pick(["__proto__", "", "colour", "constructor"]), value]]]
    case "many":
      return [
        what,
        [
          ...fields,
          ...Array.from({ length: chance.pick([99, 101, 5000]) }, () => ["x", "1"] as const),
        ],
      ]
    case "brackets":
      return [`${what} ${name}`, [...others, [`${name}[]`, old], [`${name}[__proto__][x]`, "1"]]]
  }
}

/** Bytes that no encoder produces. */
export const brokenForm = (
  body: Buffer,
  chance: Chance,
): readonly [about: string, body: Buffer] => {
  const text = body.toString("latin1")
  const at = chance.below(text.length)
  const what = chance.pick([
    "percent",
    "utf-8",
    "nul",
    "ampersands",
    "no names",
    "raw bytes",
    "semicolons",
    "cut",
  ] as const)
  const latin = (created: string) => [what, Buffer.from(created, "latin1")] as const
  switch (what) {
    case "percent":
      return latin(`${text}&x=%${chance.pick(["", "z", "zz", "4", "u0041"])}`)
    case "utf-8":
      return latin(`${text}&msg=%ff%fe&group_name=%c0%80&phone=%ed%a0%80`)
    case "nul":
      return latin(`${text}&msg=%00`)
    case "ampersands":
      return latin(`&&&=&${text}&=&&${"&".repeat(1000)}`)
    case "no names":
      return latin(`${text}&=x&x&x=`)
    case "raw bytes":
      return latin(`${text}&msg=\xff\x00\x80`)
    case "semicolons":
      return latin(text.replaceAll("&", ";"))
    case "cut":
      return holdsLink(body) ? latin(text) : latin(text.slice(0, at))
  }
}
