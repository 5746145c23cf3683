/** Query plans as PostgreSQL explains them: what they read, by which index, and what they call. */
import { assert } from "@effect/vitest"
import type { TestDatabase } from "@messaging-service/testkit"
import { Effect } from "effect"
import { planning } from "../src/index.ts"
import { aPool } from "./databases.ts"

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

const getNodes = (node: Node): ReadonlyArray<Node> => [
  node,
  ...(node.Plans ?? []).flatMap(getNodes),
]

export const rowsRead = (plan: Node): number =>
  getNodes(plan)
    .filter((node) => /Scan/.test(node["Node Type"]) && node["Index Name"] !== undefined)
    .reduce((sum, node) => {
      const each =
        (node["Actual Rows"] ?? 0) +
        (node["Rows Removed by Filter"] ?? 0) +
        (node["Rows Removed by Index Recheck"] ?? 0)
      return sum + each * (node["Actual Loops"] ?? 0)
    }, 0)

/** Of the tables that grow without end; of an executed plan only those that it reached. */
export const getIndexes = (plan: Node): ReadonlyArray<string> =>
  [
    ...new Set(
      getNodes(plan).flatMap((node) =>
        node["Actual Loops"] === 0 ? [] : (node["Index Name"] ?? []),
      ),
    ),
  ]
    .filter((name) => name.startsWith("messages"))
    .toSorted()

/** Nothing is read from its one end to the other. */
export const assertLookedUp = (plan: Node, about: string) => {
  assert.notInclude(
    getNodes(plan).map((node) => node["Node Type"]),
    "Seq Scan",
    about,
  )
}

/** A parameter as SQL text, with its type: a plan that serves all values is made without them. */
export const literal = (parameter: unknown): readonly [type: string, sql: string] => {
  const { oid, value } = parameter as { readonly oid: number; readonly value: unknown }
  const list = (values: unknown) => `{${(values as ReadonlyArray<unknown>).join(",")}}`
  switch (oid) {
    case 16:
      return ["boolean", String(value)]
    case 20:
      return ["int8", String(value)]
    case 25:
      return ["text", value === null ? "null" : `'${String(value)}'`]
    case 1009:
      return ["text[]", `'${list(value)}'`]
    case 1016:
      return ["int8[]", value === null ? "null" : `'${list(value)}'`]
    default:
      return [
        "timestamptz",
        Number.isFinite(value)
          ? `to_timestamp(${Number(value)} / 1000.0)`
          : `'${String(value).toLowerCase()}'`,
      ]
  }
}

export interface Explained {
  readonly "Query Text": string
  readonly Plan: Node
}

const explaining = {
  session_preload_libraries: "auto_explain",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_level": "notice",
  "auto_explain.log_format": "json",
  "auto_explain.log_analyze": "on",
  "auto_explain.log_timing": "off",
  "auto_explain.log_nested_statements": "on",
  "auto_explain.log_verbose": "on",
}

/** Connections as the service makes its own, on which PostgreSQL tells the plan of every statement. */
export const anExplainingPool = (database: TestDatabase) =>
  Effect.gen(function* () {
    const plans: Array<Explained> = []
    const pool = yield* aPool(database, { ...planning, ...explaining })
    pool.on("connect", (client) => {
      client.on("notice", ({ message = "" }) => {
        const plan = message.indexOf("{")
        if (message.startsWith("duration") && plan > 0) {
          plans.push(JSON.parse(message.slice(plan)) as Explained)
        }
      })
    })
    /** What that takes, statement by statement. */
    const readPlans = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.gen(function* () {
        plans.length = 0
        yield* effect
        return plans.splice(0)
      })
    return { pool, readPlans }
  })
