"""The previous and the next release serve side by side while their database is migrated."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count

import psycopg
import pytest
import requests

from kit.free_ports import free_port
from tests import orders
from tests.clients import Credentials, HttpClient
from tests.faults.supervisor import wait_until
from tests.journeys.service import PROJECT, postgresql_database, wait_until_open

pytestmark = [
    pytest.mark.journey,
    pytest.mark.timeout(400),
    pytest.mark.long,
    pytest.mark.skipif(not os.environ.get("DATABASE_URL"), reason="needs PostgreSQL"),
]

NEWEST = max(path.stem for path in (PROJECT / "payments" / "migrations").glob("0*.py"))
COLOUR = 'models.CharField(max_length=9, default="", db_default="")'
NEW_MIGRATIONS = {
    "9001_expand": f"""
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("payments", "{NEWEST}")]
    operations = [migrations.AddField("transaction", "colour", {COLOUR})]
""",
    "9002_rules": """
from django.db import migrations, models

from kit.db import migration_operations


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("payments", "9001_expand")]
    operations = [
        migration_operations.AddIndexConcurrently("transaction", models.Index(fields=["colour"], name="by_colour")),
        migration_operations.AddConstraintNotValid(
            "transaction", models.CheckConstraint(condition=~models.Q(colour="grey"), name="no_grey")
        ),
        migration_operations.ValidateConstraint("transaction", "no_grey"),
    ]
""",
}


def next_release(folder):
    """Copy the project, and add a column, an index and a constraint."""
    left_out = shutil.ignore_patterns(".*", "var", "__pycache__", "tests", "benchmarks")
    shutil.copytree(PROJECT, folder, ignore=left_out)
    model = folder / "payments" / "models" / "transactions" / "transactions.py"
    before, found, after = model.read_text().partition("    objects = TransactionQuerySet")
    assert found
    model.write_text(f"{before}    colour = {COLOUR}\n\n{found}{after}")
    for name, text in NEW_MIGRATIONS.items():
        (folder / "payments" / "migrations" / f"{name}.py").write_text(text)
    return folder


class Release:
    """The code of one release, and its web processes."""

    def __init__(self, name, folder, environment):
        self.name, self.folder = name, folder
        self.port = free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.environment = environment | {"WEB_BIND": f"127.0.0.1:{self.port}"}

    def manage(self, *arguments):
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=150,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def web(self):
        command = [sys.executable, "-m", "gunicorn", "-c", "config/runtime/gunicorn.py", "config.wsgi"]
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment)
        try:
            wait_until_open(self.port, process)
            yield
        finally:
            process.terminate()
            process.wait(timeout=40)

    def is_ready(self):
        return requests.get(f"{self.base_url}/readyz", timeout=60).ok


class Traffic:
    """Merchants' requests, sent to the ready releases in turn, as by a load balancer."""

    def __init__(self, releases, credentials):
        self.answers = Counter()  # by release, call and status
        self._ready = [release for release in releases if release.is_ready()]
        self._releases, self._credentials = releases, credentials
        self._turn = count()
        self._over = threading.Event()

    def check_readiness(self):
        self._ready = [release for release in self._releases if release.is_ready()]

    @contextmanager
    def flowing(self):
        with ThreadPoolExecutor(4) as pool:
            running = [pool.submit(self._shop) for _ in range(4)]
            try:
                yield
            finally:
                self._over.set()
        for shop in running:
            shop.result()

    def _shop(self):
        while not self._over.is_set():
            order = orders.card_payment(capture=False)
            at = f"/api/payments/{order['reference']}"
            self._call("POST", "/api/payments", order)
            self._call("POST", "/api/payments", order)  # repeated, as after a lost response
            self._call("GET", at)
            self._call("POST", f"{at}/capture", {"amount": 20_000})
            self._call("GET", "/api/payments")
            self._over.wait(0.1)  # leave CPU time to the migration

    def _call(self, method, target, body=None):
        release = self._ready[next(self._turn) % len(self._ready)]
        raw = json.dumps(body).encode() if body else b""
        answer = HttpClient(release.base_url, self._credentials).send(method, target, raw)
        self.answers[release.name, f"{method} {target.partition('ref-')[0]}", answer.status_code] += 1

    def wait_for(self, *releases, more=20):
        """Wait until each of the releases has answered this many more calls."""

        def answered(release):
            return sum(number for (name, *_), number in list(self.answers.items()) if name == release.name)

        aims = {release: answered(release) + more for release in releases}
        wait_until(lambda: all(answered(one) >= aim for one, aim in aims.items()), seconds=90, what="answers")


class TestUpgrade:
    def test_interrupts_no_request_while_two_releases_serve(self, tmp_path):
        with ExitStack() as stack:
            database = stack.enter_context(postgresql_database(os.environ["DATABASE_URL"]))
            environment = os.environ | {
                "DATABASE_URL": database,
                "SANDBOX_DATA": str(tmp_path),
                "LOG_LEVEL": "WARNING",
                "RATE_LIMIT_WRITES": "1000000",
                "RATE_LIMIT_READS": "1000000",
            }
            old = Release("old", PROJECT, environment)
            new = Release("new", next_release(tmp_path / "next"), environment)
            old.manage("migrate", "-v0")
            made = json.loads(
                old.manage("create_business", "--name", "A", "--email", "a@example.com", "--json")
            )
            stack.enter_context(old.web())
            stack.enter_context(new.web())
            assert old.is_ready()
            assert not new.is_ready()

            traffic = Traffic([old, new], Credentials(made["api_key"], made["secret_key"]))
            with traffic.flowing():
                traffic.wait_for(old)
                self.migrate_past_a_lock(new, database, tmp_path)
                assert new.is_ready()
                traffic.check_readiness()
                traffic.wait_for(old, new, more=40)

            print(dict(traffic.answers))
            assert {status // 100 for _, _, status in traffic.answers} == {2}
            new.manage("migrate", "payments", NEWEST, "-v0")  # and roll back
            old.manage("check_ledger")

    def migrate_past_a_lock(self, release, database, folder):
        """Migrate while an open transaction locks the table, until migrate gives up."""
        with (folder / "migrate.log").open("wb") as log, psycopg.connect(database) as blocker:
            blocker.execute("LOCK TABLE payments_transaction IN ROW EXCLUSIVE MODE")
            command = [sys.executable, "manage.py", "migrate", "-v0"]
            migrating = subprocess.Popen(command, cwd=release.folder, env=release.environment, stderr=log)
            messages = folder / "migrate.log"
            wait_until(
                lambda: (
                    migrating.poll() is not None or "Another transaction holds a lock" in messages.read_text()
                ),
                seconds=90,
                what="migrate to release its locks",
            )
            assert migrating.poll() is None, messages.read_text()
            blocker.rollback()
            assert migrating.wait(timeout=90) == 0, messages.read_text()
