import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isJsonContentType } from "../src/readRequest.ts"

const contentTypes: ReadonlyArray<readonly [contentType: string | undefined, json: boolean]> = [
  ["application/json", true],
  ["Application/JSON", true],
  ["application/json;charset=utf-8", true],
  ["application/json; charset=UTF-8", true],
  ['application/json; charset="utf-8"', true],
  ["application/json; CHARSET=Utf-8", true],
  ["application/json; charset=utf8", true],
  ["application/json ; profile=x ; charset=utf-8", true],
  ["application/json; profile=https://example.com/x", true],
  ["application/json;", true],
  // A quoted value is one value, whatever it contains.
  ['application/json; profile="a; charset=latin1"', true],
  ["application/json; charset=latin1", false],
  ["application/json; charset=utf-16", false],
  ["application/json; charset=utf-8; charset=latin1", false],
  ["application/json; charset=", false],
  ["application/json, application/json", false],
  ["application/jsonp", false],
  ["application/problem+json", false],
  ["text/json", false],
  ["text/plain", false],
  ["multipart/form-data; boundary=x", false],
  ["application/x-www-form-urlencoded", false],
  ["json", false],
  ["", false],
  [undefined, false],
]

describe("the content type of a JSON body", () => {
  for (const [contentType, json] of contentTypes) {
    it.effect(`${contentType ?? "none at all"} is ${json ? "accepted" : "refused"}`, () =>
      Effect.sync(() => assert.strictEqual(isJsonContentType(contentType), json)),
    )
  }
})
