/** Query plans as PostgreSQL explains them: what they read, and by which index. */
import { assert } from "@effect/vitest"

export interface Node {
  readonly "Node Type": string
  readonly "Index Name"?: string
  readonly "Actual Rows"?: number
  readonly "Actual Loops"?: number
  readonly "Rows Removed by Filter"?: number
  readonly "Rows Removed by Index Recheck"?: number
  readonly "Shared Hit Blocks"?: number
  readonly "Shared Read Blocks"?: number
  readonly Plans?: ReadonlyArray<Node>
}

const nodesOf = (node: Node): ReadonlyArray<Node> => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

export const rowsRead = (plan: Node): number =>
  nodesOf(plan)
    .filter((node) => /Scan/.test(node["Node Type"]) && node["Index Name"] !== undefined)
    .reduce((sum, node) => {
      const each =
        (node["Actual Rows"] ?? 0) +
        (node["Rows Removed by Filter"] ?? 0) +
        (node["Rows Removed by Index Recheck"] ?? 0)
      return sum + each * (node["Actual Loops"] ?? 0)
    }, 0)

/** Of the tables that grow without end. */
export const indexesOf = (plan: Node): ReadonlyArray<string> =>
  [...new Set(nodesOf(plan).flatMap((node) => node["Index Name"] ?? []))]
    .filter((name) => name.startsWith("messages"))
    .toSorted()

/** Nothing is read from its one end to the other. */
export const assertLookedUp = (plan: Node, about: string) => {
  assert.notInclude(
    nodesOf(plan).map((node) => node["Node Type"]),
    "Seq Scan",
    about,
  )
}

/** A parameter as SQL text, with its type: a plan that serves all values is made without them. */
export const literal = (parameter: unknown): readonly [type: string, sql: string] => {
  const { oid, value } = parameter as { readonly oid: number; readonly value: unknown }
  const list = (values: unknown) => `{${(values as ReadonlyArray<unknown>).join(",")}}`
  switch (oid) {
    case 20:
      return ["int8", String(value)]
    case 25:
      return ["text", `'${String(value)}'`]
    case 1009:
      return ["text[]", `'${list(value)}'`]
    case 1016:
      return ["int8[]", `'${list(value)}'`]
    default:
      return ["timestamptz", `to_timestamp(${Number(value)} / 1000.0)`]
  }
}
