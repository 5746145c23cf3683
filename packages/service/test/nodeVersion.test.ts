/** An older Node gets one line that names the version that it takes. */
import { readFileSync } from "node:fs"
import { assert, it } from "vitest"
import { olderNode } from "../src/nodeVersion.ts"

it("an older Node is told which version is needed, and no other runtime", () => {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
  const needed = manifest.engines.node.replace(">=", "")
  for (const node of ["18.20.8", "20.20.2", "22.18.0", "21.7.3"]) {
    const line = `The messaging service needs Node ${needed} or later; this is Node ${node}.`
    assert.strictEqual(olderNode({ node }), line)
    assert.isNull(olderNode({ node, bun: "1.3.0" }))
    assert.isNull(olderNode({ node, deno: "2.5.0" }))
  }
  for (const node of [`${needed}.0`, "22.20.1", "23.0.0", "24.12.0", process.versions.node]) {
    assert.isNull(olderNode({ node }))
  }
  assert.isNull(olderNode({}))
  assert.isNull(olderNode(undefined))
})
