/** Where a user may be led after signing in. */
import { assert, describe, it } from "vitest"
import { ownPath } from "../pages/entrance/ownPath.ts"

const origin = "https://messages.example"

describe("the address after signing in", () => {
  it.each(["/w/1/messages?find=table#top", "/", "/w/1/overview"])("may be a path: %s", (to) =>
    assert.strictEqual(ownPath(to, origin), to),
  )

  it.each<unknown>([
    undefined,
    7,
    "",
    "w/1",
    "https://elsewhere.example/",
    "javascript:alert(1)",
    "//elsewhere.example/w/1",
    "/\\elsewhere.example/w/1",
    "/\t/elsewhere.example/w/1",
    "/.//elsewhere.example/w/1",
    "\n//elsewhere.example",
  ])("is no other: %j", (to) => assert.isUndefined(ownPath(to, origin)))
})
