"""A service whose mails, messages and Redis data a test can read afterwards."""

import base64
import email
import email.policy
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from redis import Redis

from kit.free_ports import free_port
from tests import bank_signing
from tests.journeys.service import PROJECT, Service, start_service, wait_until_open

BODY = re.compile(r'\\*"body\\*": \\*"([A-Za-z0-9+/=]+)')  # the body of a message as JSON, possibly escaped


@dataclass
class OwnRedis:
    """A Redis server for one test, with its data and every command that it received."""

    port: int
    folder: Path
    commands: list[str] = field(default_factory=list)

    @property
    def client(self) -> "Redis[bytes]":
        return Redis(port=self.port)

    def queued(self) -> int:
        return sum(int(self.client.llen(queue)) for queue in ("sluice", "requery"))

    def dump(self) -> str:
        """Write an RDB file, and return its text with that of the messages in it."""
        self.client.save()
        return with_bodies((self.folder / "dump.rdb").read_bytes().decode("latin-1"))

    def monitor(self) -> None:
        """Record every command that MONITOR reports, until Redis ends."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"MONITOR\r\n")
            with connection.makefile("rb") as lines:
                self.commands.extend(line.decode("latin-1") for line in lines)


@dataclass
class Watched:
    service: Service
    mail_folder: Path
    redis: OwnRedis | None  # only on PostgreSQL: the sandbox on SQLite has no Redis

    def mails(self) -> str:
        """Return all mails, decoded."""
        pieces = [
            piece
            for path in sorted(self.mail_folder.glob("*"))
            for piece in path.read_bytes().split(b"-" * 79 + b"\n")
            if piece.strip()
        ]
        parsed = [email.message_from_bytes(piece, policy=email.policy.default) for piece in pieces]
        return "\n".join(
            f"{dict(mail.items())}\n{part.get_content()}" for mail in parsed for part in mail.walk()
        )

    def messages(self) -> str:
        """Return every command that Redis received, with Celery's messages decoded."""
        return with_bodies("\n".join(self.redis.commands)) if self.redis else ""

    @contextmanager
    def celery(self, *arguments: str) -> Iterator[None]:
        """Run a Celery process for a while. Without Redis, the sandbox has its own."""
        if not self.redis:
            yield
            return
        command = [sys.executable, "-m", "celery", "-A", "config", *arguments]
        with (self.service.folder / "service.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=PROJECT,
                env=self.service.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def with_bodies(text: str) -> str:
    bodies = [base64.b64decode(body).decode("latin-1") for body in BODY.findall(text)]
    return "\n".join([text, *bodies])


def wait_for(condition: object, what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, f"timed out waiting for {what}"
        time.sleep(0.1)


@contextmanager
def watched_service(folder: Path, **extra_environment: str) -> Iterator[Watched]:
    """Start a service that writes mails to files; on PostgreSQL, with its own Redis server."""
    mails = folder / "mails"
    (folder / "service").mkdir(parents=True)
    environment = {"MAIL_URL": f"filemail:///{mails}", "BANK_NOTIFICATION_KEYS": bank_signing.KEY}
    environment |= extra_environment
    with ExitStack() as stack:
        redis = None
        if os.environ.get("DATABASE_URL"):
            redis = stack.enter_context(own_redis(folder / "redis"))
            environment["REDIS_URL"] = f"redis://127.0.0.1:{redis.port}/0"
        service = stack.enter_context(start_service(folder / "service", **environment))
        yield Watched(service, mails, redis)


@contextmanager
def own_redis(folder: Path) -> Iterator[OwnRedis]:
    """Run Redis with uncompressed snapshots, and record all commands."""
    if not shutil.which("redis-server") and not os.environ.get("CI"):
        pytest.skip("redis-server is not installed")
    folder.mkdir()
    server = OwnRedis(free_port(), folder)
    options = ["--bind", "127.0.0.1", "--port", str(server.port), "--dir", str(folder), "--save", "3600 1"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["redis-server", *options, "--rdbcompression", "no"], stdout=log, stderr=log
        )
    try:
        wait_until_open(server.port, process)
        thread = threading.Thread(target=server.monitor, daemon=True)
        thread.start()
        yield server
    finally:
        process.kill()
        process.wait(timeout=10)
        thread.join(timeout=10)
