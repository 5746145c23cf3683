/**
 * JSON that may be invalid: a tree with pieces of the body's text as leaves, so it can hold
 * duplicate keys, numbers that no program can hold, and broken escapes.
 */
import { isJson } from "@messaging-service/testkit/openapi"
import type { Chance } from "../Chance.ts"
import { endOfSafety, isLinkField, links, strangeText } from "./texts.ts"

export type JsonNode =
  | { readonly kind: "leaf"; readonly text: string }
  | { readonly kind: "list"; readonly items: Array<JsonNode> }
  /** Keys as written in the body, quotes included. */
  | { readonly kind: "object"; readonly entries: Array<Entry> }

interface Entry {
  key: string
  value: JsonNode
}

const leaf = (text: string): JsonNode => ({ kind: "leaf", text })

export const toNode = (value: unknown): JsonNode => {
  if (Array.isArray(value)) return { kind: "list", items: value.map(toNode) }
  if (!isJson(value)) return leaf(JSON.stringify(value ?? null))
  return {
    kind: "object",
    entries: Object.entries(value).map(([key, inner]) => ({
      key: JSON.stringify(key),
      value: toNode(inner),
    })),
  }
}

export const getText = (node: JsonNode): string => {
  switch (node.kind) {
    case "leaf":
      return node.text
    case "list":
      return `[${node.items.map(getText).join(",")}]`
    case "object":
      return `{${node.entries.map(({ key, value }) => `${key}:${getText(value)}`).join(",")}}`
  }
}

const strangeLeaves = [
  "null",
  "true",
  "false",
  "0",
  "-0",
  "-1",
  "1.5",
  "1e0",
  "1e400",
  "-1e400",
  "1e-400",
  "9007199254740991",
  "9007199254740992",
  "9007199254740993",
  "-9223372036854775809",
  "18446744073709551616",
  "123456789012345678901234567890",
  "2147483648",
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\ud83d\\ude00"',
  '"\\u00e9"',
  '"\\x41"',
  '"\u0001"',
  "[]",
  "{}",
  "[[]]",
  "[null]",
  '[""]',
  '{"":""}',
  '{"__proto__":{"polluted":true}}',
  "NaN",
  "Infinity",
  "undefined",
  "01",
  "+1",
  ".5",
  "1.",
  "0x10",
  "'a'",
  "",
]

const deep = (levels: number, isList: boolean): JsonNode =>
  leaf(
    isList
      ? "[".repeat(levels) + "]".repeat(levels)
      : '{"a":'.repeat(levels) + "1" + "}".repeat(levels),
  )

/** Replaces the value of a field with that name. */
const strangeNode = (chance: Chance, name: string, receiver: string): JsonNode => {
  const kind = chance.weighted([
    [10, "leaf"],
    [6, "text"],
    [1, "deep"],
    [1, "list"],
    [isLinkField(name) ? 10 : 0, "link"],
  ] as const)
  const text = strangeText(chance)
  switch (kind) {
    case "leaf":
      return leaf(chance.pick(strangeLeaves))
    case "text":
      return leaf(JSON.stringify(text))
    case "link":
      return leaf(JSON.stringify(links(chance, receiver)))
    case "deep":
      return deep(chance.pick([5, 29, 30, 31, 32, 33, 200, 20_000]), chance.is(0.5))
    case "list": {
      const item = chance.pick(["0", "null", '"x"', "{}", '{"phone":"+15550100001"}'])
      return leaf(
        `[${Array.from({ length: chance.pick([2, 51, 101, 1001, 20_000]) }, () => item).join(",")}]`,
      )
    }
  }
}

const strangeKeys = [
  '"__proto__"',
  '"constructor"',
  '"prototype"',
  '"toString"',
  '""',
  '"colour"',
  '"\\u0000"',
  '"\\ud800"',
  '"to.phone"',
  '"to[0]"',
  '"TO"',
  '" to"',
  '"\\u0074o"',
  `"${"k".repeat(5000)}"`,
]

/** Every object and list of the tree, the root first. */
const inner = (node: JsonNode): ReadonlyArray<JsonNode> => {
  if (node.kind === "leaf") return []
  const children = node.kind === "list" ? node.items : node.entries.map(({ value }) => value)
  return [node, ...children.flatMap(inner)]
}

