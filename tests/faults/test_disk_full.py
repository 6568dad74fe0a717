"""PostgreSQL's disk is full: writes fail completely, and service resumes once there is room."""

import os
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests.faults.guarantees import check_all
from tests.faults.mixed_load import running_mixed_load
from tests.faults.postgresql import running_postgresql
from tests.faults.processes import HANGING, wait_until
from tests.faults.supervisor import supervised

pytestmark = [
    pytest.mark.faults,
    pytest.mark.xdist_group("faults"),
    pytest.mark.timeout(HANGING),
    pytest.mark.skipif(os.getuid() != 0, reason="mounts a disk of its own"),
]

SIZE = 256  # MiB


@contextmanager
def small_disk():
    place = Path(tempfile.mkdtemp(prefix="sluice-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}m,mode=0755", "tmpfs", str(place)]
    subprocess.run(mount, check=True, timeout=10)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True, timeout=10)
        place.rmdir()


def fill(disk: Path) -> Path:
    """Fill a disk completely, and return the file that fills it."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        piece = b"\0" * 1_048_576
        for size in (len(piece), 4096):
            try:
                while file.write(piece[:size]):
                    pass
            except OSError:
                continue
    return ballast


def fill_write_ahead_log(stack):
    """Start new segments of the write-ahead log until the disk is full."""
    with suppress(psycopg.Error):
        while True:
            stack.query("SELECT pg_switch_wal()")
            time.sleep(0.05)


def refused(mixed_load):
    return sum(call.status == 503 for call in mixed_load.calls)


class TestDiskOfTheTables:
    @pytest.mark.representative
    def test_when_full_is_reported_and_recovers_with_free_space(self, receiver, tmp_path):
        with (
            small_disk() as disk,
            running_postgresql(disk / "data", has_log_elsewhere=True) as server,
            supervised(tmp_path, server=server, receiver_url=receiver.url) as stack,
        ):
            stack.ensure_running()
            with running_mixed_load(stack.shops) as mixed_load:
                ballast = fill(disk)
                wait_until(lambda: refused(mixed_load) >= 100, what="refusals")
                ballast.unlink()
                paid = len(mixed_load.last_answers)
                wait_until(lambda: len(mixed_load.last_answers) > paid + 20, what="payments")

            print(mixed_load.summary())
            assert server.running.poll() is None
            assert "No space left on device" in server.log.read_text(errors="replace")
            check_all(stack, receiver, mixed_load)


class TestDiskOfTheWriteAheadLog:
    def test_when_full_stops_the_server_and_loses_nothing_acknowledged(self, receiver, tmp_path):
        with (
            small_disk() as disk,
            running_postgresql(disk / "data") as server,
            supervised(tmp_path, server=server, receiver_url=receiver.url) as stack,
        ):
            stack.ensure_running()
            with running_mixed_load(stack.shops) as mixed_load:
                ballast = fill(disk)
                fill_write_ahead_log(stack)
                wait_until(lambda: refused(mixed_load) >= 100, what="refusals")
                ballast.unlink()
                if server.running.poll() is not None:  # recovery failed: restart it as a supervisor would
                    server.start()
                paid = len(mixed_load.last_answers)
                wait_until(lambda: len(mixed_load.last_answers) > paid + 20, what="payments")

            print(mixed_load.summary())
            assert "PANIC" in server.log.read_text(errors="replace")
            check_all(stack, receiver, mixed_load)
