-- What the role may not do and must, each as INSERT on messages.
select missing.what, current_user::text as role
from (
  select format('%s on %s', asked.privilege, c.relname) as what
  from pg_catalog.pg_class c
  cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) asked (privilege)
  where c.relnamespace = to_regnamespace(:schema)
    and c.relkind = 'r'
    and c.relname = any (:tables)
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
  select format('USAGE on schema %s', :code)
  where not has_schema_privilege(:code, 'USAGE')
  union all
  select format('EXECUTE on %s', p.proname)
  from pg_catalog.pg_proc p
  where p.pronamespace = to_regnamespace(:code)
    and not has_function_privilege(p.oid, 'EXECUTE')
) missing
order by missing.what
