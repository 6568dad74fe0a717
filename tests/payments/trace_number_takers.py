"""A process that allocates trace numbers: python -m tests.with_django tests.payments.trace_number_takers ROLE COUNT FILE

It appends each RRN to the file at once, so that none is lost if it is killed.
"""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from django.db import connections, transaction

from payments.models import TraceCounter
from payments.trace_numbers import trace_numbers

ROLES = ("plain", "rolls_back", "is_killed", "forks")


def main(role: str, count: int, file: Path) -> None:
    written = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def take() -> None:
        os.write(written, f"{trace_numbers.take().rrn}\n".encode())

    def take_and_roll_back() -> None:
        take()
        with transaction.atomic():
            TraceCounter.objects.create(name=f"of {os.getpid()}")
            transaction.set_rollback(True)

    for number in range(count):
        if role == "rolls_back" and number % 50 == 0:
            take_and_roll_back()
            continue
        take()
        if role == "is_killed" and number == count - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if role == "forks" and number % 1_000 == 10:  # in the middle of a block
            connections.close_all()  # like any forking server, because a socket has one owner
            child = os.fork()
            if child == 0:
                for _ in range(30):
                    take()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0


def numbers_in(folder: Path) -> Iterator[str]:
    for file in sorted(folder.iterdir()):
        yield from file.read_text().split()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
