/**
 * The function that begins an epoch: everything that a store which went back in time must not do by itself
 * any more, in one commit.
 */
import { maximumInterruptions } from "@messaging-service/core"
import { bigint, instant, integer, text, texts } from "../database/Fields.ts"
import { sqlFunction, taking } from "../database/Statement.ts"
import {
  firstToLeave,
  holdsUntil,
  inHands,
  isHeld,
  mayHaveLeft,
  nextDueAfter,
  stoppedUntil,
} from "../queue/lane.ts"

/**
 * The new epoch, or null when another has begun. Sequences move on from the greatest of what they gave out,
 * what their tables hold (a replica may lag behind in sequences) and `p_above`.
 *
 * Locks: the epochs, then all lanes by id as everywhere; only later statements look at messages.
 */
export const beginEpoch = sqlFunction(
  "begin_epoch",
  taking({
    schema: text,
    tables: texts,
    epoch: integer,
    step: bigint,
    above: bigint,
    now: instant,
  }),
  "integer",
)`
  declare
    v_epoch integer;
    v_sequence record;
    v_moved bigint;
    v_after bigint;
  begin
    lock table store_epochs in exclusive mode;
    select coalesce(max(e.epoch), 1)
    into v_epoch
    from store_epochs e;
    if v_epoch <> p_epoch then
      return null;
    end if;

    for v_sequence in
      select
        s.oid::regclass::text as sequence_name,
        t.oid::regclass::text as table_name,
        t.relname as own_name,
        a.attname as column_name
      from pg_catalog.pg_depend d
      join pg_catalog.pg_class s on s.oid = d.objid
      join pg_catalog.pg_class t on t.oid = d.refobjid
      join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
      where d.classid = 'pg_catalog.pg_class'::regclass
        and d.refclassid = 'pg_catalog.pg_class'::regclass
        and d.deptype in ('a', 'i')
        and s.relkind = 'S'
        and t.relnamespace = to_regnamespace(p_schema)
        and t.relname = any (p_tables)
    loop
      execute format(
        'select setval(%L, greatest(nextval(%L), (select coalesce(max(%I), 0) from %s), %s) + %s)',
        v_sequence.sequence_name, v_sequence.sequence_name,
        v_sequence.column_name, v_sequence.table_name, p_above, p_step
      )
      into v_moved;
      if v_sequence.own_name = 'messages' then
        v_after := v_moved;
      end if;
    end loop;

    perform
    from lanes l
    order by l.number_id
    for no key update;

    -- Index messages_waiting. What is in the hands of a transport stays the first of its lane.
    update messages m
    set due_at = 'infinity'
    from lanes l
    where l.number_id = m.number_id
      and l.removed_at is null
      and m.state = 'waiting'
      and not ${isHeld("m")}
      and not ${inHands("m", "l")};

    -- The next claim gives up what may have left.
    update lanes l
    set lease = l.lease + p_step,
      lease_until = null,
      head_id = case when ${mayHaveLeft("l")} then l.head_id end,
      interruptions = case when ${mayHaveLeft("l")} then ${maximumInterruptions} else 0 end,
      hold_until = null,
      limited_until = null,
      next_due = null
    where l.removed_at is null;
    update lanes l
    set next_due = ${nextDueAfter.changed(
      "l",
      holdsUntil("l", stoppedUntil("l")),
      firstToLeave("due_at", "l", "p_now"),
    )}
    where l.removed_at is null
      and ${mayHaveLeft("l")};
    update lanes l
    set lease = l.lease + p_step
    where l.removed_at is not null;

    update reminders r
    set held_run_at = r.next_run_at,
      next_run_at = null,
      revision = r.revision + 1
    where r.next_run_at <= p_now;

    insert into store_epochs (epoch, after_message, began_at)
    values (v_epoch + 1, v_after, p_now);
    return v_epoch + 1;
  end`
