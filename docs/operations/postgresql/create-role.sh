#!/bin/sh
# PostgreSQL's image runs this once, when it creates the database: the service gets a role without superuser rights, and
# the superuser can only connect inside the container.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres --quiet <<'SQL'
\set password `printenv POSTGRES_PASSWORD`
CREATE ROLE sluice LOGIN PASSWORD :'password';
CREATE DATABASE sluice OWNER sluice;
ALTER ROLE CURRENT_USER PASSWORD NULL;
SQL
