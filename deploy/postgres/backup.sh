#!/usr/bin/env bash
# Dumps the database each day to a folder, the one that is named first or that of the volume, and keeps the last
# seven. With --once it makes one dump and ends. docs/operating.md says how a dump is brought back.
set -euo pipefail

once=false
if [ "${1:-}" = --once ]; then
  once=true
  shift
fi
folder=${1:-/var/lib/postgresql/backups}
mkdir -p "$folder"

while true; do
  name=messaging-$(date --utc +%Y-%m-%dT%H%M%SZ).dump
  # A dump that broke off has another name, and the next one replaces it.
  if pg_dump --format=custom --dbname="$DATABASE_URL" --file="$folder/unfinished"; then
    mv "$folder/unfinished" "$folder/$name"
    find "$folder" -maxdepth 1 -name 'messaging-*.dump' | sort --reverse | tail --lines=+8 | xargs --no-run-if-empty rm
    echo "dumped to $name"
    pause=1d
  else
    # The next try follows soon: a day without a dump is a day lost.
    "$once" && exit 1
    pause=10m
  fi
  "$once" && exit 0
  sleep "$pause"
done
