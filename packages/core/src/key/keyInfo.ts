/** What a key is and may do: the answer of GET /me (contract: Key info). */
import { dailyQuota } from "../message/Quota.ts"
import { requestsPerDay, requestsPerMinute } from "../request/RateWindow.ts"
import { formatInstant } from "../time/Instant.ts"
import { messagesRemaining } from "../workspace/Workspace.ts"
import type { Caller } from "./Admission.ts"

export const keyInfo = ({ key, workspace }: Caller) => ({
  workspace: { id: workspace.id, name: workspace.name },
  key: {
    id: key.id,
    name: key.name,
    mode: key.mode,
    scopes: key.scopes,
    limited_to_numbers: key.numberIds !== null,
    number_ids: key.numberIds ?? [],
    expires_at: key.expiresAt === null ? null : formatInstant(key.expiresAt),
  },
  plan: workspace.plan === null ? null : { name: workspace.plan.name },
  limits: {
    requests_per_minute: requestsPerMinute,
    requests_per_day: requestsPerDay,
    messages_per_number_per_day: dailyQuota.messages,
    messages_remaining: messagesRemaining(workspace.plan),
  },
})

export type KeyInfo = ReturnType<typeof keyInfo>
