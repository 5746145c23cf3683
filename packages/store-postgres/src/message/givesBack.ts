/**
 * Giving allowance back: what cancelled and expired messages took from a limited plan. By then the
 * lanes are locked; the workspaces follow, by id. A plan that is unlimited by now gets nothing.
 */
import { isLimited } from "../workspace/workspaceRow.ts"

export const giveBackAllowance = (workspaces: string): string => `
  perform
  from workspaces w
  where w.id = any (${workspaces})
  order by w.id
  for no key update;
  update workspaces w
  set plan_messages_remaining = w.plan_messages_remaining + back.count
  from (
    select given.workspace_id, count(*) as count
    from unnest(${workspaces}) given (workspace_id)
    group by given.workspace_id
  ) back
  where w.id = back.workspace_id
    and ${isLimited("w")};`
