"""A new database, whose tables are created at once, beside one that every migration was applied to in turn."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.journeys.migrated_database import UNREAD, new_database

pytestmark = [pytest.mark.journey, pytest.mark.long, pytest.mark.timeout(500)]

SCHEMA = {
    "sqlite": "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master ORDER BY 1, 2",
    "postgresql": """
        SELECT 'column', attrelid::regclass::text, attname::text, concat_ws(' ',
            row_number() OVER (PARTITION BY attrelid ORDER BY attnum), format_type(atttypid, atttypmod), attnotnull,
            attidentity, attcollation, pg_get_expr(adbin, adrelid))
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid AND relkind IN ('r', 'v', 'S')
            LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
        UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid) || convalidated
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace
        UNION ALL SELECT 'index', tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(oid)
        FROM pg_trigger WHERE NOT tgisinternal
        UNION ALL SELECT 'function', '', proname, pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT 'sequence', '', sequencename, concat_ws(' ', data_type, start_value, increment_by, cycle)
        FROM pg_sequences WHERE schemaname = 'public'
        ORDER BY 1, 2, 3
    """,
}
TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    "postgresql": "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'",
}
# Rows of Django's, without their ids.
ROWS = {
    "django_migrations": "SELECT app, name FROM django_migrations",
    "django_content_type": "SELECT app_label, model FROM django_content_type",
    "auth_permission": (
        "SELECT app_label, model, codename, permission.name FROM auth_permission permission"
        " JOIN django_content_type kind ON kind.id = content_type_id"
    ),
}


def schema(database):
    """Return what the database consists of. SQLite moves a column that a migration alters to the end of its table."""
    rows = database.run(SCHEMA[database.vendor])
    found = [row for row in rows if not any(table in name for table in UNREAD for name in row[1:3])]
    if database.vendor == "sqlite":
        return [(*names, sorted(part.rstrip(")") for part in sql.split(", "))) for *names, sql in found]
    return found


def rows(database):
    """Return the rows of each table that has any."""
    tables = [name for (name,) in database.run(TABLES[database.vendor])]
    found = {table: database.run(ROWS.get(table, f"SELECT * FROM {table}")) for table in tables}  # noqa: S608
    return {table: sorted(map(repr, rows)) for table, rows in found.items() if rows}


def test_differs_in_nothing_from_one_that_was_migrated_in_steps(tmp_path):
    (tmp_path / "new").mkdir()
    with new_database(tmp_path / "new") as new, new_database(tmp_path) as old:
        assert new.migrate().returncode == 0
        # With this option, Django looks at each migration's tables, so there are steps.
        assert old.manage("migrate", "--fake-initial", "-v0").returncode == 0

        assert len(schema(new)) > 500
        assert schema(new) == schema(old)
        assert len(rows(new)["payments_holiday"]) == 29
        assert rows(new) == rows(old)


def test_is_migrated_by_two_processes_at_once(tmp_path):
    with new_database(tmp_path) as database, ThreadPoolExecutor(2) as processes:
        ended = [each.result() for each in [processes.submit(database.migrate) for _ in range(2)]]

        assert [(one.returncode, "Traceback" in one.stderr) for one in ended] == [(0, False)] * 2
        assert len(rows(database)["payments_holiday"]) == 29


def test_stays_empty_if_a_table_cannot_be_created(tmp_path):
    with new_database(tmp_path) as database:
        database.run("CREATE TABLE payments_holiday (id integer)")
        assert database.migrate().returncode == 1
        assert database.run(TABLES[database.vendor]) == [("payments_holiday",)]

        database.run("DROP TABLE payments_holiday")
        assert database.migrate().returncode == 0
