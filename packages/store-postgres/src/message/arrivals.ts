/**
 * What a caller's open transaction accepts. Locking its lane, and the workspace whose plan it counts on,
 * would hold up the number's worker, cancels and expiry until the caller commits. So it notes what it
 * adds, and its commit writes that to both within a moment.
 *
 * A note is its transaction's own: made, added to and deleted by it, it is never committed, and another
 * transaction that is about to make the same one waits. Beside the note the transaction holds a key
 * share of the lane and of the workspace: acceptances, which lock these rows for update, wait for it,
 * since they must know what is left; all others take lesser locks and go on.
 */
import { sqlFunction } from "../database/Statement.ts"
import { inHands, nextDueAfter, waitsUnless } from "../queue/lane.ts"
import { isLimited } from "../workspace/workspaceRow.ts"

/**
 * Ends the notes of this transaction. Its commit asks once for each number, and the first time does it
 * all, as does a caller that sets its constraints to be immediate after it has sent. A number that was
 * removed meanwhile leaves what was accepted for it stranded.
 *
 * Locks: the lanes by id, then the workspaces by id.
 */
export const finishArrivals = sqlFunction("finish_arrivals", "", "void")`
  begin
    perform
    from lanes l
    where l.number_id in (select a.number_id from lane_arrivals a)
    order by l.number_id
    for no key update;

    update lanes l
    set quota_bound = l.quota_bound + a.live,
      -- What was accepted may have taken the room that this moment promised.
      quota_full_until = null,
      next_due = case
        when a.due_at is null or l.removed_at is not null then l.next_due
        else ${nextDueAfter.accepted("l", "a.due_at")}
      end,
      stranded = l.removed_at is not null and ${waitsUnless("l", inHands("m", "l"))}
    from lane_arrivals a
    where l.number_id = a.number_id
      and (a.live > 0 or l.removed_at is not null);

    perform
    from workspaces w
    where w.id in (select a.workspace_id from plan_arrivals a)
    order by w.id
    for no key update;

    -- An operator may have set less meanwhile.
    update workspaces w
    set plan_messages_remaining = greatest(w.plan_messages_remaining - a.messages, 0)
    from plan_arrivals a
    where w.id = a.workspace_id
      and ${isLimited("w")};

    delete from lane_arrivals;
    delete from plan_arrivals;
  end`

/** Notes stand until the commit, whatever the caller has set its constraints to before. */
export const untilCommit = "set constraints finish_arrivals deferred;"

/** How many live messages this transaction has accepted from that number before. Waits for others. */
export const noteLane = (number: string, into: string): string => `insert into lane_arrivals as mine
      (number_id, live, finish)
      values (${number}, 0, '${finishArrivals.name}')
      on conflict (number_id) do update
      set live = mine.live
      returning mine.live into ${into};`

/** How much of that workspace's allowance it has taken before. Waits for others. */
export const notePlan = (
  workspace: string,
  into: string,
): string => `insert into plan_arrivals as mine
        (workspace_id, messages)
        values (${workspace}, 0)
        on conflict (workspace_id) do update
        set messages = mine.messages
        returning mine.messages into ${into};`

/** What it has taken of that workspace's allowance by now. */
export const takenOfPlan = (workspace: string): string => `coalesce(
        (
          select a.messages
          from plan_arrivals a
          where a.workspace_id = ${workspace}
        ),
        0
      )`
