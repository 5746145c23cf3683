/** What is said of an embedded database that did not open. */
import { assert, it } from "@effect/vitest"
import { describe } from "../../src/pglite/DurablePglite.ts"

it("errors of Emscripten's file system, which have no words, have some here", () => {
  assert.strictEqual(describe({ name: "ErrnoError", errno: 51 }), "No space left on device")
  assert.strictEqual(
    describe({ name: "ErrnoError", errno: 29 }),
    "the file system failed with error 29",
  )
  assert.strictEqual(describe(new Error("no")), "Error: no")
})
