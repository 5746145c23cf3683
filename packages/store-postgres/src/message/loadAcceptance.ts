/**
 * The facts that acceptance decides on, in one round trip, with the claim of the `Idempotency-Key`.
 *
 * The claim comes first, and only a later statement looks for a finished request: a finished one
 * gave its claim up in the same commit, so that a claim that was won while a record exists is given
 * back. A claim that is refused leaves the other facts unread.
 */
import { connectedShown, modesSeenBy, platforms } from "@messaging-service/core"
import type {
  AcceptanceFacts,
  AcceptanceQuery,
  ClaimOutcome,
  Contact,
  ContactId,
  ExactQuota,
  MediaFile,
  NumberFacts,
  Phone,
  Plan,
  Platform,
  SendingNumber,
} from "@messaging-service/core"
import { Effect } from "effect"
import { lockPatience } from "../database/Coalesced.ts"
import type { DatabaseService } from "../database/Database.ts"
import { contactFields } from "../PostgresContacts.ts"
import { epochMillis, jsonOf, jsonb } from "../database/Fields.ts"
import { given, joinable, kept, sqlFunction } from "../database/Statement.ts"
import { fileFields } from "../media/incomingFiles.ts"
import { numberFields } from "../number/numberRow.ts"
import { claimKey } from "../PostgresIdempotency.ts"
import { planFields } from "../workspace/workspaceRow.ts"
import { takenOfPlan } from "./arrivals.ts"
import { countPlanned, fitsExactly, quotaFullUntil, quotaRoomAt } from "./quota.ts"

const numberFacts = (number: string, lane: string, exact = "null"): string => `json_build_object(
  'number', ${jsonOf(numberFields, number)},
  'bound', ${lane}.quota_bound,
  'fullUntil', ${epochMillis(`${lane}.quota_full_until`)},
  'exact', ${exact}
)`

/** The oldest connected numbers of a platform. Index numbers_by_workspace. */
const connectedOf = (platform: Platform): string => `(
          select n.*
          from numbers n
          where n.workspace_id = v_workspace
            and n.removed_at is null
            and n.mode = any (v_seen)
            and n.status = 'connected'
            and n.platform = '${platform}'
          order by n.id
          limit ${connectedShown}
        )`

