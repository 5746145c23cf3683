/** Faults of campaigns: what they take on, pauses, and when they look again. */
import { edit } from "./PlantedFault.ts"
import type { PlantedFault } from "./PlantedFault.ts"

const store = "store-memory/src/campaigns.ts"
const takes = "core/src/service/takeRows.ts"

export const campaignFaults: ReadonlyArray<PlantedFault> = [
  {
    name: "campaigns: a row stays pending once its message is accepted",
    within: 10,
    edits: [
      edit(
        store,
        'settleRow(one, { state: "taken", values: null, phone })',
        "settleRow(one, { phone })",
      ),
    ],
  },
  {
    name: "campaigns: a take does not ask whether the campaign has changed",
    within: 10,
    edits: [
      edit(
        store,
        'const entry = entryAt(tables, id, revision)\n  if (entry?.campaign.state !== "running") return { _tag: "Conflict", guard: "campaign" }',
        'const entry = findEntry(tables, id)\n  if (entry === undefined || revision < 0) return { _tag: "Conflict", guard: "campaign" }',
      ),
    ],
  },
  {
    name: "campaigns: a pause holds nothing",
    within: 10,
    edits: [edit(store, 'if (messages === "hold") holdMessages(tables, entry.waiting, now)', "")],
  },
  {
    name: "campaigns: nothing is left to others",
    within: 10,
    edits: [
      edit(
        takes,
        "messages: Math.max(0, messages - quotaReserve)",
        "messages: quotaReserve < 0 ? 0 : messages",
      ),
    ],
  },
  {
    name: "campaigns: a full quota is never looked at again",
    within: 150,
    edits: [
      edit(
        takes,
        "return desk.room === 0 ? (desk.quota.exact?.roomAt ?? null) : null",
        "return null",
      ),
      edit(takes, "blocked > 0 ? fallback : null", "blocked < 0 ? fallback : null"),
    ],
  },
  {
    name: "campaigns: nothing cancels what a killed stop leaves",
    within: 10,
    edits: [
      edit(
        store,
        'if (isRemoved || to.state === "stopped") abandonMessages(tables, entry.waiting)',
        "",
      ),
    ],
  },
]
