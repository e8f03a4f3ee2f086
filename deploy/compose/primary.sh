#!/bin/sh
# Runs once in the new primary: creates a certificate, and a user and a replication slot for the replica, and makes commits wait for the replica.
# The settings take effect at the next start; otherwise the commits of this script would wait for a replica that does not exist yet.
set -eu
password=$(cat "${REPLICATION_PASSWORD_FILE:-/run/secrets/replication-password}")
openssl req -x509 -nodes -newkey rsa:2048 -days 3650 -subj /CN=primary -keyout "$PGDATA/server.key" -out "$PGDATA/server.crt"
chmod 600 "$PGDATA/server.key"
psql -v ON_ERROR_STOP=1 -v password="$password" -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'password';
SELECT pg_create_physical_replication_slot('replica');
ALTER SYSTEM SET ssl = on;
ALTER SYSTEM SET synchronous_standby_names = 'replica';
SQL
printf 'hostssl replication replicator all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
