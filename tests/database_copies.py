"""Migrated databases that test processes and services copy, instead of each migrating its own."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import psycopg
from django.db import connection

from tests.claims import first_free

PROJECT = Path(__file__).resolve().parents[1]
NAME = "test-migrated-{}.sqlite3"


@cache
def fingerprint() -> str:
    """Return a text that changes with anything that migrations and triggers depend on."""
    patterns = (
        "uv.lock",
        "*/migrations/*.py",
        "*/apps.py",
        "*/triggers.py",
        "kit/db/*.py",
        "config/database/new_database.py",
        "payments/rules/*.py",
    )
    files = [file for pattern in patterns for file in PROJECT.glob(pattern)]
    content = b"".join(file.read_bytes() for file in sorted(files))
    return hashlib.sha256(content).hexdigest()[:16]


def sqlite_file() -> Path:
    return PROJECT / "var" / NAME.format(fingerprint())


def unused_file() -> Path:
    """Return a path for the SQLite database of this process, which no other run in this folder uses."""
    folder = PROJECT / "var"
    folder.mkdir(exist_ok=True)
    files = [folder / f"test-{number}.sqlite3" for number in range(32)]
    return files[first_free(file.with_suffix(".lock") for file in files)]


def copy_to(database: Path) -> bool:
    """Copy the SQLite file, unless no earlier test process has kept one."""
    if not sqlite_file().exists():
        return False
    for journal in ("-wal", "-shm"):  # of a process that was killed
        Path(f"{database}{journal}").unlink(missing_ok=True)
    shutil.copyfile(sqlite_file(), database)
    return True


def keep() -> None:
    """Keep a copy of this process's SQLite database, which was just migrated, and delete older ones."""
    copy = sqlite_file().with_suffix(f".{os.getpid()}")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(copy)])
    for old in copy.parent.glob(NAME.format("*")):
        old.unlink(missing_ok=True)
    copy.replace(sqlite_file())


def postgresql_template(environment: dict[str, str], url_of: Callable[[str], str]) -> str:
    """Return the name of a migrated database on the server of DATABASE_URL. The first caller migrates it."""
    name = f"sluice_migrated_{fingerprint()}"
    with psycopg.connect(environment["DATABASE_URL"], autocommit=True) as server:
        server.execute("SELECT pg_advisory_lock(hashtext(%s))", [name])  # until the connection closes
        if not server.execute("SELECT FROM pg_database WHERE datname = %s", [name]).fetchall():
            server.execute(f"DROP DATABASE IF EXISTS {name}_new")
            server.execute(f"CREATE DATABASE {name}_new")
            subprocess.run(
                [sys.executable, "manage.py", "migrate", "-v0"],
                cwd=PROJECT,
                env=environment | {"DATABASE_URL": url_of(f"{name}_new")},
                check=True,
            )
            server.execute(f"ALTER DATABASE {name}_new RENAME TO {name}")
    return name
