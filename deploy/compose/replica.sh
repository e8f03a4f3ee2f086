#!/bin/sh
# Runs a replica under the name that the primary waits for. The first start copies the primary; then the replica follows it.
set -eu
password=$(cat "${REPLICATION_PASSWORD_FILE:-/run/secrets/replication-password}")
umask 077
printf '*:*:*:replicator:%s\n' "$password" >"${PGPASSFILE:=/tmp/pgpass}"
export PGPASSFILE
while [ ! -s "$PGDATA/PG_VERSION" ]; do
  rm -rf "$PGDATA"
  pg_basebackup -D "$PGDATA" -R -S replica -X stream \
    -d "host=$PRIMARY port=${PRIMARY_PORT:-5432} user=replicator application_name=replica" || sleep 1
done
exec postgres "$@"
