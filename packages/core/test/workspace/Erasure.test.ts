/** How long messages are kept (contract: Workspaces). */
import { assert, it } from "@effect/vitest"
import type { WorkspaceId } from "@messaging-service/core"
import { outlived, effectiveRetentionDays } from "../../src/service/Workspaces.ts"

const day = 86_400_000
const now = Date.UTC(2030, 0, 31)

it("applies the shorter retention, of the service or of the workspace", () => {
  assert.isNull(effectiveRetentionDays(null, null))
  assert.strictEqual(effectiveRetentionDays(7, null), 7)
  assert.strictEqual(effectiveRetentionDays(null, 30), 30)
  assert.strictEqual(effectiveRetentionDays(7, 30), 7)
  assert.strictEqual(effectiveRetentionDays(30, 7), 7)
})

it("a record older than the retention is due for erasure", () => {
  const workspace = { id: 1 as WorkspaceId, retentionDays: 3, deletedAt: null }
  assert.deepStrictEqual(outlived(workspace, 7, now), {
    workspaceId: workspace.id,
    endedBefore: now - 3 * day,
  })
  assert.isNull(outlived({ ...workspace, retentionDays: null }, null, now))
})
