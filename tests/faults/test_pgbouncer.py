"""The whole service through PgBouncer, in both pool modes, with the configuration of the guide."""

import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.faults.guarantees import check_all
from tests.faults.mixed_load import running_mixed_load
from tests.faults.pgbouncer import PgBouncer
from tests.faults.processes import HANGING, wait_until
from tests.faults.supervisor import Supervisor
from tests.journeys.service import PROJECT, postgresql_database

pytestmark = [
    pytest.mark.faults,
    pytest.mark.xdist_group("faults"),
    pytest.mark.timeout(HANGING),
    pytest.mark.skipif(not (os.environ.get("CI") or shutil.which("pgbouncer")), reason="needs PgBouncer"),
]

SHARED_CONNECTIONS = 4  # fewer than the service has threads
COUNT = "from payments.models import Transaction; print(sum(1 for _ in Transaction.objects.iterator(chunk_size=2)))"


@pytest.fixture(
    params=["session", pytest.param("transaction", marks=pytest.mark.representative)], ids=lambda mode: mode
)
def pooled(request, postgresql_server, receiver, tmp_path):
    """PgBouncer in one of its modes, and the service that connects through it."""
    mode = request.param
    folder = Path(tempfile.mkdtemp(prefix="sluice-faults-"))
    size = {"default_pool_size": SHARED_CONNECTIONS} if mode == "transaction" else {}
    with postgresql_database(postgresql_server.url) as database:
        bouncer = PgBouncer(folder, database=database, pool_mode=mode, **size)
        bouncer.start()
        stack = Supervisor(
            tmp_path,
            server=postgresql_server,
            database=database,
            receiver_url=receiver.url,
            DATABASE_URL=bouncer.url,
            DATABASE_POOLING=mode,
        )
        try:
            yield bouncer, stack
        finally:
            stack.stop()
            bouncer.kill()
            shutil.rmtree(folder)


def pool_of(bouncer, stack):
    """Return the connections of clients and to PostgreSQL that PgBouncer has for the service's database."""
    name = urlsplit(stack.database).path[1:]
    pool = next(one for one in bouncer.show("POOLS") if one["database"] == name)
    servers = sum(pool[state] for state in ("sv_active", "sv_idle", "sv_used", "sv_tested"))
    return pool["cl_active"] + pool["cl_waiting"], servers


def time_limits(role):
    """Return the statements of the guide that give the role its time limits."""
    statements = re.findall(
        r"^ALTER ROLE sluice SET .*;$", (PROJECT / "docs" / "scaling.md").read_text(), re.MULTILINE
    )
    return " ".join(statements).replace("ROLE sluice ", f"ROLE {role} ")


def test_service_keeps_its_guarantees_while_pgbouncer_is_restarted(pooled, receiver):
    bouncer, stack = pooled
    stack.ensure_running()
    with running_mixed_load(stack.shops, rate=20) as mixed_load:
        time.sleep(4)
        clients, servers = pool_of(bouncer, stack)
        bouncer.kill()
        bouncer.start()
        paid = len(mixed_load.last_answers)
        wait_until(lambda: len(mixed_load.last_answers) > paid + 20, what="payments after the restart")

    print(f"{clients} clients over {servers} connections; {len(mixed_load.calls)} calls")
    if stack.environment["DATABASE_POOLING"] == "transaction":
        assert servers <= SHARED_CONNECTIONS < clients
    else:
        assert servers >= clients
    check_all(stack, receiver, mixed_load)

    # Django reads long lists with cursors that outlive a statement, unless sessions are shared.
    counted = stack.manage("shell", "-c", COUNT)
    assert counted.returncode == 0, counted.stderr
    assert int(counted.stdout.split()[-1]) == stack.query("SELECT count(*) FROM payments_transaction")[0][0]

    migrated = stack.manage("migrate", "-v0")
    if stack.environment["DATABASE_POOLING"] == "transaction":
        assert "A migration needs a session of its own" in migrated.stderr
    assert migrated.returncode == (stack.environment["DATABASE_POOLING"] == "transaction")


def test_role_has_the_time_limits_that_pgbouncer_does_not_pass_on(pooled):
    bouncer, stack = pooled
    role = "sluice_limited"
    with psycopg.connect(stack.database, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
        connection.execute(time_limits(role))
    try:
        bouncer.add_user(role)
        url = bouncer.url.replace("postgres@", f"{role}@")
        with psycopg.connect(url, options="-c lock_timeout=1", autocommit=True) as connection:
            shown = {
                name: connection.execute(f"SHOW {name}").fetchone()[0]
                for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
            }
    finally:
        bouncer.kill()  # its sessions of the role end
        with psycopg.connect(stack.database, autocommit=True) as connection:
            connection.execute(f"DROP ROLE {role}")
    assert shown == {
        "statement_timeout": "30s",
        "lock_timeout": "3s",
        "idle_in_transaction_session_timeout": "1min",
    }