export const loadAcceptance = sqlFunction("load_acceptance", "p_query jsonb", "json")`
  declare
    v_workspace constant bigint := p_query ->> 'workspaceId';
    -- The modes of the numbers that the key sees.
    v_seen constant text[] := array(select jsonb_array_elements_text(p_query -> 'seen'));
    v_from constant bigint := p_query ->> 'from';
    v_phones constant jsonb := p_query -> 'phones';
    v_contacts constant jsonb := p_query -> 'contactIds';
    v_media constant bigint := p_query ->> 'mediaId';
    v_exact constant jsonb := nullif(p_query -> 'exactQuota', 'null');
    v_claim constant jsonb := nullif(p_query -> 'idempotency', 'null');
    v_now constant timestamptz := p_query ->> 'now';
    v_patience constant text := p_query ->> 'patience';
    v_row workspaces;
    v_refused json;
    v_facts json;
    v_contact_ids json;
    v_contact_facts json;
    v_media_facts json;
    v_exact_facts json;
    v_window interval;
    v_planned_at timestamptz;
    v_planned integer;
    v_count integer;
    v_limit integer;
    v_counted bigint;
    v_room_at timestamptz;
  begin
    if v_claim is not null then
      -- A transaction of a caller's may hold the claim for long.
      if v_patience is not null then
        perform set_config('lock_timeout', v_patience || 'ms', true);
      end if;
      v_refused := ${claimKey.name}(
        (v_claim ->> 'keyId')::bigint, v_claim ->> 'key', v_claim ->> 'fingerprint',
        v_claim ->> 'token', v_now
      );
      if v_refused is not null then
        return json_build_object('claim', v_refused);
      end if;
    end if;

    if jsonb_array_length(v_phones) > 0 then
      -- Index contacts_by_phone.
      select json_object_agg(known.phone, known.id)
      into v_contact_ids
      from (
        select distinct on (c.phone) c.phone, c.id
        from contacts c
        where c.workspace_id = v_workspace
          and c.phone in (select asked.phone from jsonb_array_elements_text(v_phones) asked (phone))
        order by c.phone, c.id
      ) known;
    end if;
    if jsonb_array_length(v_contacts) > 0 then
      select json_agg(${jsonOf(contactFields, "c")})
      into v_contact_facts
      from contacts c
      where c.workspace_id = v_workspace
        and c.id in (select asked.id::bigint from jsonb_array_elements_text(v_contacts) asked (id));
    end if;
    if v_media is not null then
      select ${jsonOf(fileFields, "m")}
      into v_media_facts
      from media_files m
      where m.id = v_media
        and m.workspace_id = v_workspace
        and m.mode = p_query ->> 'mode'
        and m.state = 'kept';
    end if;
    if v_exact is not null then
      v_window := (v_exact #>> '{planned,limit,windowMillis}')::bigint * interval '1 millisecond';
      v_planned_at := v_exact #>> '{planned,plannedAt}';
      v_count := v_exact #>> '{planned,count}';
      v_limit := v_exact #>> '{planned,limit,messages}';
      v_counted := v_exact ->> 'numberId';
    end if;
    if v_counted is not null then
      select c.planned
      into v_planned
      from ${countPlanned.name}(v_counted, v_planned_at, v_planned_at, v_window, '{}', '{}') c;
      v_room_at := v_planned_at;
      if not ${fitsExactly("v_planned", "v_count", "v_limit")} then
        v_room_at := ${quotaRoomAt.name}(v_counted, v_planned_at, v_count, v_limit, v_window);
        -- Remembered to spare the next sender a count, but not while the lane is locked: waiting
        -- for the lock would cost more. Nor in a caller's transaction, which would keep it locked.
        perform
        from lanes l
        where l.number_id = v_counted
          and v_patience is not null
        for no key update skip locked;
        if found then
          update lanes l
          set quota_full_until = ${quotaFullUntil("l.number_id", "v_now", "v_limit", "v_window")}
          where l.number_id = v_counted;
        end if;
      end if;
      v_exact_facts := json_build_object('planned', v_planned, 'roomAt', ${epochMillis("v_room_at")});
    end if;

    if v_from is not null then
      select json_agg(${numberFacts("n", "l")})
      into v_facts
      from numbers n
      join lanes l on l.number_id = n.id
      where n.id = v_from
        and n.workspace_id = v_workspace
        and n.removed_at is null
        and n.mode = any (v_seen);
    elsif v_exact is not null and v_counted is null then
      -- For a reminder's run, which takes the one with most room.
      select json_agg(
        ${numberFacts(
          "n",
          "l",
          `json_build_object(
            'planned', c.planned,
            'roomAt', ${epochMillis(`case
              when ${fitsExactly("c.planned", "v_count", "v_limit")} then v_planned_at
              else ${quotaRoomAt.name}(n.id, v_planned_at, v_count, v_limit, v_window)
            end`)}
          )`,
        )}
        order by n.id
      )
      into v_facts
      from numbers n
      join lanes l on l.number_id = n.id
      cross join lateral ${countPlanned.name}(
        n.id, v_planned_at, v_planned_at, v_window, '{}', '{}'
      ) c
      where n.workspace_id = v_workspace
        and n.removed_at is null
        and n.mode = any (v_seen)
        and n.status = 'connected';
    else
      select json_agg(${numberFacts("n", "l")} order by n.id)
      into v_facts
      from (
        ${platforms.map(connectedOf).join("\n        union all\n        ")}
      ) n
      join lanes l on l.number_id = n.id;
    end if;

    select w.*
    into v_row
    from workspaces w
    where w.id = v_workspace;
    if v_patience is null then
      v_row.plan_messages_remaining :=
        v_row.plan_messages_remaining - ${takenOfPlan("v_workspace")};
    end if;
    return json_build_object(
      'plan', case
        when v_row.plan_name is not null then ${jsonOf(planFields, "v_row")}
      end,
      'numbers', v_facts,
      'contactIds', v_contact_ids,
      'contacts', v_contact_facts,
      'media', v_media_facts,
      'exact', v_exact_facts
    );
  end`

