#!/bin/sh
# Runs once in the new primary: creates a user and a replication slot for the replica, and makes commits wait for the replica.
# The last setting takes effect at the next start; otherwise the commits of this script would wait for a replica that does not exist yet.
set -eu
password=$(cat "${REPLICATION_PASSWORD_FILE:-/run/secrets/replication-password}")
psql -v ON_ERROR_STOP=1 -v password="$password" -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'password';
SELECT pg_create_physical_replication_slot('replica');
ALTER SYSTEM SET synchronous_standby_names = 'replica';
SQL
printf 'host replication replicator all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
