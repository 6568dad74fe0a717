"""A primary and a standby with streaming replication, whose roles change when the primary is lost."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.postgresql import PostgreSQL
from tests.faults.processes import wait_until

# pg_rewind needs both. The crash recovery that it begins with reads the file and no options of the command line.
INITDB_OPTIONS = ("--data-checksums",)
CONFIGURATION = "wal_keep_size = '512MB'\n"


class Node(PostgreSQL):
    """A primary or a standby. Its name is what `synchronous_standby_names` refers to."""

    def __init__(self, folder: Path, *, name: str) -> None:
        folder.mkdir()
        super().__init__(folder, data=folder / "data", name=name)
        self.name = name

    @property
    def source(self) -> str:
        """The connection string with which a standby and pg_rewind connect to this primary."""
        return f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres"

    def copy(self, primary: "Node") -> None:
        """Become a standby with a copy of the primary."""
        self.run_program("pg_basebackup", "-D", str(self.data), "-d", primary.source, "-R", "-c", "fast")

    def rewind(self, primary: "Node") -> None:
        """Become a standby of the node that was promoted, without what only this one has.

        The checkpoint writes the primary's timeline into its control file, which pg_rewind compares.
        """
        primary.execute("CHECKPOINT")
        self.run_program("pg_rewind", "-D", str(self.data), "--source-server", primary.source, "-R")

    def promote(self) -> None:
        """Make this standby a primary, and wait until it is one."""
        assert self.execute("SELECT pg_promote()") == [(True,)]

    def set_synchronous_standby(self, name: str) -> None:
        """Let every commit wait for this standby; for none if the name is empty."""
        self.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
        self.execute("SELECT pg_reload_conf()")

    def stop_sending(self) -> None:
        """Stop the processes that send the write-ahead log to standbys, as a slow network would."""
        for (pid,) in self.execute("SELECT pid FROM pg_stat_replication"):
            os.kill(pid, signal.SIGSTOP)

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        """Drop every packet from and to this node, as if its host had disappeared from the network."""
        rules = [
            ["INPUT", "-p", "tcp", side, str(self.port), "-j", "DROP"] for side in ("--dport", "--sport")
        ]
        for rule in rules:
            subprocess.run(["iptables", "--wait", "--insert", *rule], check=True, timeout=60)
        try:
            yield
        finally:
            for rule in rules:
                subprocess.run(["iptables", "--wait", "--delete", *rule], check=True, timeout=60)

    def waits_for_standby(self) -> bool:
        """Return whether a session waits for a standby to confirm its commit."""
        return bool(self.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))


class ReplicatedPair:
    """Two nodes of which one is the primary. Stands in for one server: `url` names both."""

    def __init__(self, folder: Path) -> None:
        self.primary, self.standby = (Node(folder / name, name=name) for name in ("db1", "db2"))
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in (self.primary, self.standby))
        self.url = f"postgres://postgres@{hosts}/postgres?target_session_attrs=read-write"

    def start(self) -> None:
        self.primary.initialise(*INITDB_OPTIONS)
        with (self.primary.data / "postgresql.conf").open("a") as file:
            file.write(CONFIGURATION)
        self.primary.start()
        self.standby.copy(self.primary)
        self.standby.start()
        self.wait_for_replication("async")

    def make_synchronous(self) -> None:
        """Let every commit of the primary wait for the standby."""
        self.primary.set_synchronous_standby(self.standby.name)
        self.wait_for_replication("sync")

    def wait_for_replication(self, kind: str) -> None:
        state = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = %s"
        wait_until(lambda: self.primary.execute(state, kind), what=f"{kind} replication")

    def fail_over(self) -> None:
        """Lose the primary and promote the standby."""
        self.primary.crash()
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def rejoin(self) -> None:
        """Make the lost primary the standby of the new one."""
        self.standby.rewind(self.primary)
        self.standby.start()
        self.wait_for_replication("async")

    def end(self) -> None:
        self.primary.end()
        self.standby.end()


@contextmanager
def running_pair() -> Iterator[ReplicatedPair]:
    """Run a primary and a standby that no commit waits for yet."""
    folder = Path(tempfile.mkdtemp(prefix="sluice-faults-"))
    folder.chmod(0o755)
    try:
        pair = ReplicatedPair(folder)
        try:
            pair.start()
            yield pair
        finally:
            pair.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
