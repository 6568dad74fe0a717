"""The guide's way from a superuser, as whom earlier installations of docker-compose.yml connect, to an ordinary role."""

import os
import subprocess
import sys

import psycopg
import pytest

from tests.faults.postgresql import running_postgresql
from tests.operations.blocks import PROJECT

pytestmark = pytest.mark.operations

PROMPT = "sluice=# "
PASSWORD = "of-the-environment-file"


@pytest.fixture
def server():
    """A server whose first superuser is `sluice`, which owns the database of that name."""
    with running_postgresql() as running:
        running.execute("CREATE ROLE helper SUPERUSER LOGIN")
        psql(running, ["ALTER ROLE postgres RENAME TO sluice;"], role="helper", database="postgres")
        psql(running, ["CREATE DATABASE sluice;", "DROP ROLE helper;"], role="sluice", database="postgres")
        migrate(running)
        yield running


def psql(server, lines, *, role, database="sluice"):
    """Type lines into psql as a role, and the new password where it asks for one."""
    place = ["-h", "127.0.0.1", "-p", str(server.port), "-U", role, "-d", database]
    (PROJECT / "var").mkdir(exist_ok=True)
    script = PROJECT / "var" / f"{role}-{server.port}.sql"
    script.write_text("\n".join([*lines, ""]))
    try:
        result = subprocess.run(
            ["psql", *place, "-v", "ON_ERROR_STOP=1", "-f", str(script)],
            check=False, capture_output=True, text=True, input=f"{PASSWORD}\n" * 2, start_new_session=True, timeout=60,
        )  # fmt: skip
    finally:
        script.unlink()
    assert result.returncode == 0, result.stderr


def migrate(server):
    url = f"postgres://sluice:{PASSWORD}@127.0.0.1:{server.port}/sluice"
    result = subprocess.run(
        [sys.executable, "manage.py", "migrate"],
        check=False, capture_output=True, text=True, cwd=PROJECT, env=os.environ | {"DATABASE_URL": url}, timeout=120,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr


def test_becomes_an_ordinary_one_that_owns_everything(guide, server):
    first, second = (
        [line.removeprefix(PROMPT) for line in block.text.splitlines()]
        for block in guide.take("The database's role", count=2)
    )

    psql(server, first, role="sluice")
    *given, end = second
    psql(server, given, role="administrator")
    psql(server, [end], role="postgres")

    migrate(server)
    with psycopg.connect(f"postgres://sluice@127.0.0.1:{server.port}/sluice") as connection:
        assert connection.execute("SELECT current_setting('is_superuser')").fetchone() == ("off",)
        owners = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'"
        assert connection.execute(owners).fetchall() == [("sluice",)]
        roles = "SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY rolname"
        assert connection.execute(roles).fetchall() == [("postgres",), ("sluice",)]
