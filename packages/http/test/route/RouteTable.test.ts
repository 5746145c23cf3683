import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { routeMatcher } from "../../src/route/RouteTable.ts"
import type { Route } from "../../src/route/RouteTable.ts"

const table: ReadonlyArray<Route> = [
  { method: "GET", path: "/v/things" },
  { method: "POST", path: "/v/things" },
  { method: "POST", path: "/v/things/batch" },
  { method: "GET", path: "/v/things/{id}" },
  { method: "DELETE", path: "/v/things/{id}" },
  { method: "PATCH", path: "/v/things/{id}/parts/{part_id}" },
]

const match = routeMatcher(table)

/** What the matcher says, as one line. */
const verdict = (method: string, path: string): string => {
  const matched = match(method, path)
  if (matched._tag === "Unknown") return "unknown"
  if (matched._tag === "WrongMethod") return `allow ${matched.allow}`
  const { route, parameter } = matched
  return `${route.method} ${route.path} ${parameter("id")} ${parameter("part_id")}`.trim()
}

const verdicts: ReadonlyArray<readonly [method: string, path: string, expected: string]> = [
  ["GET", "/v/things", "GET /v/things"],
  ["HEAD", "/v/things", "GET /v/things"],
  ["POST", "/v/things", "POST /v/things"],
  ["GET", "/v/things/7", "GET /v/things/{id} 7"],
  ["GET", "/v/things/%37", "GET /v/things/{id} %37"],
  ["PATCH", "/v/things/7/parts/8", "PATCH /v/things/{id}/parts/{part_id} 7 8"],
  // A literal wins over an id, for every method.
  ["POST", "/v/things/batch", "POST /v/things/batch"],
  ["GET", "/v/things/batch", "allow POST"],
  ["DELETE", "/v/things/batch", "allow POST"],
  ["HEAD", "/v/things/batch", "allow POST"],
  ["OPTIONS", "/v/things", "allow GET, HEAD, POST"],
  ["PUT", "/v/things/7", "allow GET, HEAD, DELETE"],
  ["get", "/v/things", "allow GET, HEAD, POST"],
  ["constructor", "/v/things", "allow GET, HEAD, POST"],
  ["GET", "/v", "unknown"],
  ["GET", "/", "unknown"],
  ["GET", "", "unknown"],
  ["OPTIONS", "*", "unknown"],
  ["GET", "v/things", "unknown"],
  ["GET", "/V/things", "unknown"],
  ["GET", "/v//things", "unknown"],
  ["GET", "/v/things/", "unknown"],
  ["GET", "/v/things/7/", "unknown"],
  ["GET", "/v/things/7/parts", "unknown"],
  ["GET", "/v/things/7/parts/8/9", "unknown"],
  ["GET", "/v/things/batch/7", "unknown"],
  ["GET", "/v/thing%73", "unknown"],
  ["GET", "/v/__proto__", "unknown"],
  ["GET", "/v/{id}", "unknown"],
]

describe("the table of routes", () => {
  for (const [method, path, expected] of verdicts) {
    it.effect(`${method} ${path} is ${expected}`, () =>
      Effect.sync(() => assert.strictEqual(verdict(method, path), expected)),
    )
  }
})
