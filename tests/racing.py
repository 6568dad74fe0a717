"""Concurrent calls, each in its own thread and with its own database connection."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection, connections
from django.db.models import Model
from psycopg import sql


class Racers:
    """Threads that start each round of calls at the same moment."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._line = threading.Barrier(count, timeout=60)
        self._pool = ThreadPoolExecutor(max_workers=count)

    def race(self, *calls: Callable[[], Any]) -> list[Any]:
        """Make the calls concurrently. Return what each returned or raised."""
        assert len(calls) == self._count
        return [future.result() for future in [self._pool.submit(self._run, call) for call in calls]]

    def close(self) -> None:
        self.race(*[connections.close_all] * self._count)
        self._pool.shutdown()

    def _run(self, call: Callable[[], Any]) -> Any:
        self._line.wait()
        try:
            return call()
        except Exception as raised:
            return raised


@contextmanager
def racers(count: int) -> Iterator[Racers]:
    started = Racers(count)
    try:
        yield started
    finally:
        started.close()


@contextmanager
def kept_locked(row: Model, strength: str = "UPDATE") -> Iterator[None]:
    """Hold a row lock in another session, with a short lock time-out in this one (PostgreSQL)."""
    named = ("dbname", "user", "password", "host", "port")
    where = {name: value for name, value in connection.get_connection_params().items() if name in named}
    with psycopg.connect(**where) as other, connection.cursor() as own:
        lock = sql.SQL("SELECT 1 FROM {} WHERE id = %s FOR {}")
        other.execute(lock.format(sql.Identifier(row._meta.db_table), sql.SQL(strength)), [row.pk])
        own.execute("SET lock_timeout = '100ms'")
        try:
            yield
        finally:
            own.execute("RESET lock_timeout")
            other.rollback()
