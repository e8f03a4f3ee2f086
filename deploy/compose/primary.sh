#!/bin/sh
# Runs once, in the new primary: a user for the replica, its slot, and no commit without it. The last counts from the next start on:
# what is made here would wait for a replica that is not there yet.
set -eu
password=$(cat "${REPLICATION_PASSWORD_FILE:-/run/secrets/replication-password}")
psql -v ON_ERROR_STOP=1 -v password="$password" -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'password';
SELECT pg_create_physical_replication_slot('replica');
ALTER SYSTEM SET synchronous_standby_names = 'replica';
SQL
printf 'host replication replicator all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
