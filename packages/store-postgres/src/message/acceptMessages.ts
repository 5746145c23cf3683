/**
 * Accepting messages: one call writes whole acceptances, each on its own, or says which of an
 * acceptance's preconditions no longer held.
 *
 * Locks: the lanes first, by id, then the workspaces with a limited plan, by id; everything that
 * locks both keeps that order, so calls wait for one another but never in a circle. A workspace
 * with an unlimited plan is only read: its senders do not wait for one another. Claims are locked
 * before both; a request that waits for a claim holds no lane. A caller's transaction, which stays open,
 * takes no more than a key share of each, and notes of them before, the plan's first (see `arrivals.ts`).
 */
import type { Acceptance, AcceptanceOutcome } from "@messaging-service/core"
import { Effect } from "effect"
import { lockPatience } from "../database/Coalesced.ts"
import type { DatabaseService } from "../database/Database.ts"
import { bigints, listed, selected, text } from "../database/Fields.ts"
import { joinableCall, kept, sqlFunction } from "../database/Statement.ts"
import { nextDueAfter } from "../queue/lane.ts"
import { messagesRemaining } from "../workspace/workspaceRow.ts"
import { acceptParameters, batchOf, messageColumns, toOutcome } from "./acceptBatch.ts"
import type { OutcomeRow } from "./acceptBatch.ts"
import { noteLane, notePlan, untilCommit } from "./arrivals.ts"
import {
  countPlanned,
  fitsByBound,
  fitsExactly,
  isKnownFull,
  quotaFullUntil,
  takesPromisedRoom,
} from "./quota.ts"

const lanesOf = `select l
        from lanes l
        where l.number_id = any (p_number)
        order by l.number_id`

const limitedPlansOf = `select w
          from workspaces w
          where w.id = any (p_workspace)
            and 0 < any (p_allowance)
            and (${messagesRemaining("w")}) is not null
          order by w.id`

/** The lane that was looked at last, if it changed. */
const writeLane = `if v_lane_changed and not v_joined then
      update lanes l
      set next_due = v_lane.next_due,
        quota_bound = v_lane.quota_bound,
        quota_full_until = v_lane.quota_full_until
      where l.number_id = v_lane.number_id;
    end if;`

/**
 * The first arrays hold one element for each acceptance, which are ordered by number; those that
 * begin with `m_` one for each message, in the order of the acceptances, or none where all are null.
 * Returns a row for each acceptance: the broken guard, or null and the ids of its messages.
 */
