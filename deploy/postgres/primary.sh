#!/usr/bin/env bash
# Runs once, when the primary's database is made: lets the standby copy it and follow it.
set -euo pipefail

# A commit is acknowledged once the standby has it too. Written to the configuration: this first start
# commits without a standby.
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --set password="$REPLICATION_PASSWORD" <<'SQL'
create role standby login replication password :'password';
alter system set synchronous_standby_names = 'standby';
alter system set max_slot_wal_keep_size = '8GB';
SQL

echo "host replication standby all scram-sha-256" >> "$PGDATA/pg_hba.conf"