interface LoadedNumber {
  readonly number: SendingNumber
  readonly bound: number
  readonly fullUntil: number | null
  readonly exact: ExactQuota | null
}

interface Loaded {
  readonly claim?: ClaimOutcome
  readonly plan?: Plan | null
  readonly numbers?: ReadonlyArray<LoadedNumber> | null
  readonly contactIds?: Readonly<Record<Phone, ContactId>> | null
  readonly contacts?: ReadonlyArray<Contact> | null
  readonly media?: MediaFile | null
  readonly exact?: ExactQuota | null
}

/** Queries are answered in the order of the list, claims included. */
export const loadStatement = joinable(
  "loadAcceptance",
  given({ queries: jsonb }),
  kept({ facts: jsonb }),
)`
select ${loadAcceptance.name}(asked.query) as facts
from jsonb_array_elements($queries::jsonb) with ordinality asked (query, place)
order by asked.place`

export const load = (database: DatabaseService) => (queries: ReadonlyArray<AcceptanceQuery>) => {
  // Two batches that claim the same keys must take them in the same order, and no lane before.
  const order = queries
    .map((query, index) => ({ index, rank: rankOf(query) }))
    .toSorted((a, b) => (a.rank === b.rank ? 0 : a.rank < b.rank ? -1 : 1))
  return lockPatience.pipe(
    Effect.flatMap((patience) =>
      loadStatement.rows<{ readonly facts: Loaded | null }>(database, {
        queries: order.map(({ index }) => ({ ...toJson(queries[index]), patience })),
      }),
    ),
    Effect.map((rows) => {
      const facts: Array<AcceptanceFacts> = []
      for (const [position, { index }] of order.entries()) {
        const query = queries[index]
        if (query !== undefined) facts[index] = toFacts(query, rows[position]?.facts ?? {})
      }
      return facts
    }),
  )
}

/** Times as text: PostgreSQL would make inexact floating point numbers of milliseconds. */
const iso = (millis: number): string => new Date(millis).toISOString()

const toJson = (query: AcceptanceQuery | undefined) =>
  query && {
    ...query,
    seen: modesSeenBy(query.mode),
    now: iso(query.now),
    exactQuota: query.exactQuota && {
      ...query.exactQuota,
      planned: {
        ...query.exactQuota.planned,
        plannedAt: iso(query.exactQuota.planned.plannedAt),
      },
    },
  }

const rankOf = ({ exactQuota, idempotency }: AcceptanceQuery): string =>
  `${exactQuota === null ? 0 : 1} ${idempotency?.keyId ?? 0} ${idempotency?.key ?? ""}`

const toFacts = (query: AcceptanceQuery, loaded: Loaded): AcceptanceFacts => {
  const numbers = (loaded.numbers ?? []).map(
    ({ bound, exact, fullUntil, number }): NumberFacts => ({
      number,
      quota: {
        bound,
        fullUntil,
        exact: query.exactQuota?.numberId === number.id ? (loaded.exact ?? null) : exact,
      },
    }),
  )
  const contactIds = Object.entries(loaded.contactIds ?? {})
  return {
    claim: query.idempotency === null ? null : (loaded.claim ?? { _tag: "Claimed" }),
    plan: loaded.plan ?? null,
    named: query.from === null ? null : (numbers[0] ?? null),
    connected: query.from === null ? numbers : [],
    contactIdByPhone: new Map(contactIds.map(([phone, id]) => [phone as Phone, id])),
    contacts: new Map((loaded.contacts ?? []).map((contact) => [contact.id, contact])),
    media: loaded.media ?? null,
  }
}
