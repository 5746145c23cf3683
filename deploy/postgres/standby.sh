#!/usr/bin/env bash
# Starts the standby. The first time it copies the primary, and makes its slot there: the primary keeps the
# log that the standby has not read yet.
set -euo pipefail

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chmod 0700 "$PGDATA"
  # A copy that broke off is worth nothing, and its slot stays.
  find "$PGDATA" -mindepth 1 -delete
  slot=(--slot=standby)
  if [ -z "$(psql "$PRIMARY" --tuples-only --command "select 1 from pg_replication_slots where slot_name = 'standby'" | tr -d '[:space:]')" ]; then
    slot+=(--create-slot)
  fi
  pg_basebackup --dbname="$PRIMARY" --pgdata="$PGDATA" --write-recovery-conf "${slot[@]}" \
    --wal-method=stream --checkpoint=fast
fi

exec postgres -c cluster_name=standby
