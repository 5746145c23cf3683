/**
 * Accepting messages: one call writes whole acceptances, each on its own, or says which of an
 * acceptance's preconditions no longer held.
 *
 * Locks: the lanes first, by id, then the workspaces with a limited plan, by id; everything that
 * locks both keeps that order, so calls wait for one another but never in a circle. A workspace
 * with an unlimited plan is only read: its senders do not wait for one another. Claims are locked
 * before both; a request that waits for a claim holds no lane.
 */
import type {
  Acceptance,
  AcceptanceOutcome,
  BrokenGuard,
  MessageId,
  StoreUnavailable,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { DatabaseService } from "../database/Database.ts"
import { bigints, booleans, instants, integers, sparse, texts } from "../database/parameters.ts"
import { placeholders, sqlFunction } from "../database/SqlFunction.ts"
import { messagesRemaining } from "../workspace/workspaceRow.ts"
import { recipientColumns } from "./messageRow.ts"
import { nextDueAfter } from "../queue/lane.ts"
import { countPlanned, fitsByBound, isKnownFull, quotaFullUntil } from "./quota.ts"

const declarations = `p_now timestamptz[],
    p_workspace bigint[],
    p_number bigint[],
    p_live boolean[],
    p_count integer[],
    p_due_at timestamptz[],
    p_allowance integer[],
    p_quota_at timestamptz[],
    p_quota_count integer[],
    p_quota_limit integer[],
    p_quota_window_millis bigint[],
    p_key_id bigint[],
    p_key text[],
    p_fingerprint text[],
    p_token text[],
    m_acceptance integer[],
    m_created_at timestamptz[],
    m_due_at timestamptz[],
    m_send_at timestamptz[],
    m_expires_at timestamptz[],
    m_to_contact_id bigint[],
    m_media_id bigint[],
    m_platform text[],
    m_from_phone text[],
    m_to_kind text[],
    m_to_phone text[],
    m_to_name text[],
    m_text text[],
    m_media_url text[],
    m_media_type text[],
    m_media_file_name text[],
    m_transport_id text[],
    m_attachment_id bigint[],
    m_callback_url text[]`

/**
 * The first arrays hold one element for each acceptance, which are ordered by number; those that
 * begin with `m_` one for each message, in the order of the acceptances, or none where all are null.
 * Returns a row for each acceptance: the broken guard, or null and the ids of its messages.
 */
export const acceptMessages = sqlFunction(
  "accept_messages",
  `(
    ${declarations}
  )
  returns table (guard text, ids bigint[])
  language plpgsql
  as $function$
  declare
    v_size constant integer := cardinality(p_now);
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
    for i in 1 .. v_size loop
      if p_token[i] is not null then
        delete from idempotency_claims c
        where c.key_id = p_key_id[i]
          and c.key = p_key[i]
          and c.token = p_token[i]
        returning c.claimed_at into v_moment;
        if found then
          v_claimed_at[i] := v_moment;
        else
          v_guards[i] := 'idempotency';
        end if;
      end if;
    end loop;

    v_lanes := array(
      select l
      from lanes l
      where l.number_id = any (p_number)
      order by l.number_id
      for no key update
    );

    -- Only now, with all lanes locked. A plan that is unlimited is not in the list.
    v_limited := array(
      select w
      from workspaces w
      where w.id = any (p_workspace)
        and 0 < any (p_allowance)
        and (${messagesRemaining("w")}) is not null
      order by w.id
      for no key update
    );

    for i in 1 .. v_size loop
      continue when v_guards[i] is not null;

      if v_lane.number_id is distinct from p_number[i] then
        if v_lane_changed then
          update lanes l
          set next_due = v_lane.next_due,
            quota_bound = v_lane.quota_bound,
            quota_full_until = v_lane.quota_full_until
          where l.number_id = v_lane.number_id;
          v_lane_changed := false;
        end if;
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
        if v_planned + p_quota_count[i] > p_quota_limit[i] then
          v_guards[i] := 'quota';
          v_lane.quota_bound := v_bound;
          -- What is full now stays full until a message leaves the window. With messages that are
          -- not inserted yet the moment cannot be told, and the next refusal will find it.
          if cardinality(v_pending_at) = 0 then
            v_lane.quota_full_until := ${quotaFullUntil.name}(
              p_number[i], p_now[i], p_quota_limit[i], v_window
            );
          end if;
          continue;
        end if;
        v_bound := v_bound + p_quota_count[i];
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

    if v_lane_changed then
      update lanes l
      set next_due = v_lane.next_due,
        quota_bound = v_lane.quota_bound,
        quota_full_until = v_lane.quota_full_until
      where l.number_id = v_lane.number_id;
    end if;

    if v_accepted > 0 then
      for k in 1 .. cardinality(v_limited) loop
        update workspaces w
        set plan_messages_remaining = v_limited[k].plan_messages_remaining
        where w.id = v_limited[k].id
          and w.plan_messages_remaining <> v_limited[k].plan_messages_remaining;
      end loop;

      -- One message is the common case, and three times as cheap without the arrays' detour.
      if cardinality(m_due_at) = 1 then
        v_ids := array[nextval('messages_id_seq')];
        insert into messages (
          id, workspace_id, number_id, created_at, due_at, send_at, expires_at, to_contact_id,
          media_id, allowance_taken, mode, state, platform, from_phone, to_kind, to_phone, to_name,
          text, media_url, media_type, media_file_name, transport_id, attachment_id, callback_url
        )
        values (
          v_ids[1], p_workspace[1], p_number[1], m_created_at[1], m_due_at[1], m_send_at[1],
          m_expires_at[1], m_to_contact_id[1], m_media_id[1], v_taken[1],
          case when p_live[1] then 'live' else 'test' end, 'waiting', m_platform[1],
          m_from_phone[1], m_to_kind[1], m_to_phone[1], m_to_name[1], m_text[1], m_media_url[1],
          m_media_type[1], m_media_file_name[1], m_transport_id[1], m_attachment_id[1],
          m_callback_url[1]
        );
      else
        v_ids := array(
          select nextval('messages_id_seq')
          from generate_series(1, cardinality(m_due_at))
        );
        insert into messages (
          id, workspace_id, number_id, created_at, due_at, send_at, expires_at, to_contact_id,
          media_id, allowance_taken, mode, state, platform, from_phone, to_kind, to_phone, to_name,
          text, media_url, media_type, media_file_name, transport_id, attachment_id, callback_url
        )
        select
          m.id, p_workspace[m.acceptance], p_number[m.acceptance], m.created_at, m.due_at,
          m.send_at, m.expires_at, m.to_contact_id, m.media_id, v_taken[m.acceptance],
          case when p_live[m.acceptance] then 'live' else 'test' end, 'waiting', m.platform,
          m.from_phone, m.to_kind, m.to_phone, m.to_name, m.text, m.media_url, m.media_type,
          m.media_file_name, m.transport_id, m.attachment_id, m.callback_url
        from unnest(
          v_ids, m_acceptance, m_created_at, m_due_at, m_send_at, m_expires_at, m_to_contact_id,
          m_media_id, m_platform, m_from_phone, m_to_kind, m_to_phone, m_to_name, m_text,
          m_media_url, m_media_type, m_media_file_name, m_transport_id, m_attachment_id,
          m_callback_url
        ) m (
          id, acceptance, created_at, due_at, send_at, expires_at, to_contact_id, media_id,
          platform, from_phone, to_kind, to_phone, to_name, text, media_url, media_type,
          media_file_name, transport_id, attachment_id, callback_url
        )
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
        values (p_key_id[i], p_key[i], p_fingerprint[i], p_token[i], v_claimed_at[i]);
      else
        -- A record that is still there is void: else the key could not have been claimed.
        insert into idempotency_records (key_id, key, fingerprint, made_ids, created_at)
        values (p_key_id[i], p_key[i], p_fingerprint[i], ids, p_now[i])
        on conflict (key_id, key) do update
        set fingerprint = excluded.fingerprint,
          made_ids = excluded.made_ids,
          created_at = excluded.created_at;
      end if;
      v_first := v_first + p_count[i];
      return next;
    end loop;
  end
  $function$`,
)

/** The function's parameters, for a function that calls it: with their types, and their names alone. */
export const acceptance = {
  declarations,
  names: declarations.split(",").map((declaration) => declaration.trim().split(" ")[0] ?? ""),
}

/** The statement, which the benchmark measures too: parameters in the order of the function's. */
export const acceptStatement = `select a.guard, a.ids from ${acceptMessages.name}(${placeholders(acceptance.names.length)}) a`

/** Writes acceptances in one round trip; one outcome for each, in their order. */
export const accept =
  (database: DatabaseService) =>
  (
    acceptances: ReadonlyArray<Acceptance>,
  ): Effect.Effect<ReadonlyArray<AcceptanceOutcome>, StoreUnavailable> => {
    const order = acceptances
      .map((_, index) => index)
      .toSorted((a, b) => numberAt(acceptances, a) - numberAt(acceptances, b))
    const sorted = order.flatMap((index) => acceptances[index] ?? [])
    return database.query<OutcomeRow>("accept", acceptStatement, acceptParameters(sorted)).pipe(
      Effect.map((rows) => {
        const outcomes: Array<AcceptanceOutcome> = []
        for (const [position, row] of rows.entries()) {
          outcomes[order[position] ?? position] = toOutcome(row)
        }
        return outcomes
      }),
    )
  }

export interface OutcomeRow<Guard = BrokenGuard> {
  readonly guard: BrokenGuard | Guard | null
  readonly ids: ReadonlyArray<bigint> | null
}

const numberAt = (acceptances: ReadonlyArray<Acceptance>, index: number): number =>
  acceptances[index]?.numberId ?? 0

export const toOutcome = <Guard = BrokenGuard>({ guard, ids }: OutcomeRow<Guard>) =>
  guard === null
    ? ({ _tag: "Accepted", ids: (ids ?? []).map((id) => Number(id) as MessageId) } as const)
    : ({ _tag: "Broken", guard } as const)

/** Its arguments; the acceptances are ordered by number. */
export const acceptParameters = (all: ReadonlyArray<Acceptance>): ReadonlyArray<unknown> => {
  const messages = all.flatMap((one) => one.messages)
  const recipients = messages.map((message) => recipientColumns(message.to))
  return [
    instants(all.map((one) => one.now)),
    bigints(all.map((one) => one.workspaceId)),
    bigints(all.map((one) => one.numberId)),
    booleans(all.map((one) => one.mode === "live")),
    integers(all.map((one) => one.messages.length)),
    instants(all.map((one) => one.messages[0]?.dueAt ?? one.now)),
    integers(all.map((one) => one.allowance)),
    instants(all.map((one) => one.quota?.plannedAt ?? null)),
    integers(all.map((one) => one.quota?.count ?? null)),
    integers(all.map((one) => one.quota?.limit.messages ?? null)),
    bigints(all.map((one) => one.quota?.limit.windowMillis ?? null)),
    bigints(all.map((one) => one.idempotency?.keyId ?? null)),
    texts(all.map((one) => one.idempotency?.key ?? null)),
    texts(all.map((one) => one.idempotency?.fingerprint ?? null)),
    texts(all.map((one) => one.idempotency?.token ?? null)),
    integers(all.flatMap((one, index) => one.messages.map(() => index + 1))),
    instants(messages.map((message) => message.createdAt)),
    instants(messages.map((message) => message.dueAt)),
    instants(sparse(messages.map((message) => message.sendAt))),
    instants(sparse(messages.map((message) => message.expiresAt))),
    bigints(sparse(recipients.map((to) => to.contactId))),
    bigints(sparse(messages.map((message) => message.media?.mediaId ?? null))),
    texts(messages.map((message) => message.from.platform)),
    texts(sparse(messages.map((message) => message.from.phone))),
    texts(recipients.map((to) => to.kind)),
    texts(sparse(recipients.map((to) => to.phone))),
    texts(sparse(recipients.map((to) => to.name))),
    texts(messages.map((message) => message.text)),
    texts(sparse(messages.map((message) => message.media?.url ?? null))),
    texts(sparse(messages.map((message) => message.media?.type ?? null))),
    texts(sparse(messages.map((message) => message.media?.fileName ?? null))),
    texts(messages.map((message) => message.transportId)),
    bigints(sparse(messages.map((message) => message.media?.attachmentId ?? null))),
    texts(sparse(messages.map((message) => message.callbackUrl))),
  ]
}
