/** `openTest` needs no runner of its own, and its process ends by itself. */
import { spawnSync } from "node:child_process"
import { assert, test } from "vitest"

test("tests of the service run under node:test", () => {
  const { status, stdout } = spawnSync(
    process.execPath,
    ["--test", "--test-reporter=tap", "test/testing/withNodeTest.ts"],
    { cwd: new URL("../..", import.meta.url), encoding: "utf8", timeout: 60_000 },
  )
  assert.strictEqual(status, 0, stdout)
  assert.include(stdout, "# pass 1")
})
