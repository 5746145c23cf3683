-- name: isInstalled
select to_regnamespace(:name) is not null as installed

-- name: usersOf
-- Roles that may use the tables may call the functions.
select case when acl.grantee = 0 then 'public' else acl.grantee::regrole::text end as role
from pg_catalog.pg_namespace n
cross join lateral aclexplode(n.nspacl) acl
where n.nspname = :schema::text
  and acl.privilege_type = 'USAGE'
  and acl.grantee <> n.nspowner

-- name: noteUse
insert into builds as noted (name, used_at, migration)
values (:name, :now, :migration)
on conflict (name) do update
set used_at = greatest(noted.used_at, excluded.used_at),
  migration = greatest(noted.migration, excluded.migration)

-- name: forgetUnused
-- A build of another role stays, and so does its note.
delete from builds noted
where noted.used_at < :before
  and not exists (
    select
    from pg_catalog.pg_namespace n
    where n.nspname = noted.name
      and not pg_has_role(n.nspowner, 'usage')
  )
returning noted.name

-- name: forgetOlder
-- Those that do not know a migration which the tables are about to need.
delete from builds noted
where noted.migration < :oldest
returning noted.name

-- name: tryLock
select pg_try_advisory_xact_lock(hashtextextended(:schema, :lock)) as done

-- name: trySessionLock
select pg_try_advisory_lock(hashtextextended(:schema, :lock)) as done

-- name: releaseSessionLock
select pg_advisory_unlock(hashtextextended(:schema, :lock))

-- name: schemaState
select
  to_regnamespace(:schema) is not null as schema,
  exists (
    select
    from pg_catalog.pg_class c
    where c.relnamespace = to_regnamespace(:schema)
      and c.relname = 'schema_migrations'
  ) as tables

-- name: appliedMigrations
select m.id, m.name, m.version, m.oldest
from schema_migrations m
order by m.id

-- name: insertMigration
insert into schema_migrations (id, name, applied_at, version, oldest)
values (:id, :name, :now, :version, :oldest)

-- name: indexState
-- Whether an index is there, and valid: a process that ends while it builds one leaves it invalid.
select i.indisvalid as valid
from pg_catalog.pg_index i
join pg_catalog.pg_class c on c.oid = i.indexrelid
where c.relnamespace = to_regnamespace(:schema)
  and c.relname = :name::text

-- name: missingGrants
-- What the role may not do and a start must, each as INSERT on messages. What is not there is made, so it
-- asks for the right to make it.
select missing.what, current_user::text as role
from (
  select format('%s on %s', asked.privilege, c.relname) as what
  from pg_catalog.pg_class c
  cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) asked (privilege)
  where c.relnamespace = to_regnamespace(:schema)
    and c.relkind = 'r'
    and c.relname = any (:tables::text[])
    and not (c.relname = 'schema_migrations' and asked.privilege <> 'SELECT')
    and not has_table_privilege(c.oid, asked.privilege)
  union all
  select format('USAGE on %s', c.relname)
  from pg_catalog.pg_class c
  where c.relnamespace = to_regnamespace(:schema)
    and left(c.relname, -7) = any (:tables)
    -- Asked of sequences alone, in whatever order conditions are looked at.
    and case when c.relkind = 'S' then not has_sequence_privilege(c.oid, 'USAGE') end
  union all
  select format('USAGE on schema %s', n.nspname)
  from pg_catalog.pg_namespace n
  where n.nspname in (:schema, :code::text)
    and not has_schema_privilege(n.oid, 'USAGE')
  union all
  select format('CREATE on schema %s', n.nspname)
  from pg_catalog.pg_namespace n
  where n.nspname = :schema
    and not exists (
      select
      from pg_catalog.pg_class c
      where c.relnamespace = n.oid
        and c.relname = 'schema_migrations'
    )
    and not has_schema_privilege(n.oid, 'CREATE')
  union all
  select format('CREATE on database %s', current_database())
  where (to_regnamespace(:schema) is null or to_regnamespace(:code) is null)
    and not has_database_privilege(current_database(), 'CREATE')
  union all
  select format('EXECUTE on %s', p.proname)
  from pg_catalog.pg_proc p
  where p.pronamespace = to_regnamespace(:code)
    and not has_function_privilege(p.oid, 'EXECUTE')
) missing
order by missing.what
