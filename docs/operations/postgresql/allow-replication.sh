#!/bin/sh
# PostgreSQL's image runs this once, when it creates the primary's database: it lets a standby connect.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres --quiet <<'SQL'
\set password `printenv REPLICATION_PASSWORD`
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'password';
-- What pg_rewind calls.
GRANT EXECUTE ON FUNCTION pg_ls_dir(text, boolean, boolean) TO replicator;
GRANT EXECUTE ON FUNCTION pg_stat_file(text, boolean) TO replicator;
GRANT EXECUTE ON FUNCTION pg_read_binary_file(text) TO replicator;
GRANT EXECUTE ON FUNCTION pg_read_binary_file(text, bigint, bigint, boolean) TO replicator;
SQL
echo 'host replication,postgres replicator all scram-sha-256' >> "$PGDATA/pg_hba.conf"
# In the file and not in the command: the crash recovery with which pg_rewind begins reads only the file.
echo "wal_keep_size = '2GB'" >> "$PGDATA/postgresql.conf"
