"""The commands of docs/operations/failover.md and the scripts of its Compose example, on two servers."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from config.environment import database_url
from kit.free_ports import free_port
from tests.faults.postgresql import find_programs
from tests.faults.processes import HANGING, wait_until
from tests.journeys.service import PROJECT

pytestmark = [
    pytest.mark.faults,
    pytest.mark.representative,
    pytest.mark.xdist_group("faults"),
    pytest.mark.timeout(HANGING),
]

GUIDE = (PROJECT / "docs" / "operations" / "failover.md").read_text()
ADDRESSES = {"db1": "127.0.0.2", "db2": "127.0.0.3"}
TRUST = "host all,replication all 127.0.0.0/8 trust\n"  # the guide's line has a password and TLS


def blocks_of(section, language):
    """Return the blocks of a section, without indentation."""
    text = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", GUIDE, re.MULTILINE | re.DOTALL)[1]
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


class Hosts:
    """Two hosts as loopback addresses, with a data directory each and PostgreSQL's programs."""

    def __init__(self, folder):
        self.folder, self.programs = folder, find_programs()
        self.port = str(free_port())
        self.as_user = (
            {"user": "postgres", "group": "postgres", "extra_groups": []} if os.getuid() == 0 else {}
        )
        for host, address in ADDRESSES.items():
            programs = folder / host / "bin"
            programs.mkdir(parents=True)
            # The address of the host, which Debian keeps outside of the data directory.
            (programs / "pg_ctl").write_text(
                f'#!/bin/sh\nexec {self.programs}/pg_ctl --log {folder}/{host}/log --options "-h {address} -k {folder}/{host}" "$@"\n'
            )
            (programs / "pg_ctl").chmod(0o755)
        if self.as_user:
            subprocess.run(["chown", "-R", "postgres", str(folder)], check=True)

    def run(self, host, command, *, typed="", **environment):
        for name, address in ADDRESSES.items():
            command = command.replace(f"{name}.example.com", address)
        place = self.folder / host
        done = subprocess.run(
            ["sh", "-euc", command],
            input=typed, capture_output=True, text=True, check=False, timeout=60, cwd=place, start_new_session=True,
            env={"PATH": f"{place}/bin:{self.programs}:{os.environ['PATH']}", "PGPORT": self.port, "PGDATA": f"{place}/data"} | environment,
            **self.as_user,
        )  # fmt: skip
        log = place / "log"
        assert done.returncode == 0, (
            f"{host}$ {command}\n{done.stdout}{done.stderr}{log.exists() and log.read_text()}"
        )
        return done.stdout

    def follow(self, section, *, typed=""):
        """Run the commands of a section, and return what each of them printed."""
        commands = re.findall(
            r"^(db[12])\$ (.*?)\n(?=db[12]\$ |\Z)",
            "".join(blocks_of(section, "console")),
            re.MULTILINE | re.DOTALL,
        )
        assert commands
        return [self.run(host, command, typed=typed) for host, command in commands]

    def query(self, host, statement):
        """Return the only value of a statement's result, as text."""
        psql = "psql --username postgres --no-psqlrc --quiet --tuples-only --no-align"
        return self.run(host, f'{psql} --host {host}.example.com --command "{statement}"').strip()

    def is_standby(self, host):
        try:
            return self.query(host, "SELECT pg_is_in_recovery()") == "t"
        except AssertionError:  # not yet
            return False

    def wait_for_synchronous_standby(self, host):
        state = "SELECT application_name FROM pg_stat_replication WHERE sync_state = 'sync'"
        wait_until(lambda: self.query(host, state) != "", what="the standby")
        return self.query(host, state)


@pytest.fixture
def hosts():
    folder = Path(tempfile.mkdtemp(prefix="sluice-guide-"))
    folder.chmod(0o755)
    hosts = Hosts(folder)
    try:
        hosts.run("db1", "initdb --username postgres --auth trust")
        with (folder / "db1" / "data" / "pg_hba.conf").open("a") as file:
            file.write(TRUST)
        [settings] = blocks_of("Set up", "ini")
        with (folder / "db1" / "data" / "postgresql.conf").open("a") as file:
            file.write(settings)
        hosts.run("db1", "pg_ctl --wait start")
        yield hosts
    finally:
        for host in ADDRESSES:
            hosts.run(host, "pg_ctl --mode immediate stop || true")
        shutil.rmtree(folder)


class TestGuide:
    def test_moves_the_primary_and_returns_the_lost_server(self, hosts):
        hosts.query("db1", "CREATE TABLE kept (line text)")
        hosts.follow("Set up", typed="a password\na password\n")
        assert hosts.wait_for_synchronous_standby("db1") == "db2"
        hosts.query("db1", "INSERT INTO kept VALUES ('before')")

        hosts.follow("When the primary is lost")
        assert hosts.query("db2", "SELECT pg_is_in_recovery()") == "f"
        hosts.query("db2", "INSERT INTO kept VALUES ('after')")
        hosts.follow("Return the lost server")
        assert hosts.wait_for_synchronous_standby("db2") == "db1"
        assert hosts.query("db1", "SELECT pg_is_in_recovery()") == "t"

        hosts.run("db1", "pg_ctl --mode immediate stop")
        hosts.follow("When the standby is lost")
        hosts.query("db2", "INSERT INTO kept VALUES ('alone')")
        assert hosts.query("db2", "SELECT string_agg(line, ' ') FROM kept") == "before after alone"

    def test_names_both_hosts_in_the_url(self):
        [url] = [block for block in blocks_of("Set up", "text") if block.startswith("DATABASE_URL=")]

        read = database_url.read(url.strip().removeprefix("DATABASE_URL="))

        assert read["HOST"] == "db1.example.com,db2.example.com"
        assert read["OPTIONS"]["target_session_attrs"] == "read-write"


class TestScriptsOfTheComposeExample:
    FOLDER = PROJECT / "docs" / "operations" / "postgresql"
    PASSWORD = 'it\'s a "password"'

    def test_start_a_standby_and_start_it_again(self, hosts):
        names = {"POSTGRES_USER": "postgres", "REPLICATION_PASSWORD": self.PASSWORD}
        start = f'sh {self.FOLDER}/start-standby.sh -h db2.example.com -k "$PWD" > log 2>&1 &'
        hosts.run("db1", f"PGHOST=db1.example.com sh {self.FOLDER}/allow-replication.sh", **names)

        hosts.run("db2", f"mkdir -m 1777 data; export PRIMARY=db1.example.com; {start}", **names)
        wait_until(lambda: hosts.is_standby("db2"), what="the standby")
        hosts.run("db2", "pg_ctl --mode immediate stop")
        hosts.run("db2", start, **names)

        wait_until(lambda: hosts.is_standby("db2"), what="the standby")
        assert hosts.query("db1", "SELECT application_name FROM pg_stat_replication") == "standby"
        assert hosts.query("db1", "SHOW wal_keep_size") == "2GB"
