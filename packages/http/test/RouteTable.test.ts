import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { routeFinder } from "../src/RouteTable.ts"
import type { Route } from "../src/RouteTable.ts"

const table: ReadonlyArray<Route> = [
  { method: "GET", path: "/v/things" },
  { method: "POST", path: "/v/things" },
  { method: "POST", path: "/v/things/batch" },
  { method: "GET", path: "/v/things/{id}" },
  { method: "DELETE", path: "/v/things/{id}" },
  { method: "PATCH", path: "/v/things/{id}/parts/{part_id}" },
]

const find = routeFinder(table)

/** The result, as one line. */
const verdict = (method: string, path: string): string => {
  const answerHeaders: Record<string, string> = {}
  const incoming = { request: { method }, path, route: "none", answerHeaders }
  const found = find(incoming)
  if (Result.isFailure(found)) {
    assert.strictEqual(incoming.route, "none")
    const { code } = found.failure
    return code === "method_not_allowed" ? `allow ${answerHeaders["allow"]}` : code
  }
  const { route, parameter } = found.success
  assert.strictEqual(incoming.route, route.path)
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
  ["GET", "/v", "not_found"],
  ["GET", "/", "not_found"],
  ["GET", "", "not_found"],
  ["OPTIONS", "*", "not_found"],
  ["GET", "v/things", "not_found"],
  ["GET", "/V/things", "not_found"],
  ["GET", "/v//things", "not_found"],
  ["GET", "/v/things/", "not_found"],
  ["GET", "/v/things/7/", "not_found"],
  ["GET", "/v/things/7/parts", "not_found"],
  ["GET", "/v/things/7/parts/8/9", "not_found"],
  ["GET", "/v/things/batch/7", "not_found"],
  ["GET", "/v/thing%73", "not_found"],
  ["GET", "/v/__proto__", "not_found"],
  ["GET", "/v/{id}", "not_found"],
]

describe("the table of routes", () => {
  for (const [method, path, expected] of verdicts) {
    it.effect(`${method} ${path} is ${expected}`, () =>
      Effect.sync(() => assert.strictEqual(verdict(method, path), expected)),
    )
  }
})