export const acceptMessages = sqlFunction(
  "accept_messages",
  acceptParameters,
  "table (guard text, ids bigint[])",
)`
  declare
    v_size constant integer := cardinality(p_now);
    -- A caller's transaction, which brings one acceptance at a time.
    v_joined constant boolean := p_patience is null;
    -- What its transaction has accepted before, from that number and of that plan.
    v_live_before integer;
    v_taken_before bigint;
    v_guards text[] := array_fill(null::text, array[v_size]);
    -- When the claims were made that this call gives up.
    v_claimed_at timestamptz[] := array_fill(null::timestamptz, array[v_size]);
    v_moment timestamptz;
    v_limited workspaces[];
    -- Whether an acceptance took allowance of a limited plan.
    v_taken boolean[] := array_fill(false, array[v_size]);
    v_lanes lanes[];
    v_lane lanes;
    v_lane_at integer := 0;
    v_lane_changed boolean := false;
    -- What this call has accepted for the present lane and not yet inserted.
    v_pending_at timestamptz[];
    v_pending_count integer[];
    v_accepted integer := 0;
    v_window interval;
    v_planned integer;
    v_bound integer;
    v_at integer;
    v_ids bigint[];
    v_first integer;
  begin
    if not v_joined then
      perform set_config('lock_timeout', p_patience || 'ms', true);
    end if;

    for i in 1 .. v_size loop
      if p_claim_token[i] is not null then
        delete from idempotency_claims c
        where c.key_id = p_claim_key_id[i]
          and c.key = p_claim_key[i]
          and c.token = p_claim_token[i]
        returning c.claimed_at into v_moment;
        if found then
          v_claimed_at[i] := v_moment;
        else
          v_guards[i] := 'idempotency';
        end if;
      end if;
    end loop;

    if v_joined then
      ${untilCommit}
      -- The plan before the number: what waits for the plan of another caller holds no number of its own.
      if exists (${limitedPlansOf}) then
        ${notePlan("p_workspace[1]", "v_taken_before")}
      end if;
      ${noteLane("p_number[1]", "v_live_before")}
      v_lanes := array(
        ${lanesOf}
        for key share
      );
      if cardinality(v_lanes) > 0 then
        v_lanes[1].quota_bound := v_lanes[1].quota_bound + v_live_before;
      end if;
      if v_taken_before is not null then
        v_limited := array(
          ${limitedPlansOf}
          for key share
        );
        v_limited[1].plan_messages_remaining :=
          v_limited[1].plan_messages_remaining - v_taken_before;
      end if;
    else
      v_lanes := array(
        ${lanesOf}
        for update
      );
      -- Only now, with all lanes locked. A plan that is unlimited is not in the list.
      v_limited := array(
        ${limitedPlansOf}
        for update
      );
    end if;

    for i in 1 .. v_size loop
      continue when v_guards[i] is not null;

      if v_lane.number_id is distinct from p_number[i] then
        ${writeLane}
        v_lane_changed := false;
        v_lane := null;
        while v_lane_at < cardinality(v_lanes)
          and v_lanes[v_lane_at + 1].number_id <= p_number[i]
        loop
          v_lane_at := v_lane_at + 1;
          v_lane := v_lanes[v_lane_at];
        end loop;
        v_pending_at := '{}';
        v_pending_count := '{}';
      end if;

      if v_lane.number_id is distinct from p_number[i]
        or v_lane.workspace_id <> p_workspace[i]
        or v_lane.removed_at is not null
      then
        v_guards[i] := 'number';
        continue;
      end if;

      v_at := null;
      if p_allowance[i] > 0 and cardinality(v_limited) > 0 then
        for k in 1 .. cardinality(v_limited) loop
          if v_limited[k].id = p_workspace[i] then
            v_at := k;
          end if;
        end loop;
        if v_at is not null
          and (${messagesRemaining("v_limited[v_at]")}) < p_allowance[i]
        then
          v_guards[i] := 'allowance';
          continue;
        end if;
      end if;

      if p_quota_at[i] is null then
        v_bound := v_lane.quota_bound + case when p_live[i] then p_count[i] else 0 end;
      elsif ${isKnownFull("v_lane", "p_quota_at[i]")} then
        v_guards[i] := 'quota';
        continue;
      elsif ${fitsByBound("v_lane", "p_quota_count[i]", "p_quota_limit[i]")} then
        v_bound := v_lane.quota_bound + p_quota_count[i];
      else
        v_window := p_quota_window_millis[i] * interval '1 millisecond';
        select c.planned, c.bound
        into v_planned, v_bound
        from ${countPlanned.name}(
          p_number[i], p_quota_at[i], p_now[i], v_window, v_pending_at, v_pending_count
        ) c;
        for k in 1 .. cardinality(v_pending_at) loop
          v_bound := v_bound + v_pending_count[k];
        end loop;
        v_lane_changed := true;
        if not ${fitsExactly("v_planned", "p_quota_count[i]", "p_quota_limit[i]")} then
          v_guards[i] := 'quota';
          v_lane.quota_bound := v_bound;
          -- What is full now stays full until a message leaves the window. With messages that are
          -- not inserted yet the moment cannot be told, and the next refusal will find it.
          if cardinality(v_pending_at) = 0 then
            v_lane.quota_full_until := ${quotaFullUntil(
              "p_number[i]",
              "p_now[i]",
              "p_quota_limit[i]",
              "v_window",
            )};
          end if;
          continue;
        end if;
        v_bound := v_bound + p_quota_count[i];
      end if;

      if ${takesPromisedRoom(
        "v_lane",
        "p_quota_at[i]",
        "p_quota_window_millis[i] * interval '1 millisecond'",
      )} then
        v_lane.quota_full_until := null;
      end if;
      v_accepted := v_accepted + 1;
      if v_at is not null then
        v_limited[v_at].plan_messages_remaining :=
          v_limited[v_at].plan_messages_remaining - p_allowance[i];
        v_taken[i] := true;
      end if;
      if p_live[i] then
        v_pending_at := v_pending_at || p_due_at[i];
        v_pending_count := v_pending_count || p_count[i];
        v_lane.quota_bound := v_bound;
        v_lane.next_due := ${nextDueAfter.accepted("v_lane", "p_due_at[i]")};
        v_lane_changed := true;
      end if;
    end loop;

    ${writeLane}

    if v_accepted > 0 and v_joined then
      update lane_arrivals a
      set live = a.live + p_count[1],
        due_at = least(a.due_at, p_due_at[1])
      where a.number_id = p_number[1]
        and p_live[1];
      update plan_arrivals a
      set messages = a.messages + p_allowance[1]
      where a.workspace_id = p_workspace[1]
        and v_taken[1];
    elsif v_accepted > 0 then
      for k in 1 .. cardinality(v_limited) loop
        update workspaces w
        set plan_messages_remaining = v_limited[k].plan_messages_remaining
        where w.id = v_limited[k].id
          and w.plan_messages_remaining <> v_limited[k].plan_messages_remaining;
      end loop;
    end if;

    if v_accepted > 0 then
      -- One message is the common case, and three times as cheap without the arrays' detour.
      if cardinality(m_due_at) = 1 then
        v_ids := array[nextval('messages_id_seq')];
        insert into messages (
          id, workspace_id, number_id, mode, state, allowance_taken, ${listed(messageColumns)}
        )
        values (
          v_ids[1], p_workspace[1], p_number[1], case when p_live[1] then 'live' else 'test' end,
          'waiting', v_taken[1], ${listed(messageColumns, (name) => `m_${name}[1]`)}
        );
      else
        v_ids := array(
          select nextval('messages_id_seq')
          from generate_series(1, cardinality(m_due_at))
        );
        insert into messages (
          id, workspace_id, number_id, mode, state, allowance_taken, ${listed(messageColumns)}
        )
        select
          m.id, p_workspace[m.acceptance], p_number[m.acceptance],
          case when p_live[m.acceptance] then 'live' else 'test' end, 'waiting',
          v_taken[m.acceptance], ${selected(messageColumns, "m")}
        from unnest(
          v_ids, m_acceptance, ${listed(messageColumns, (name) => `m_${name}`)}
        ) m (id, acceptance, ${listed(messageColumns)})
        where v_guards[m.acceptance] is null;
      end if;
    end if;

    v_first := 1;
    for i in 1 .. v_size loop
      guard := v_guards[i];
      ids := case when guard is null then v_ids[v_first : v_first + p_count[i] - 1] end;
      if v_claimed_at[i] is null then
        null;
      elsif guard is not null then
        -- The request may try again: its claim stays as it was.
        insert into idempotency_claims (key_id, key, fingerprint, token, claimed_at)
        values (p_claim_key_id[i], p_claim_key[i], p_claim_fingerprint[i], p_claim_token[i], v_claimed_at[i]);
      else
        -- A record that is still there is void: else the key could not have been claimed.
        insert into idempotency_records (key_id, key, fingerprint, made_ids, created_at)
        values (p_claim_key_id[i], p_claim_key[i], p_claim_fingerprint[i], ids, p_now[i])
        on conflict (key_id, key) do update
        set fingerprint = excluded.fingerprint,
          made_ids = excluded.made_ids,
          created_at = excluded.created_at,
          shown = null;
      end if;
      v_first := v_first + p_count[i];
      return next;
    end loop;
  end`

export const acceptStatement = joinableCall(
  "accept",
  acceptMessages,
  kept({ guard: text, ids: bigints }),
)

/** Writes acceptances in one round trip; one outcome for each, in their order. */
export const accept = (database: DatabaseService) => (acceptances: ReadonlyArray<Acceptance>) => {
  const order = acceptances
    .map((_, index) => index)
    .toSorted((a, b) => numberAt(acceptances, a) - numberAt(acceptances, b))
  const sorted = order.flatMap((index) => acceptances[index] ?? [])
  const accepted = Effect.flatMap(lockPatience, (patience) =>
    acceptStatement.rows<OutcomeRow>(database, batchOf(sorted, patience)),
  )
  return Effect.map(accepted, (rows) => {
    const outcomes: Array<AcceptanceOutcome> = []
    for (const [position, row] of rows.entries()) {
      outcomes[order[position] ?? position] = toOutcome(row)
    }
    return outcomes
  })
}

const numberAt = (acceptances: ReadonlyArray<Acceptance>, index: number): number =>
  acceptances[index]?.numberId ?? 0
