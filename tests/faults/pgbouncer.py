"""PgBouncer in front of a PostgreSQL server, configured as docs/operations/pgbouncer.ini."""

import configparser
import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from kit.free_ports import free_port
from tests.faults.processes import Process
from tests.journeys.service import PROJECT, wait_until_open

CONFIGURATION = PROJECT / "docs" / "operations" / "pgbouncer.ini"


class PgBouncer(Process):
    """One PgBouncer for a database, without passwords. `settings` replace those of the file."""

    def __init__(self, folder: Path, *, database: str, **settings: str | int) -> None:
        self.port = free_port()
        self.url = urlunsplit(urlsplit(database)._replace(netloc=f"postgres@127.0.0.1:{self.port}"))
        self._console = f"postgres://postgres@127.0.0.1:{self.port}/pgbouncer"
        place = urlsplit(database)
        self._users = folder / "userlist.txt"
        self._users.write_text('"postgres" ""\n')
        configuration = configparser.ConfigParser(interpolation=None)
        configuration.read(CONFIGURATION)
        configuration["databases"] = {
            place.path[1:]: f"host={place.hostname} port={place.port} dbname={place.path[1:]}"
        }
        ours = {
            "listen_port": self.port,
            "auth_type": "trust",
            "auth_file": self._users,
            "admin_users": "postgres",
        }
        configuration["pgbouncer"].update({name: str(value) for name, value in (ours | settings).items()})
        file = folder / "pgbouncer.ini"
        with file.open("w") as opened:
            configuration.write(opened)
        as_user: dict[str, Any] = {}
        if os.getuid() == 0:  # PgBouncer does not run as root
            for path in (folder, self._users, file):
                shutil.chown(path, "postgres")
            as_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        super().__init__(
            "pgbouncer", ["pgbouncer", str(file)], folder / "pgbouncer.log", cwd=folder, **as_user
        )

    def start(self) -> None:
        super().start()
        assert self.running is not None
        wait_until_open(self.port, self.running)

    def add_user(self, name: str) -> None:
        with self._users.open("a") as file:
            file.write(f'"{name}" ""\n')
        self._execute("RELOAD")

    def show(self, what: str) -> list[dict[str, Any]]:
        """Return the rows of a SHOW command."""
        return self._execute(f"SHOW {what}")

    def _execute(self, command: str) -> list[dict[str, Any]]:
        with psycopg.connect(
            self._console, autocommit=True, cursor_factory=psycopg.ClientCursor
        ) as connection:
            cursor = connection.execute(command)
            names = [column.name for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor] if names else []
