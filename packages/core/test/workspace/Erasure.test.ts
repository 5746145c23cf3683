/** How long messages are kept (contract: Workspaces). */
import { assert, it } from "@effect/vitest"
import type { WorkspaceId } from "@messaging-service/core"
import { outlived, retentionDaysOf } from "../../src/workspace/Workspaces.ts"

const day = 86_400_000
const now = Date.UTC(2030, 0, 31)

it("of the service's retention and the workspace's own the lower holds", () => {
  assert.isNull(retentionDaysOf(null, null))
  assert.strictEqual(retentionDaysOf(7, null), 7)
  assert.strictEqual(retentionDaysOf(null, 30), 30)
  assert.strictEqual(retentionDaysOf(7, 30), 7)
  assert.strictEqual(retentionDaysOf(30, 7), 7)
})

it("what ended longer ago than the retention has outlived it", () => {
  const workspace = { id: 1 as WorkspaceId, retentionDays: 3, deletedAt: null }
  assert.deepStrictEqual(outlived(workspace, 7, now), {
    workspaceId: workspace.id,
    endedBefore: now - 3 * day,
  })
  assert.isNull(outlived({ ...workspace, retentionDays: null }, null, now))
})
