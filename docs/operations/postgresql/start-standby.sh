#!/bin/sh
# Start PostgreSQL with these arguments as a standby of $PRIMARY. An empty data directory first becomes a copy of it.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    chmod 0700 "$PGDATA"
    PGPASSWORD=$REPLICATION_PASSWORD pg_basebackup --pgdata "$PGDATA" --checkpoint fast --write-recovery-conf \
        --dbname "host=$PRIMARY user=replicator application_name=standby"
fi
exec postgres "$@"