const toName = (key: string): string => key.replaceAll('"', "")

/** Changes one place of the tree and describes the change. Modifies the tree. */
export const mutateNode = (root: JsonNode, chance: Chance, receiver: string): string => {
  const node = chance.pick(inner(root))
  const what = chance.pick([
    "replace",
    "replace",
    "replace",
    "drop",
    "double",
    "unknown",
    "rename",
    "swap",
    "many",
  ] as const)
  if (node === undefined || node.kind === "leaf") return "as it was"
  if (node.kind === "list") {
    const at = chance.below(node.items.length)
    if (what === "drop") node.items.splice(at, 1)
    else if (what === "double") node.items.push(...node.items)
    else node.items[at] = strangeNode(chance, "", receiver)
    return `${what} item`
  }
  return mutateObject(node.entries, what, chance, receiver)
}

const mutateObject = (
  entries: Array<Entry>,
  what: "replace" | "drop" | "double" | "unknown" | "rename" | "swap" | "many",
  chance: Chance,
  receiver: string,
): string => {
  const at = chance.below(entries.length)
  const other = entries[chance.below(entries.length)]
  const entry = entries[at]
  const key = chance.pick(strangeKeys)
  const value = strangeNode(chance, entry === undefined ? "" : toName(entry.key), receiver)
  if (entry === undefined || other === undefined || what === "unknown") {
    entries.push({ key, value: leaf(chance.pick(["1", '"x"', "null", "{}"])) })
    return `unknown field ${key.slice(0, 20)}`
  }
  switch (what) {
    case "drop":
      entries.splice(at, 1)
      break
    case "double":
      entries.push({ key: entry.key, value: chance.is(0.5) ? entry.value : value })
      break
    case "rename":
      entry.key = key
      break
    case "swap":
      ;[entry.value, other.value] = [other.value, entry.value]
      break
    case "many":
      for (let n = 0; n < chance.pick([10, 60, 2000, 20_000]); n++) {
        entries.push({ key: `"unknown_${n}"`, value: leaf("1") })
      }
      break
    case "replace":
      entry.value = value
      break
  }
  return `${what} ${toName(entry.key).slice(0, 20)}`
}

/** The body as bytes, sometimes changed as a whole: broken grammar, other encodings, great size. */
export const brokenText = (
  text: string,
  chance: Chance,
): readonly [about: string, body: Buffer] => {
  const at = Math.min(chance.below(text.length), endOfSafety(text))
  const what = chance.pick([
    "cut",
    "trailing",
    "bom",
    "utf-16",
    "latin-1",
    "comment",
    "comma",
    "white space",
    "large",
    "no object",
    "empty",
    "nul",
  ] as const)
  const utf8 = (created: string) => [what, Buffer.from(created)] as const
  switch (what) {
    case "cut":
      return utf8(text.slice(0, at))
    case "trailing":
      return utf8(`${text}${chance.pick(["}", "null", "\u0000", "//", "{}"])}`)
    case "bom":
      return utf8(`\ufeff${text}`)
    case "utf-16":
      return [what, Buffer.from(text, "utf16le")]
    case "latin-1":
      return [
        what,
        Buffer.concat([
          Buffer.from(text.slice(0, -1)),
          Buffer.from([0x22, 0xff, 0xfe, 0xc0, 0x80]),
        ]),
      ]
    case "comment":
      return utf8(`/* a */${text}`)
    case "comma":
      return utf8(text.replace(/\}$/, ",}"))
    case "white space":
      return utf8(`${" \n\t\r".repeat(chance.pick([1, 10_000]))}${text}`)
    case "large":
      return utf8(
        `${text}${" ".repeat(chance.pick([1_048_576 - text.length, 1_048_576, 1_100_000]))}`,
      )
    case "no object":
      return utf8(chance.pick(["null", "1", '"x"', "[]", "true", `[${text}]`, "[[]]"]))
    case "empty":
      return utf8("")
    case "nul":
      return utf8(`${text.slice(0, at)}\u0000${text.slice(at)}`)
  }
}
